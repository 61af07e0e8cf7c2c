/* SPDX-License-Identifier: Apache-2.0 */
/* select.c: selects the backend, from a config or from the environment, and checks that the choice is plausible.
 *
 * auto takes the last backend of the list that is in this build and one of whose signs is set. The worst mistake here would
 * be N processes that each believe to be alone, so a choice that gives one rank is refused when anything in the
 * environment indicates more. An explicit `local` is obeyed. */
#include "comm/select.h"
#include "comm/versioned.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 1 << 20 };

static const struct {
    const char *name, *option; /* option: of the build */
    const cb_backend *backend;
} backends[] = {{.name = "auto"},
#define ROW(NAME, word, ...) {.name = #word, .option = "COBRE_" #NAME, .backend = &cb_##word##_backend},
                COBRE_BACKEND_MAP(ROW, )
#undef ROW
};
enum { BACKENDS = sizeof backends / sizeof *backends };

/* "auto, mpi, tcp, shm and local": as auto tries them, with `last` before the last. */
static const char *list_names(char text[128], const char *last) {
    size_t length = (size_t)snprintf(text, 128, "auto");
    for (cobre_backend b = cb_first_backend(); b && length < 128; b = cb_next_backend(b))
        length +=
            (size_t)snprintf(text + length, 128 - length, "%s%s", cb_next_backend(b) ? ", " : last, backends[b].name);
    return text;
}

const char *cobre_backend_name(cobre_backend backend) {
    return (unsigned)backend < BACKENDS ? backends[backend].name : "?";
}

const cb_backend *cb_backend_at(cobre_backend backend) {
    return (unsigned)backend < BACKENDS ? backends[backend].backend : NULL;
}

bool cb_built_in(cobre_backend backend) {
    const cb_backend *found = cb_backend_at(backend);
    return found && found->open;
}

cobre_backend cb_backend_named(const char *name) {
    for (unsigned b = 1; b < BACKENDS; b++)
        if (strcmp(backends[b].name, name) == 0)
            return (cobre_backend)b;
    return COBRE_AUTO;
}

cobre_backend cb_first_backend(void) {
    return (cobre_backend)(BACKENDS - 1);
}

cobre_backend cb_next_backend(cobre_backend backend) {
    return (cobre_backend)(backend - 1);
}

const char *cb_built_in_list(void) {
#define LIST_ITEM(NAME, name, ...) CB_WHEN(COBRE_HAVE_##NAME, ", " #name)
    static const char list[] = COBRE_BACKEND_MAP(LIST_ITEM, );
#undef LIST_ITEM
    return list + 2;
}

/* The first variable of this backend that indicates more than one rank, NULL if none does. */
static const char *size_sign(cobre_backend backend, uint64_t *ranks) {
    for (const cb_size_sign *sign = cb_backend_at(backend)->sizes; sign && sign->name; sign++) {
        const char *text = cb_variable(sign->name);
        if (text && cb_parse_whole(text, ranks) && (*ranks += sign->is_rank) > 1)
            return sign->name;
    }
    return NULL;
}

/* The variable that makes auto take this backend: a sign, or a foreign launcher's word that there are many ranks. */
static const char *first_sign(cobre_backend backend) {
    uint64_t ranks;
    for (const char *const *sign = cb_backend_at(backend)->signs; sign && *sign; sign++)
        if (cb_variable(*sign))
            return *sign;
    return cb_backend_at(backend)->launcher ? size_sign(backend, &ranks) : NULL;
}

cobre_status cb_read_count(cobre_backend backend, const char *name, size_t *value) {
    uint64_t number;
    const char *text = cb_variable(name);
    if (!cb_parse_whole(text, &number) || number > MAX_RANKS)
        return CB_REFUSE(backend, name, "set it to a whole number, such as 0 or 4",
                         "%s is \"%.64s\", which is not a whole number from 0 to %d", name, text, MAX_RANKS);
    *value = (size_t)number;
    return COBRE_OK;
}

cobre_status cb_read_seconds(cobre_backend backend, const char *name, double *value) {
    const char *text = cb_variable(name);
    char *end;
    if (!text)
        return COBRE_OK;
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value) || *value <= 0)
        return CB_REFUSE(backend, name, "set it to a number of seconds greater than 0, or unset it",
                         "%s is \"%.64s\", which is not a number of seconds greater than 0", name, text);
    return COBRE_OK;
}

