/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_case.c: the tool inspect_case: the parts of a case, and all data of one element. */
#include "cli/mcp/inspect_case.h"

#include <math.h>
#include <string.h>

static const struct cb_mcp_field input[] = {
    CB_MCP_CASE_FIELD(true),
    {.name = "element",
     .kind = CB_MCP_TEXT,
     .help =
         "a plant, a subsystem, a tier, a line \"A->B\": shows every row and column of the tables that is about it"},
    CB_MCP_PAGE_FIELDS("100"),
    {.name = NULL},
};

#define WHOLE(key, text)                                                                                               \
    { .name = key, .kind = CB_MCP_WHOLE, .required = true, .help = text }
#define NUMBER(key, text)                                                                                              \
    { .name = key, .kind = CB_MCP_NUMBER, .required = true, .nullable = true, .help = text }
#define TEXT(key, text)                                                                                                \
    { .name = key, .kind = CB_MCP_TEXT, .required = true, .nullable = true, .help = text }

static const struct cb_mcp_field kind_fields[] = {
    {.name = "kind", .kind = CB_MCP_TEXT, .required = true, .help = "subsystems, hydros, thermals, ..."},
    WHOLE("count", "how many"),
    {.name = "names",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_TEXT,
     .required = true,
     .help = "limit and offset hold for each"},
    {.name = NULL},
};

static const struct cb_mcp_field size_fields[] = {
    WHOLE("stages", "how many"),
    WHOLE("nodes", "of the policy graph"),
    WHOLE("states", "reservoirs, and inflows that are remembered"),
    WHOLE("columns", "of the largest stage problem"),
    WHOLE("rows", "of the largest stage problem"),
    WHOLE("random_variables", "of the stage with the most"),
    WHOLE("least_outcomes", "of a stage"),
    WHOLE("most_outcomes", "of a stage"),
    WHOLE("blocks", "load blocks; 0: the stages are not divided"),
    {.name = NULL},
};

static const struct cb_mcp_field horizon_fields[] = {
    TEXT("first_date", "when the first stage begins; null: no dates are known"),
    TEXT("last_date", "when the last stage begins"),
    NUMBER("least_duration", "of a stage"),
    NUMBER("most_duration", "of a stage"),
    TEXT("time_unit", "of durations"),
    {.name = NULL},
};

static const struct cb_mcp_field river_fields[] = {
    {.name = "plant", .kind = CB_MCP_TEXT, .required = true, .help = "whose water it is"},
    TEXT("downstream", "plant that turbined water reaches; null: it leaves"),
    TEXT("spill_downstream", "plant that spilled water reaches; null: it leaves"),
    {.name = NULL},
};

static const struct cb_mcp_field exchange_fields[] = {
    {.name = "from", .kind = CB_MCP_TEXT, .required = true, .help = "subsystem or node"},
    {.name = "to", .kind = CB_MCP_TEXT, .required = true, .help = "subsystem or node"},
    NUMBER("max", "MW; null: no limit"),
    {.name = NULL},
};

static const struct cb_mcp_field topology_fields[] = {
    {.name = "rivers",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = river_fields,
     .required = true,
     .help = "which plant flows into which"},
    {.name = "exchanges",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = exchange_fields,
     .required = true,
     .help = "between subsystems"},
    {.name = NULL},
};

static const struct cb_mcp_field file_fields[] = {
    {.name = "file", .kind = CB_MCP_TEXT, .required = true, .help = "its name; as a table of edit_case"},
    WHOLE("rows", "of data; 0: it is no table"),
    WHOLE("bytes", "of the file"),
    {.name = NULL},
};

