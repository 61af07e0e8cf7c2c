/* SPDX-License-Identifier: Apache-2.0 */
/* case.c: reads the folder of a hydrothermal case. */
#include "sddp/read/hydro/hydro.h"
#include "sddp/read/reader.h"

static void read_inflow(cb_hydro_case *c) {
    if (c->source == CB_HYDRO_TABLE)
        cb_hydro_read_inflows(c);
    else if (c->source == CB_HYDRO_HISTORY)
        cb_hydro_read_history(c);
    else
        cb_hydro_read_par(c);
}

/* Tables need to know the stages and subsystems: without them every line would look wrong. */
static void read_tables(cb_hydro_case *c) {
    cb_hydro_read_stages(c);
    cb_hydro_read_blocks(c);
    cb_hydro_read_elements(c);
    bool sure = !c->list[CB_KIND_HYDRO].unsure; /* else tables by hydro would only repeat it */
    if (sure)
        read_inflow(c);
    if (sure || c->source != CB_HYDRO_TABLE) /* inflows.csv may have loads */
        cb_hydro_read_load(c);
    cb_hydro_read_changes(c);
}

cobre_sddp_builder *cb_read_hydrothermal(const char *folder, const cobre_sddp_load_options *options) {
    cb_hydro_case c = {.folder = folder};
    if (cobre_sddp_builder_new("", false, &c.builder))
        return NULL;
    c.json_path = cb_hydro_text(&c, "%s/case.json", folder);
    cb_builder_place(c.builder, &(cb_place){.file = c.json_path});
    if (!c.builder->no_memory)
        cb_hydro_read_json(&c);
    if (c.stages > 0 && c.subsystems > 0 && !c.unsure && !c.builder->no_memory)
        read_tables(&c);
    if (c.builder->errors == 0 && !c.builder->no_memory)
        cb_hydro_check(&c);
    if (c.builder->errors == 0 && !c.builder->no_memory)
        cb_hydro_build(&c);
    if (options && options->scenarios && c.builder->nodes > 0 && !c.builder->no_memory)
        cb_read_scenarios(c.builder, options->scenarios, true);
    cb_arena_free(&c.arena);
    return c.builder;
}
