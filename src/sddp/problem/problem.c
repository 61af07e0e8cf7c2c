/* problem.c: building a problem, one thing at a time. */
#include "sddp/problem/problem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/grow.h"

cobre_sddp_problem *cb_problem_new(const char *name, bool maximise) {
    cobre_sddp_problem *problem = calloc(1, sizeof *problem);
    if (!problem)
        return NULL;
    problem->maximise = maximise;
    problem->scale = 1;
    problem->name = strdup(name ? name : "");
    problem->at_file = "";
    problem->no_memory = !problem->name;
    return problem;
}

void cb_problem_rename(cobre_sddp_problem *problem, const char *name) {
    char *copy = strdup(name);
    problem->no_memory |= !copy;
    free(problem->name);
    problem->name = copy;
}

static void free_names(char **names, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static void free_node(cb_node *node) {
    for (size_t j = 0; j < node->columns; j++)
        free(node->column[j].name);
    for (size_t i = 0; i < node->rows; i++)
        free(node->row[i].name);
    free_names(node->random_name, node->randoms);
    free(node->name);
    free(node->place);
    free(node->column);
    free(node->row);
    free(node->entry);
    free(node->start);
    free(node->state_in);
    free(node->state_out);
    free(node->noise);
    free(node->probability);
    free(node->table);
    free(node->edge);
}

static void free_scenario(cb_scenario *scenario) {
    for (size_t k = 0; k < scenario->steps; k++)
        free(scenario->values[k]);
    free(scenario->values);
    free(scenario->node);
}

void cb_drop_scenarios(cobre_sddp_problem *problem) {
    while (problem->scenarios > 0)
        free_scenario(&problem->scenario[--problem->scenarios]);
}

void cobre_sddp_problem_free(cobre_sddp_problem **pointer) {
    if (!pointer || !*pointer)
        return;
    cobre_sddp_problem *problem = *pointer;
    *pointer = NULL;
    cobre_region_free(&problem->openings);
    cobre_region_free(&problem->tours);
    for (size_t n = 0; n < problem->nodes; n++)
        free_node(&problem->node[n]);
    for (size_t s = 0; s < problem->states; s++)
        free(problem->state[s].name);
    cb_drop_scenarios(problem);
    free_names(problem->files, problem->file_count);
    cb_json_forget(problem);
    free(problem->node);
    free(problem->state);
    free(problem->scenario);
    free(problem->root_edge);
    free(problem->name);
    if (problem->free_owned)
        problem->free_owned(problem->owned);
    free(problem);
}

void cb_problem_on_issue(cobre_sddp_problem *problem, void (*issue)(void *, const cobre_sddp_issue *), void *arg) {
    problem->issue = issue;
    problem->issue_arg = arg;
}

static const char *keep_file(cobre_sddp_problem *problem, const char *file) {
    for (size_t i = problem->file_count; i-- > 0;)
        if (strcmp(problem->files[i], file) == 0)
            return problem->files[i];
    char *copy = strdup(file);
    if (!copy || !CB_GROW(problem, problem->files, problem->file_count, problem->file_room)) {
        free(copy);
        problem->no_memory = true;
        return "";
    }
    return problem->files[problem->file_count++] = copy;
}

void cb_problem_at(cobre_sddp_problem *problem, const char *file, size_t line, const char *place, ...) {
    if (strcmp(problem->at_file, file) != 0)
        problem->at_file = keep_file(problem, file);
    problem->at_line = line;
    va_list arguments;
    va_start(arguments, place);
    vsnprintf(problem->at_place, sizeof problem->at_place, place, arguments);
    va_end(arguments);
}

void cb_problem_at_node(cobre_sddp_problem *problem, const cb_node *node) {
    problem->at_file = node->file;
    problem->at_line = node->line;
    snprintf(problem->at_place, sizeof problem->at_place, "%s", node->place);
}

static void report(cobre_sddp_builder *problem, const cb_place *at, const char *advice, const char *format,
                   va_list arguments) {
    char message[1024];
    vsnprintf(message, sizeof message, format, arguments);
    const char *text = at->text ? at->text : "";
    cobre_sddp_issue issue = {.struct_size = sizeof issue,
                              .file = at->file,
                              .line = at->line ? at->line : cb_json_line(problem->json, at->file, text),
                              .place = text,
                              .message = message,
                              .suggestion = advice ? advice : ""};
    if (problem->errors++ == 0) /* the first is what the last error will quote */
        cb_fail_at(COBRE_INVALID_CASE, issue.file, issue.line, advice, "%s%s%s", issue.place, *issue.place ? ": " : "",
                   message);
    if (problem->issue && !problem->no_memory) /* then it may not be the case's */
        problem->issue(problem->issue_arg, &issue);
}

static cb_place current(const cobre_sddp_builder *problem) {
    return (cb_place){.file = problem->at_file, .line = problem->at_line, .text = problem->at_place};
}

void cb_error_at(cobre_sddp_builder *problem, const cb_place *at, const char *advice, const char *format, ...) {
    va_list arguments;
    cb_place here = current(problem);
    va_start(arguments, format);
    report(problem, at ? at : &here, advice, format, arguments);
    va_end(arguments);
}

void cb_builder_error(cobre_sddp_builder *problem, const char *advice, const char *format, ...) {
    va_list arguments;
    cb_place here = current(problem);
    va_start(arguments, format);
    report(problem, &here, advice, format, arguments);
    va_end(arguments);
}

static char *copy_name(cobre_sddp_problem *problem, const char *name, char kind, size_t index) {
    char made[32];
    if (!name) {
        snprintf(made, sizeof made, "%c%zu", kind, index + 1);
        name = made;
    }
    char *copy = strdup(name);
    problem->no_memory |= !copy;
    return copy;
}

static cb_node *node_at(cobre_sddp_problem *problem, size_t node) {
    return node < problem->nodes ? &problem->node[node] : NULL;
}

/* NaN, or an infinity where a number must be, has no place in a problem. */
static bool number(cobre_sddp_problem *problem, const cb_place *at, double value, const char *what) {
    if (value >= -CB_MOST && value <= CB_MOST)
        return true;
    cb_error_at(problem, at, CB_TEXT("use units that keep it below %g", CB_MOST), "%s is %g, which is out of range",
                what, value);
    return false;
}

static bool bounds(cobre_sddp_problem *problem, const cb_place *at, double lower, double upper, const char *what) {
    if (!(lower <= upper && lower < INFINITY && upper > -INFINITY)) { /* for NaN, too */
        cb_error_at(problem, at, "change one of them", "%s: lower bound %g and upper bound %g leave no value", what,
                    lower, upper);
        return false;
    }
    return (lower == -INFINITY || number(problem, at, lower, what)) &&
           (upper == INFINITY || number(problem, at, upper, what));
}

static double own_sense(const cobre_sddp_problem *problem, double cost) {
    return problem->maximise ? -cost : cost;
}

size_t cb_add_state(cobre_sddp_builder *problem, const cb_place *at, const char *name, double initial) {
    number(problem, at, initial, "the initial state");
    if (problem->nodes > 0) {
        cb_error_at(problem, at, NULL, "state %s comes after the first node: add all states first", name ? name : "");
        return CB_NONE;
    }
    if (!CB_GROW(problem, problem->state, problem->states, problem->states_room))
        return CB_NONE;
    problem->state[problem->states] =
        (cb_state){.name = copy_name(problem, name, 's', problem->states), .initial = initial};
    return problem->states++;
}

static size_t *unset_columns(cobre_sddp_problem *problem) {
    size_t *columns = malloc((problem->states + 1) * sizeof *columns);
    problem->no_memory |= !columns;
    for (size_t s = 0; columns && s < problem->states; s++)
        columns[s] = CB_NONE;
    return columns;
}

size_t cb_add_node(cobre_sddp_builder *problem, const cb_place *at, const char *name, size_t stage) {
    if (!CB_GROW(problem, problem->node, problem->nodes, problem->nodes_room))
        return CB_NONE;
    cb_place here = at ? *at : current(problem);
    problem->node[problem->nodes] = (cb_node){
        .name = copy_name(problem, name, 'n', problem->nodes),
        .stage = stage,
        .file = here.file,
        .line = here.line,
        .place = copy_name(problem, here.text ? here.text : "", ' ', 0),
        .state_in = unset_columns(problem),
        .state_out = unset_columns(problem),
        .risk = {.beta = 1, .alpha = 1},
    };
    return problem->nodes++;
}

size_t cb_add_column(cobre_sddp_builder *problem, const cb_place *at, size_t index, const char *name, double lower,
                     double upper, double cost) {
    cb_node *node = node_at(problem, index);
    if (!node || !CB_GROW(problem, node->column, node->columns, node->columns_room))
        return CB_NONE;
    bounds(problem, at, lower, upper, name ? name : "column");
    number(problem, at, cost, "the cost");
    node->column[node->columns] = (cb_column){copy_name(problem, name, 'c', node->columns), .lower = lower,
                                              .upper = upper, .cost = own_sense(problem, cost)};
    return node->columns++;
}

size_t cb_add_row(cobre_sddp_builder *problem, const cb_place *at, size_t index, const char *name, double lower,
                  double upper) {
    cb_node *node = node_at(problem, index);
    if (!node || !CB_GROW(problem, node->row, node->rows, node->rows_room))
        return CB_NONE;
    bounds(problem, at, lower, upper, name ? name : "row");
    node->row[node->rows] = (cb_row){copy_name(problem, name, 'r', node->rows), .lower = lower, .upper = upper};
    return node->rows++;
}

void cb_add_entry(cobre_sddp_builder *problem, const cb_place *at, size_t index, size_t row, size_t column,
                  double value) {
    cb_node *node = node_at(problem, index);
    if (!node || row >= node->rows || column >= node->columns || !number(problem, at, value, "the coefficient") ||
        !CB_GROW(problem, node->entry, node->entries, node->entries_room))
        return;
    node->entry[node->entries++] = (cb_entry){(int)row, (int)column, value};
}

void cb_add_cost(cobre_sddp_builder *problem, const cb_place *at, size_t index, size_t column, double cost) {
    cb_node *node = node_at(problem, index);
    if (node && column < node->columns && number(problem, at, cost, "the cost"))
        node->column[column].cost += own_sense(problem, cost);
}

void cb_narrow_column(cobre_sddp_builder *problem, const cb_place *at, size_t index, size_t which, double lower,
                      double upper) {
    cb_node *node = node_at(problem, index);
    if (!node || which >= node->columns)
        return;
    cb_column *column = &node->column[which];
    column->lower = fmax(column->lower, lower);
    column->upper = fmin(column->upper, upper);
    bounds(problem, at, column->lower, column->upper, column->name);
}

void cb_shift_row(cobre_sddp_builder *problem, const cb_place *at, size_t index, size_t row, double by) {
    cb_node *node = node_at(problem, index);
    if (!node || row >= node->rows || !number(problem, at, by, "the constant"))
        return;
    node->row[row].lower += by;
    node->row[row].upper += by;
}

void cb_add_constant(cobre_sddp_builder *problem, const cb_place *at, size_t index, double cost) {
    cb_node *node = node_at(problem, index);
    if (node && number(problem, at, cost, "the constant of the objective"))
        node->constant += own_sense(problem, cost);
}

void cb_set_state(cobre_sddp_builder *problem, const cb_place *at, size_t index, size_t state, size_t column_in,
                  size_t column_out) {
    cb_node *node = node_at(problem, index);
    if (!node || state >= problem->states || column_in >= node->columns || column_out >= node->columns ||
        problem->no_memory)
        return;
    if (column_in == column_out)
        cb_error_at(problem, at, NULL, "state %s: the incoming and the outgoing column must be two columns",
                    problem->state[state].name);
    node->state_in[state] = column_in;
    node->state_out[state] = column_out;
}

size_t cb_add_random(cobre_sddp_builder *problem, const cb_place *at, size_t index, const char *name) {
    cb_node *node = node_at(problem, index);
    if (!node || !CB_GROW(problem, node->random_name, node->randoms, node->randoms_room))
        return CB_NONE;
    if (node->outcomes > 0) {
        cb_error_at(problem, at, NULL, "random variable %s comes after the first outcome of its node",
                    name ? name : "");
        return CB_NONE;
    }
    node->random_name[node->randoms] = copy_name(problem, name, 'w', node->randoms);
    return node->randoms++;
}

static bool target_exists(const cb_node *node, const cb_noise *noise) {
    switch (noise->target) {
    case CB_NOISE_ROW:
    case CB_NOISE_ROW_LOWER:
    case CB_NOISE_ROW_UPPER: return noise->index < node->rows;
    case CB_NOISE_COLUMN_LOWER:
    case CB_NOISE_COLUMN_UPPER:
    case CB_NOISE_COST: return noise->index < node->columns;
    case CB_NOISE_CONSTANT: return true;
    case CB_NOISE_ENTRY: return noise->index < node->rows && noise->column < node->columns;
    }
    return false;
}

void cb_add_noise(cobre_sddp_builder *problem, const cb_place *at, size_t index, cb_noise noise) {
    cb_node *node = node_at(problem, index);
    if (!node || noise.random >= node->randoms || !target_exists(node, &noise) ||
        !number(problem, at, noise.factor, "the factor of the noise") ||
        !CB_GROW(problem, node->noise, node->noises, node->noises_room))
        return;
    if (noise.target == CB_NOISE_COST || noise.target == CB_NOISE_CONSTANT)
        noise.factor = own_sense(problem, noise.factor);
    if (noise.target == CB_NOISE_ENTRY) /* so that the model has it */
        cb_add_entry(problem, NULL, index, noise.index, noise.column, 0);
    else
        noise.column = 0;
    if (noise.target == CB_NOISE_CONSTANT)
        noise.index = 0;
    node->noise[node->noises++] = noise;
}

void cb_add_outcome(cobre_sddp_builder *problem, const cb_place *at, size_t index, double probability,
                    const double *values) {
    cb_node *node = node_at(problem, index);
    if (!node)
        return;
    if (!(probability >= 0 && probability <= 1))
        cb_error_at(problem, at, "correct it", "probability %g is not between 0 and 1", probability);
    for (size_t i = 0; i < node->randoms; i++)
        number(problem, at, values[i], node->random_name[i]);
    size_t room = node->outcomes_room;
    if (!CB_GROW(problem, node->probability, node->outcomes, room))
        return;
    if (room != node->outcomes_room) {
        double *table = realloc(node->table, room * (node->randoms + 1) * sizeof *table);
        if (!table) {
            problem->no_memory = true;
            return;
        }
        node->table = table;
        node->outcomes_room = room;
    }
    node->probability[node->outcomes] = probability;
    for (size_t i = 0; i < node->randoms; i++)
        node->table[node->outcomes * node->randoms + i] = values[i];
    node->outcomes++;
}

void cb_set_draw(cobre_sddp_builder *problem, const cb_place *at, size_t index, size_t count, cb_draw *draw,
                 const void *model) {
    cb_node *node = node_at(problem, index);
    if (!node)
        return;
    if (count == 0 || node->outcomes > 0) {
        cb_error_at(problem, at, NULL, "node %s: a noise model needs at least one opening, and no table beside it",
                    node->name);
        return;
    }
    node->probability = malloc(count * sizeof *node->probability);
    if (!node->probability) {
        problem->no_memory = true;
        return;
    }
    for (size_t k = 0; k < count; k++)
        node->probability[k] = 1 / (double)count;
    node->outcomes = node->outcomes_room = count;
    node->draw = draw;
    node->model = model;
}

void cb_set_opening_seed(cobre_sddp_problem *problem, uint64_t seed) {
    problem->opening_seed = seed;
}

void cb_problem_own(cobre_sddp_problem *problem, void *owned, void (*free_owned)(void *)) {
    problem->owned = owned;
    problem->free_owned = free_owned;
}

void cb_add_edge(cobre_sddp_builder *problem, const cb_place *at, size_t from, size_t to, double probability,
                 double discount) {
    if (to >= problem->nodes || (from != CB_ROOT && from >= problem->nodes))
        return;
    if (!(probability >= 0 && probability <= 1))
        cb_error_at(problem, at, "correct it", "probability %g is not between 0 and 1", probability);
    if (!(discount > 0 && discount <= 1))
        cb_error_at(problem, at, NULL, "discount %g is not above 0 and at most 1", discount);
    cb_edge edge = {.to = to, .probability = probability, .discount = discount};
    if (from == CB_ROOT) {
        if (CB_GROW(problem, problem->root_edge, problem->root_edges, problem->root_edges_room))
            problem->root_edge[problem->root_edges++] = edge;
        return;
    }
    cb_node *node = &problem->node[from];
    if (CB_GROW(problem, node->edge, node->edges, node->edges_room))
        node->edge[node->edges++] = edge;
}

void cb_set_risk(cobre_sddp_builder *problem, const cb_place *at, size_t index, double beta, double alpha) {
    cb_node *node = node_at(problem, index);
    if (!node)
        return;
    if (!(beta >= 0 && beta <= 1 && alpha > 0 && alpha <= 1))
        cb_error_at(problem, at, NULL, "risk: beta %g must be in [0, 1], alpha %g in (0, 1]", beta, alpha);
    node->risk = (cb_risk){.beta = beta, .alpha = alpha};
}

void cb_set_value_bound(cobre_sddp_builder *problem, const cb_place *at, size_t index, double bound) {
    cb_node *node = node_at(problem, index);
    if (!node || !number(problem, at, bound, "the value bound"))
        return;
    node->value_bound = own_sense(problem, bound);
    node->has_value_bound = true;
}

size_t cb_add_scenario(cobre_sddp_problem *problem) {
    if (!CB_GROW(problem, problem->scenario, problem->scenarios, problem->scenarios_room))
        return CB_NONE;
    problem->scenario[problem->scenarios] = (cb_scenario){0};
    return problem->scenarios++;
}

void cb_add_step(cobre_sddp_builder *problem, const cb_place *at, size_t index, size_t node, const double *values) {
    if (index >= problem->scenarios || node >= problem->nodes)
        return;
    cb_scenario *scenario = &problem->scenario[index];
    size_t randoms = problem->node[node].randoms;
    size_t *nodes = realloc(scenario->node, (scenario->steps + 1) * sizeof *nodes);
    scenario->node = nodes ? nodes : scenario->node;
    double **all = realloc(scenario->values, (scenario->steps + 1) * sizeof *all);
    scenario->values = all ? all : scenario->values;
    double *copy = malloc((randoms + 1) * sizeof *copy);
    if (!nodes || !all || !copy) {
        free(copy);
        problem->no_memory = true;
        return;
    }
    for (size_t i = 0; i < randoms; i++)
        copy[i] = number(problem, at, values[i], problem->node[node].random_name[i]) ? values[i] : 0;
    nodes[scenario->steps] = node;
    all[scenario->steps++] = copy;
}
