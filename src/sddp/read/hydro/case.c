/* case.c: reads the folder of a hydrothermal case. */
#include <stdio.h>
#include <stdlib.h>

#include "sddp/read/hydro/hydro.h"
#include "sddp/read/reader.h"

static void free_outcomes(cb_hydro_case *c) {
    for (size_t period = 0; c->outcomes && period < cb_hydro_periods(c, c->inflow_key); period++) {
        free(c->outcomes[period].probability);
        free(c->outcomes[period].values);
    }
    free(c->outcomes);
}

static void free_case(cb_hydro_case *c) {
    free_outcomes(c);
    for (size_t i = 0; i < c->kept_count; i++)
        free(c->kept[i]);
    void *const arrays[] = {c->kept,   c->json_path, c->area, c->thermal, c->plant, c->line, c->deficit,  c->block,
                            c->change, c->stage,     c->load, c->share,   c->years, c->par,  c->cholesky, c->past};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* Tables need to know the stages and subsystems: without them every line would look wrong. */
static void read_tables(cb_hydro_case *c) {
    cb_hydro_read_stages(c);
    cb_hydro_read_blocks(c);
    cb_hydro_read_elements(c);
    if (c->plants_unsure)
        return; /* tables by plant would only repeat it */
    if (c->source == CB_HYDRO_TABLE)
        cb_hydro_read_inflows(c);
    else if (c->source == CB_HYDRO_HISTORY)
        cb_hydro_read_history(c);
    else
        cb_hydro_read_par(c);
    cb_hydro_read_load(c);
    cb_hydro_read_changes(c);
}

cobre_sddp_builder *cb_read_hydrothermal(const char *folder, const cobre_sddp_load_options *options) {
    cb_hydro_case c = {.folder = folder, .builder = cb_problem_new("", false)};
    if (!c.builder)
        return NULL;
    if (options)
        cb_problem_on_issue(c.builder, options->issue, options->arg);
    if (asprintf(&c.json_path, "%s/case.json", folder) < 0) {
        c.json_path = NULL;
        c.builder->no_memory = true;
    } else {
        cb_hydro_read_json(&c);
    }
    if (c.stages > 0 && c.areas > 0 && !c.builder->no_memory)
        read_tables(&c);
    if (c.builder->errors == 0 && !c.builder->no_memory)
        cb_hydro_check(&c);
    if (c.builder->errors == 0 && !c.builder->no_memory)
        cb_hydro_build(&c);
    if (options && options->scenarios && c.builder->nodes > 0 && !c.builder->no_memory) {
        cb_read_scenarios(c.builder, options->scenarios, true);
        if (c.source == CB_HYDRO_PAR && c.builder->errors == 0 && !c.builder->no_memory)
            cb_hydro_scenario_noise(&c);
    }
    free_case(&c);
    return c.builder;
}