cobre_status cb_check_ranks(const cb_options *options, const char *rank_from, const char *size_from) {
    size_t own_limit = cb_backend_at(options->backend)->most_ranks, most = own_limit ? own_limit : MAX_RANKS;
    if (options->size == 0)
        return CB_REFUSE(options->backend, size_from, "set it to the number of ranks, at least 1",
                         "%s is 0, but a job has at least one rank", size_from);
    if (options->size > most)
        return CB_REFUSE(options->backend, size_from, "use fewer ranks",
                         "%s is %zu, but a job of %s has at most %zu ranks", size_from, options->size,
                         cobre_backend_name(options->backend), most);
    if (options->rank >= options->size)
        return CB_REFUSE(options->backend, rank_from, "ranks count from 0 to size - 1",
                         "%s is %zu, but %s is %zu: ranks go from 0 to %zu", rank_from, options->rank, size_from,
                         options->size, options->size - 1);
    return COBRE_OK;
}

cobre_status cb_missing(cobre_backend backend, const char *list, const char *example) {
    return cb_error(NULL, backend, COBRE_MISSING_CONFIGURATION,
                    &(struct cb_details){.operation = "open", .list = list, .suggestion = example},
                    "the %s backend needs %s, which %s not set", cobre_backend_name(backend), list,
                    strchr(list, ',') ? "are" : "is");
}

void cb_list_missing(const char *const *names, char *list, size_t size) {
    list[0] = '\0';
    for (; *names; names++) {
        size_t length = strlen(list);
        if (!cb_variable(*names))
            snprintf(list + length, size - length, "%s%s", length ? ", " : "", *names);
    }
}

cobre_status cb_read_switch(cobre_backend backend, const char *name, bool *value) {
    const char *text = cb_variable(name);
    if (text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return CB_REFUSE(backend, name, "set it to 0 or 1", "%s is \"%.64s\", not 0 or 1", name, text);
    *value = text && *text == '1';
    return COBRE_OK;
}

static cobre_status check_built_in(cobre_backend backend) {
    char advice[256];
    if (cb_built_in(backend))
        return COBRE_OK;
    size_t length = (size_t)snprintf(advice, sizeof advice, "choose one of: auto, %s", cb_built_in_list());
    snprintf(advice + length, sizeof advice - length, "; or build cobre with -D%s=ON", backends[backend].option);
    return cb_error(NULL, backend, COBRE_BACKEND_NOT_AVAILABLE,
                    &(struct cb_details){.operation = "open",
                                         .subject = cobre_backend_name(backend),
                                         .list = cb_built_in_list(),
                                         .suggestion = advice},
                    "the %s backend was asked for, but this build has only: %s", cobre_backend_name(backend),
                    cb_built_in_list());
}

static cobre_status backend_by_name(const char *name, cobre_backend *backend) {
    *backend = cb_backend_named(name);
    if (*backend || strcmp(name, "auto") == 0)
        return COBRE_OK;
    char list[128], either[128], all[128], advice[256];
    list_names(list, ", ");
    snprintf(advice, sizeof advice, "set " CB_ENV_BACKEND " to %s, or unset it", list_names(either, " or "));
    return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_BACKEND,
                    &(struct cb_details){.operation = "open", .subject = name, .list = list, .suggestion = advice},
                    CB_ENV_BACKEND " is \"%.64s\", which is not a backend; there are %s", name,
                    list_names(all, " and "));
}

static bool means(const cobre_config *config, cobre_backend backend) {
    const cb_backend *found = cb_backend_at(backend);
    if (config && found->in_config)
        return found->in_config(config);
    return !found->signs || first_sign(backend);
}

static cobre_backend choose(const cobre_config *config) {
    cobre_backend backend = cb_first_backend();
    while (cb_next_backend(backend) && !(cb_built_in(backend) && means(config, backend)))
        backend = cb_next_backend(backend);
    return backend;
}

/* The same of any backend; only foreign: of one that the environment alone can mean. Our own launcher's word is final. */
static const char *sign_of_many(bool only_foreign, uint64_t *ranks) {
    if (!only_foreign && cb_variable(CB_ENV_RUN_SIZE))
        return cb_parse_whole(cb_variable(CB_ENV_RUN_SIZE), ranks) && *ranks > 1 ? CB_ENV_RUN_SIZE : NULL;
    const char *found = NULL;
    for (cobre_backend b = cb_first_backend(); b && !found; b = cb_next_backend(b))
        if (!only_foreign || cb_backend_at(b)->launcher)
            found = size_sign(b, ranks);
    return found;
}

bool cb_launched_among_many(void) {
    uint64_t ranks;
    return sign_of_many(true, &ranks);
}

static cobre_status refuse_lonely_rank(const cb_options *options, bool only_foreign) {
    uint64_t ranks;
    const char *sign = sign_of_many(only_foreign, &ranks);
    if (!sign)
        return COBRE_OK;
    return CB_REFUSE(options->backend, sign,
                     "start the ranks with `cobre run -n N program`; for one rank on purpose set " CB_ENV_BACKEND
                     "=local, "
                     "or unset the variable",
                     "%s=%s indicates at least %" PRIu64 " ranks, but the %s backend would run this process alone "
                     "(this build has: %s)",
                     sign, cb_variable(sign), ranks, cobre_backend_name(options->backend), cb_built_in_list());
}