static const struct cb_mcp_field row_fields[] = {
    {.name = "table", .kind = CB_MCP_TEXT, .required = true, .help = "file of the case"},
    {.name = "line", .kind = CB_MCP_WHOLE, .required = true, .nullable = true, .help = "in the file, from 1"},
    {.name = "role",
     .kind = CB_MCP_TEXT,
     .required = true,
     .choices = (const char *const[]){"own", "refers", "column", "node", NULL},
     .help = "own: the row is about it; refers: the row names it; column: it has a column in this table; node: of a "
             "stage problem"},
    {.name = "values", .kind = CB_MCP_OBJECT, .required = true, .help = "column by column, as they are written"},
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "case", .kind = CB_MCP_TEXT, .required = true, .help = "the path, without symbolic links"},
    {.name = "name", .kind = CB_MCP_TEXT, .help = "of the case"},
    {.name = "contents", .kind = CB_MCP_TEXT, .help = "its elements, in words"},
    {.name = "elements", .kind = CB_MCP_LIST, .items = CB_MCP_OBJECT, .fields = kind_fields, .help = "by kind"},
    {.name = "sizes", .kind = CB_MCP_OBJECT, .fields = size_fields, .help = "of the problem that it becomes"},
    {.name = "horizon", .kind = CB_MCP_OBJECT, .fields = horizon_fields, .help = "when the stages are"},
    {.name = "settings",
     .kind = CB_MCP_OBJECT,
     .help = "what case.json says besides names: units, seasons, discount, risk, cycle, terminal, ..."},
    {.name = "inflow",
     .kind = CB_MCP_OBJECT,
     .help =
         "its model: source (table, history or par), and what case.json says of it; noise_model: it can be drawn anew"},
    {.name = "topology", .kind = CB_MCP_OBJECT, .fields = topology_fields, .help = "water and power"},
    {.name = "cost_unit", .kind = CB_MCP_TEXT, .help = "of costs"},
    {.name = "files", .kind = CB_MCP_LIST, .items = CB_MCP_OBJECT, .fields = file_fields, .help = "of the case"},
    {.name = "element", .kind = CB_MCP_TEXT, .help = "that was asked for"},
    {.name = "rows",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = row_fields,
     .help = "all that the tables say about the element"},
    {.name = "units",
     .kind = CB_MCP_OBJECT,
     .help =
         "of the columns of these tables: {\"hydros.csv\": {\"storage_max\": \"hm3\"}}; what is not there has none. A "
         "value of changes.csv is in the unit of the column that it changes"},
    {.name = "row_count", .kind = CB_MCP_WHOLE, .help = "rows on all pages"},
    CB_MCP_NEXT_FIELD,
    {.name = NULL},
};

static json_t *sizes_json(const cobre_sddp_problem *problem) {
    size_t nodes = cobre_sddp_problem_nodes(problem), most[5] = {0}, least = SIZE_MAX;
    json_t *sizes = json_object();
    for (size_t n = 0; n < nodes; n++) {
        const size_t its[] = {cobre_sddp_problem_node_stage(problem, n), cobre_sddp_problem_columns(problem, n),
                              cobre_sddp_problem_rows(problem, n), cobre_sddp_problem_randoms(problem, n),
                              cobre_sddp_problem_outcomes(problem, n)};
        for (size_t i = 0; i < 5; i++)
            most[i] = its[i] > most[i] ? its[i] : most[i];
        least = its[4] < least ? its[4] : least;
    }
    cb_json_set(sizes, "stages", cb_json_count(most[0]));
    cb_json_set(sizes, "nodes", cb_json_count(nodes));
    cb_json_set(sizes, "states", cb_json_count(cobre_sddp_problem_states(problem)));
    cb_json_set(sizes, "columns", cb_json_count(most[1]));
    cb_json_set(sizes, "rows", cb_json_count(most[2]));
    cb_json_set(sizes, "random_variables", cb_json_count(most[3]));
    cb_json_set(sizes, "least_outcomes", cb_json_count(nodes ? least : 0));
    cb_json_set(sizes, "most_outcomes", cb_json_count(most[4]));
    cb_json_set(sizes, "blocks", cb_json_count(cobre_sddp_problem_blocks(problem)));
    return sizes;
}

static json_t *horizon_json(const cobre_sddp_problem *problem) {
    size_t nodes = cobre_sddp_problem_nodes(problem);
    const char *first = nodes ? cobre_sddp_problem_node_date(problem, 0) : "",
               *last = nodes ? cobre_sddp_problem_node_date(problem, nodes - 1) : "",
               *unit = cobre_sddp_problem_time_unit(problem);
    double least = INFINITY, most = 0;
    json_t *horizon = json_object();
    for (size_t n = 0; n < nodes; n++) {
        double duration = cobre_sddp_problem_node_duration(problem, n);
        least = fmin(least, duration);
        most = fmax(most, duration);
    }
    bool known = most > 0;
    cb_json_set(horizon, "first_date", *first ? cb_json_text(first) : json_null());
    cb_json_set(horizon, "last_date", *last ? cb_json_text(last) : json_null());
    cb_json_set(horizon, "least_duration", known ? cb_json_real(least) : json_null());
    cb_json_set(horizon, "most_duration", known ? cb_json_real(most) : json_null());
    cb_json_set(horizon, "time_unit", *unit ? cb_json_text(unit) : json_null());
    return horizon;
}