/* One rank, by what the environment or the config says; not by what the backend itself will find. */
static bool may_be_lonely(const cb_options *options) {
    return options->size == 1 && !cb_backend_at(options->backend)->launcher;
}

static cobre_status from_environment(cb_options *options) {
    cobre_backend asked = COBRE_AUTO;
    const char *name = cb_variable(CB_ENV_BACKEND);
    CB_TRY(name ? backend_by_name(name, &asked) : COBRE_OK);
    options->backend = asked == COBRE_AUTO ? choose(NULL) : asked;
    cobre_status status = check_built_in(options->backend);
    if (!status)
        status = cb_backend_at(options->backend)->from_environment(options);
    if (!status)
        status = cb_read_seconds(options->backend, CB_ENV_STALL, &options->stall_secs);
    if (!status && may_be_lonely(options) && !(asked && cb_backend_at(asked)->alone))
        status = refuse_lonely_rank(options, false);
    return status;
}

static bool bad_seconds(double value) {
    return !isfinite(value) || value < 0;
}

static cobre_status refuse_vague_config(const cb_options *options, size_t size) {
    char advice[256] = "set ";
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b))
        if (cb_built_in(b) && cb_backend_at(b)->config_sign) {
            size_t length = strlen(advice);
            snprintf(advice + length, sizeof advice - length, "%s, or ", cb_backend_at(b)->config_sign);
        }
    size_t length = strlen(advice);
    snprintf(advice + length, sizeof advice - length, "config.backend");
    return CB_REFUSE(options->backend, "config.size", advice,
                     "config.size is %zu, but nothing in the config says how the ranks find each other", size);
}

/* What a config says besides who this rank is. */
static void add_config(const cobre_config *config, cb_options *options) {
    options->interrupted = config->interrupted;
    options->interrupted_arg = config->interrupted_arg;
    if (config->join_timeout_secs > 0)
        options->join_timeout_secs = config->join_timeout_secs;
    if (config->stall_secs > 0)
        options->stall_secs = config->stall_secs;
}

static cobre_status from_config(const cobre_config *config, cb_options *options) {
    char list[128];
    if ((unsigned)config->backend >= BACKENDS)
        return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_BACKEND,
                        &(struct cb_details){.operation = "open",
                                             .list = list_names(list, ", "),
                                             .suggestion = "set config.backend to one of the cobre_backend constants"},
                        "config.backend is %d, which is not a backend", (int)config->backend);
    options->backend = config->backend == COBRE_AUTO ? choose(config) : config->backend;
    add_config(config, options);
    cobre_status status = check_built_in(options->backend);
    if (!status)
        status = cb_backend_at(options->backend)->from_config(config, options);
    if (status || config->backend != COBRE_AUTO || !may_be_lonely(options))
        return status;
    if (config->size > 1)
        return refuse_vague_config(options, config->size);
    return refuse_lonely_rank(options, true);
}

static cobre_status check_seconds(const cobre_config *config) {
    if (!bad_seconds(config->join_timeout_secs) && !bad_seconds(config->stall_secs))
        return COBRE_OK;
    return CB_REFUSE(config->backend, "config", "give seconds as a finite number; 0 means the default",
                     "config.join_timeout_secs or config.stall_secs is negative or not a number");
}

cobre_status cb_select(const cobre_config *config, cb_options *options) {
    *options = (cb_options){.size = 1, .join_timeout_secs = 60};
    if (!config)
        return from_environment(options);
    size_t first_version = CB_THROUGH(cobre_config, interrupted_arg);
    cobre_config copy = {0};
    if (!cb_versioned_take(&copy, sizeof copy, first_version, config))
        return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_ARGUMENT,
                        &(struct cb_details){.operation = "open",
                                             .subject = "config.struct_size",
                                             .suggestion = "set it to sizeof(cobre_config)"},
                        "config.struct_size is %zu, smaller than any version of cobre_config", config->struct_size);
    CB_TRY(check_seconds(&copy));
    if (!copy.environment)
        return from_config(&copy, options);
    cobre_status status = from_environment(options);
    add_config(&copy, options);
    return status;
}

void cb_explain(cobre_backend backend, char *text, size_t len) {
    const cb_backend *found = cb_backend_at(backend);
    const char *sign = first_sign(backend);
    if (!cb_built_in(backend))
        snprintf(text, len, "not in this build%s%s%s", sign ? ", though " : "", sign ? sign : "",
                 sign ? " is set" : "");
    else if (found->explain)
        found->explain(text, len);
    else if (!found->signs)
        snprintf(text, len, "always there");
    else if (sign)
        snprintf(text, len, "%s is set", sign);
    else
        snprintf(text, len, "%s is not set (`cobre run` sets what it needs)", found->signs[0]);
}