static void answer_whole(struct cb_mcp_call *call, const struct cb_study *study, const struct cb_case_files *files) {
    const cobre_sddp_problem *problem = study->problem;
    struct cb_inspection inspection = {.call = call, .files = files, .study = study};
    json_t *facts = json_object();
    cb_json_set(facts, "case", cb_json_text(study->case_place.path));
    cb_json_set(facts, "name", cb_json_text(cobre_sddp_problem_name(problem)));
    cb_json_set(facts, "contents", cb_json_text(cobre_sddp_problem_contents(problem)));
    cb_json_set(facts, "elements", cb_inspect_elements(&inspection));
    cb_json_set(facts, "sizes", sizes_json(problem));
    cb_json_set(facts, "horizon", horizon_json(problem));
    cb_inspect_settings(&inspection, facts);
    cb_json_set(facts, "topology", cb_inspect_topology(&inspection));
    cb_json_set(facts, "cost_unit", cb_json_text(cobre_sddp_problem_cost_unit(problem)));
    cb_json_set(facts, "files", cb_inspect_files(&inspection));
    size_t next = (size_t)cb_mcp_number(call, "offset", 0) + inspection.shown;
    cb_json_set(facts, "next_offset", inspection.more ? cb_json_count(next) : json_null());
    const char *contents = cobre_sddp_problem_contents(problem);
    size_t nodes = cobre_sddp_problem_nodes(problem), states = cobre_sddp_problem_states(problem);
    cb_mcp_answer(call, facts, "%s: %s%s%zu node%s, %zu state%s.", cobre_sddp_problem_name(problem), contents,
                  *contents ? "; " : "", nodes, nodes == 1 ? "" : "s", states, states == 1 ? "" : "s");
}

static void answer_element(struct cb_inspection *inspection, const char *element, json_t *rows) {
    struct cb_mcp_call *call = inspection->call;
    json_t *facts = json_object();
    size_t count = json_array_size(rows);
    cb_json_set(facts, "case", cb_json_text(inspection->study->case_place.path));
    cb_json_set(facts, "element", cb_json_text(element));
    cb_mcp_put_page(call, facts, "rows", rows, 100, 16000);
    cb_json_set(facts, "units", cb_inspect_units(inspection, json_object_get(facts, "rows"), element));
    cb_json_set(facts, "row_count", cb_json_count(count));
    cb_mcp_answer(call, facts, "%s: %zu of %zu rows.", element, json_array_size(json_object_get(facts, "rows")), count);
    json_decref(rows);
}

/* Of one element: from the tables alone, so that a case that is not valid can be looked at, too. */
static void look_at_element(struct cb_mcp_call *call, struct cb_study *study, const struct cb_case_files *files,
                            const char *element) {
    struct cb_inspection inspection = {.call = call, .files = files, .study = study};
    bool folder = study->case_place.folder;
    if (!folder && !cb_study_load(call, study))
        return;
    json_t *rows = folder ? cb_inspect_element(&inspection, element) : cb_inspect_part(&inspection, element);
    if (json_array_size(rows) > 0) {
        answer_element(&inspection, element, rows);
        return;
    }
    json_t *known = cb_inspect_names(&inspection);
    cb_study_unknown(call, "element", element, "element", known, "give one of these, or none");
    json_decref(known);
    json_decref(rows);
}

static void call(struct cb_mcp_call *call) {
    struct cb_study study = cb_study_none;
    struct cb_case_files files;
    const char *element = cb_mcp_text(call, "element");
    char why[CB_PLACE_WHY];
    if (!cb_mcp_place(call, "case", CB_PLACE_ANY, &study.case_place))
        return;
    if (!cb_case_files_read(&call->server->places, &study.case_place, &files, why))
        cb_mcp_refuse(call, "list_studies names the cases that are there", "%s", why);
    else if (element)
        look_at_element(call, &study, &files, element);
    else if (cb_study_load(call, &study))
        answer_whole(call, &study, &files);
    cb_case_files_free(&files);
    cb_study_close(&study);
}

const struct cb_mcp_tool cb_mcp_inspect_case = {
    .name = "inspect_case",
    .title = "Inspect a case",
    .description =
        "What a case consists of: elements by kind, sizes, horizon with dates, inflow model, which plant flows into "
        "which, exchanges between subsystems. With element: all that its tables say about that one, column by "
        "column, with units. Nothing is written.",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
