/* select.c: which backend, from a config or from the environment, and whether that can be right.
 *
 * auto takes the first of mpi, tcp, shm, local that is in this build and whose signs are there. The worst mistake here
 * would be N processes that each believe to be alone, so a choice that gives one rank is refused when anything in the
 * environment speaks of more. An explicit `local` is obeyed. */
#include "comm/select.h"

#include "backends/mpi/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_RANKS = 1 << 20, BACKENDS = COBRE_MPI + 1 };

static const char *const backend_names[BACKENDS] = {
    [COBRE_AUTO] = "auto", [COBRE_LOCAL] = "local", [COBRE_SHM] = "shm", [COBRE_TCP] = "tcp", [COBRE_MPI] = "mpi",
};

static const cobre_backend auto_order[] = {COBRE_MPI, COBRE_TCP, COBRE_SHM, COBRE_LOCAL};

/* What sets a process apart as a rank of an MPI launcher; the last is Slurm's. */
static const char *const mpi_signs[] = {
    "PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALRANKID", "SLURM_PROCID", NULL};
static const char *const tcp_signs[] = {"COBRE_TCP_COORDINATOR", "COBRE_TCP_RANK", NULL};
static const char *const shm_signs[] = {"COBRE_SHM_NAME", NULL};

static const char *const *const signs[BACKENDS] = {
    [COBRE_MPI] = mpi_signs, [COBRE_TCP] = tcp_signs, [COBRE_SHM] = shm_signs};

/* Variables that tell how many ranks there are, or that there are at least rank + 1. */
static const struct {
    const char *name;
    bool is_rank, is_mpi;
} size_signs[] = {
    {"OMPI_COMM_WORLD_SIZE", false, true}, {"PMI_SIZE", false, true},        {"SLURM_NTASKS", false, true},
    {"OMPI_COMM_WORLD_RANK", true, true},  {"PMI_RANK", true, true},         {"SLURM_PROCID", true, true},
    {"MPI_LOCALRANKID", true, true},       {"COBRE_TCP_SIZE", false, false}, {"COBRE_SHM_SIZE", false, false},
    {"COBRE_TCP_RANK", true, false},       {"COBRE_SHM_RANK", true, false},
};

const char *cobre_backend_name(cobre_backend backend) {
    return (unsigned)backend < BACKENDS ? backend_names[backend] : "?";
}

bool cb_built_in(cobre_backend backend) {
    switch ((int)backend) {
#define TRUE_ARM(NAME, name, ...)                                                                                      \
    case COBRE_##NAME: return true;
        CB_BACKENDS(TRUE_ARM, )
#undef TRUE_ARM
    default: return false;
    }
}

const char *cb_built_in_list(void) {
#define LIST_ITEM(NAME, name, ...) ", " #name
    static const char list[] = CB_BACKENDS(LIST_ITEM, );
#undef LIST_ITEM
    return list + 2;
}

static const char *first_sign(cobre_backend backend) {
    for (const char *const *sign = signs[backend]; sign && *sign; sign++)
        if (cb_variable(*sign))
            return *sign;
    return NULL;
}

static bool parse_whole(const char *text, uint64_t *value) {
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

#define REFUSE(choice, culprit, advice, ...)                                                                           \
    cb_error(NULL, choice, COBRE_INITIALIZATION_FAILED,                                                                \
             &(struct cb_details){.operation = "open", .subject = culprit, .suggestion = advice}, __VA_ARGS__)

static cobre_status read_count(cobre_backend backend, const char *name, size_t *value) {
    uint64_t number;
    const char *text = cb_variable(name);
    if (!parse_whole(text, &number) || number > MAX_RANKS)
        return REFUSE(backend, name, "set it to a whole number, such as 0 or 4",
                      "%s is \"%.64s\", which is not a whole number from 0 to %d", name, text, MAX_RANKS);
    *value = (size_t)number;
    return COBRE_OK;
}

static cobre_status read_seconds(cobre_backend backend, const char *name, double *value) {
    const char *text = cb_variable(name);
    char *end;
    if (!text)
        return COBRE_OK;
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value) || *value <= 0)
        return REFUSE(backend, name, "set it to a number of seconds greater than 0, or unset it",
                      "%s is \"%.64s\", which is not a number of seconds greater than 0", name, text);
    return COBRE_OK;
}

/* Checks that hold wherever the values came from; *_from names the place. */
static cobre_status check_ranks(const cb_options *options, const char *rank_from, const char *size_from) {
    if (options->size == 0)
        return REFUSE(options->backend, size_from, "set it to the number of ranks, at least 1",
                      "%s is 0, but a job has at least one rank", size_from);
    if (options->size > MAX_RANKS)
        return REFUSE(options->backend, size_from, "use fewer ranks", "%s is %zu; there can be at most %d ranks",
                      size_from, options->size, MAX_RANKS);
    if (options->rank >= options->size)
        return REFUSE(options->backend, rank_from, "ranks count from 0 to size - 1",
                      "%s is %zu, but %s is %zu: ranks go from 0 to %zu", rank_from, options->rank, size_from,
                      options->size, options->size - 1);
    return COBRE_OK;
}

static cobre_status check_shm_name(const char *name, const char *from) {
    if (name[0] != '/' || name[1] == '\0' || strchr(name + 1, '/') || strlen(name) > 200)
        return REFUSE(COBRE_SHM, from, "choose a name like /my-job",
                      "%s is \"%.64s\", but a segment name starts with '/', has no other '/' and 2 to 200 characters",
                      from, name);
    return COBRE_OK;
}

static cobre_status missing(cobre_backend backend, const char *list, const char *example) {
    return cb_error(NULL, backend, COBRE_MISSING_CONFIGURATION,
                    &(struct cb_details){.operation = "open", .list = list, .suggestion = example},
                    "the %s backend needs %s, which %s not set", cobre_backend_name(backend), list,
                    strchr(list, ',') ? "are" : "is");
}

/* Appends to a comma-separated list the names that have no value. */
static void list_missing(const char *const *names, char *list, size_t size) {
    list[0] = '\0';
    for (; *names; names++) {
        size_t length = strlen(list);
        if (!cb_variable(*names))
            snprintf(list + length, size - length, "%s%s", length ? ", " : "", *names);
    }
}

static cobre_status shm_from_environment(cb_options *options) {
    static const char *const needed[] = {"COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE", NULL};
    char list[128];
    list_missing(needed, list, sizeof list);
    if (list[0])
        return missing(COBRE_SHM, list,
                       "let the launcher set them: cobre run -n 2 ./program; or by hand: COBRE_COMM_BACKEND=shm "
                       "COBRE_SHM_NAME=/job COBRE_SHM_RANK=0 COBRE_SHM_SIZE=2 ./program");
    options->shm_name = cb_variable("COBRE_SHM_NAME");
    cobre_status status = check_shm_name(options->shm_name, "COBRE_SHM_NAME");
    if (!status)
        status = read_count(COBRE_SHM, "COBRE_SHM_SIZE", &options->size);
    if (!status)
        status = read_count(COBRE_SHM, "COBRE_SHM_RANK", &options->rank);
    if (!status)
        status = check_ranks(options, "COBRE_SHM_RANK", "COBRE_SHM_SIZE");
    if (!status)
        status = read_seconds(COBRE_SHM, "COBRE_SHM_TIMEOUT_SECS", &options->join_timeout_secs);
    return status;
}

static cobre_status shm_from_config(const cobre_config *config, cb_options *options) {
    if (!config->shm_name || config->size == 0)
        return missing(COBRE_SHM,
                       config->shm_name ? "config.size"
                       : config->size   ? "config.shm_name"
                                        : "config.shm_name, config.size",
                       "set them in the config: {.backend = COBRE_SHM, .shm_name = \"/job\", .rank = 0, .size = 2}");
    options->shm_name = config->shm_name;
    options->rank = config->rank;
    options->size = config->size;
    cobre_status status = check_shm_name(options->shm_name, "config.shm_name");
    return status ? status : check_ranks(options, "config.rank", "config.size");
}

/* A secret in a file must be the reader's own, and nobody else's. */
static cobre_status read_token_file(const char *path, char *token, size_t size) {
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return REFUSE(COBRE_TCP, "COBRE_TCP_TOKEN_FILE", "see that the file exists and that this user can read it",
                      "COBRE_TCP_TOKEN_FILE %.128s cannot be read: %s", path, strerror(errno));
    bool safe = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && (file.st_uid == geteuid() || file.st_uid == 0) &&
                !(file.st_mode & 077);
    ssize_t got = safe ? read(fd, token, size) : 0;
    close(fd);
    if (!safe)
        return REFUSE(COBRE_TCP, "COBRE_TCP_TOKEN_FILE", "make it yours alone: chmod 600",
                      "COBRE_TCP_TOKEN_FILE %.128s is not a file, or others can read or change it", path);
    while (got > 0 && (token[got - 1] == '\n' || token[got - 1] == '\r'))
        got--;
    if (got <= 0 || (size_t)got >= size || memchr(token, '\0', (size_t)got))
        return REFUSE(COBRE_TCP, "COBRE_TCP_TOKEN_FILE", "put one line of 1 to 511 characters into it",
                      "COBRE_TCP_TOKEN_FILE %.128s holds no token, a longer one than 511 characters, or a zero byte",
                      path);
    token[got] = '\0';
    return COBRE_OK;
}

static cobre_status copy_token(const char *token, const char *from, cb_options *options) {
    if (strlen(token) >= sizeof options->tcp_token)
        return REFUSE(COBRE_TCP, from, "use a token of up to 511 characters", "%s is longer than 511 characters", from);
    snprintf(options->tcp_token, sizeof options->tcp_token, "%s", token);
    return COBRE_OK;
}

static cobre_status read_token(cb_options *options) {
    const char *token = cb_variable("COBRE_TCP_TOKEN"), *file = cb_variable("COBRE_TCP_TOKEN_FILE");
    if (token && file)
        return REFUSE(COBRE_TCP, "COBRE_TCP_TOKEN", "unset one of them",
                      "COBRE_TCP_TOKEN and COBRE_TCP_TOKEN_FILE are both set");
    if (file)
        return read_token_file(file, options->tcp_token, sizeof options->tcp_token);
    return token ? copy_token(token, "COBRE_TCP_TOKEN", options) : COBRE_OK;
}

static cobre_status read_port(cb_options *options) {
    const char *text = cb_variable("COBRE_TCP_PORT");
    uint64_t port = 29500;
    if (text && (!parse_whole(text, &port) || port == 0 || port > UINT16_MAX))
        return REFUSE(COBRE_TCP, "COBRE_TCP_PORT", "set it to a port above 1023, or unset it for 29500",
                      "COBRE_TCP_PORT is \"%.64s\", which is not a port from 1 to 65535", text);
    options->tcp_port = (uint16_t)port;
    return COBRE_OK;
}

static cobre_status read_switch(cobre_backend backend, const char *name, bool *value) {
    const char *text = cb_variable(name);
    if (text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return REFUSE(backend, name, "set it to 0 or 1", "%s is \"%.64s\", not 0 or 1", name, text);
    *value = text && *text == '1';
    return COBRE_OK;
}

/* The launcher's listening socket, already bound to the port that the other ranks were told. */
static void read_listener(cb_options *options) {
    const char *text = cb_variable(CB_ENV_LISTEN_FD);
    uint64_t fd;
    int listens = 0;
    socklen_t length = sizeof listens;
    if (text && options->rank == 0 && parse_whole(text, &fd) && fd > 2 && fd <= INT_MAX &&
        getsockopt((int)fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens) {
        fcntl((int)fd, F_SETFD, FD_CLOEXEC);
        options->tcp_listen_fd = (int)fd;
    }
}

static cobre_status tcp_from_environment(cb_options *options) {
    static const char *const needed[] = {"COBRE_TCP_RANK", "COBRE_TCP_SIZE", NULL};
    char list[128];
    list_missing(needed, list, sizeof list);
    const char *rank = cb_variable("COBRE_TCP_RANK");
    options->tcp_coordinator = cb_variable("COBRE_TCP_COORDINATOR");
    if (!options->tcp_coordinator && !(rank && strcmp(rank, "0") == 0))
        snprintf(list + strlen(list), sizeof list - strlen(list), "%sCOBRE_TCP_COORDINATOR", list[0] ? ", " : "");
    if (list[0])
        return missing(COBRE_TCP, list,
                       "let the launcher set them: cobre run --backend tcp -n 2 ./program; or by hand: "
                       "COBRE_COMM_BACKEND=tcp COBRE_TCP_COORDINATOR=host COBRE_TCP_RANK=1 COBRE_TCP_SIZE=2 ./program");
    options->tcp_bind = cb_variable("COBRE_TCP_BIND");
    cobre_status status = read_count(COBRE_TCP, "COBRE_TCP_SIZE", &options->size);
    if (!status)
        status = read_count(COBRE_TCP, "COBRE_TCP_RANK", &options->rank);
    if (!status)
        status = check_ranks(options, "COBRE_TCP_RANK", "COBRE_TCP_SIZE");
    if (!status)
        status = read_seconds(COBRE_TCP, "COBRE_TCP_TIMEOUT_SECS", &options->join_timeout_secs);
    if (!status)
        status = read_port(options);
    if (!status)
        status = read_switch(COBRE_TCP, "COBRE_TCP_OPEN", &options->tcp_open);
    if (!status)
        status = read_token(options);
    read_listener(options);
    return status;
}

static cobre_status tcp_from_config(const cobre_config *config, cb_options *options) {
    if (config->size == 0 || (config->rank > 0 && !config->tcp_coordinator))
        return missing(
            COBRE_TCP,
            config->size                                   ? "config.tcp_coordinator"
            : config->rank == 0 || config->tcp_coordinator ? "config.size"
                                                           : "config.size, config.tcp_coordinator",
            "set them in the config: {.backend = COBRE_TCP, .tcp_coordinator = \"host\", .rank = 1, .size = 2}");
    options->rank = config->rank;
    options->size = config->size;
    options->tcp_coordinator = config->tcp_coordinator;
    options->tcp_bind = config->tcp_bind;
    options->tcp_port = config->tcp_port ? config->tcp_port : 29500;
    options->tcp_open = config->tcp_open;
    cobre_status status = check_ranks(options, "config.rank", "config.size");
    return status || !config->tcp_token ? status : copy_token(config->tcp_token, "config.tcp_token", options);
}

static cobre_status check_built_in(cobre_backend backend) {
    static const char *const options[BACKENDS] = {
        [COBRE_SHM] = "COBRE_SHM", [COBRE_TCP] = "COBRE_TCP", [COBRE_MPI] = "COBRE_MPI"};
    char advice[256];
    if (cb_built_in(backend))
        return COBRE_OK;
    size_t length = (size_t)snprintf(advice, sizeof advice, "choose one of: auto, %s", cb_built_in_list());
    if (options[backend])
        snprintf(advice + length, sizeof advice - length, "; or build cobre with -D%s=ON", options[backend]);
    return cb_error(NULL, backend, COBRE_BACKEND_NOT_AVAILABLE,
                    &(struct cb_details){.operation = "open",
                                         .subject = cobre_backend_name(backend),
                                         .list = cb_built_in_list(),
                                         .suggestion = advice},
                    "the %s backend was asked for, but this build has only: %s", cobre_backend_name(backend),
                    cb_built_in_list());
}

static cobre_status backend_by_name(const char *name, cobre_backend *backend) {
    for (int known = 0; known < BACKENDS; known++)
        if (strcmp(name, backend_names[known]) == 0) {
            *backend = (cobre_backend)known;
            return COBRE_OK;
        }
    return cb_error(
        NULL, COBRE_AUTO, COBRE_INVALID_BACKEND,
        &(struct cb_details){.operation = "open",
                             .subject = name,
                             .list = "auto, mpi, tcp, shm, local",
                             .suggestion = "set COBRE_COMM_BACKEND to auto, mpi, tcp, shm or local, or unset it"},
        "COBRE_COMM_BACKEND is \"%.64s\", which is not a backend; there are auto, mpi, tcp, shm and local", name);
}

static bool config_has_signs(const cobre_config *config, cobre_backend backend) {
    switch ((int)backend) {
    case COBRE_MPI: return first_sign(COBRE_MPI);
    case COBRE_TCP: return config->tcp_coordinator;
    case COBRE_SHM: return config->shm_name;
    default: return true;
    }
}

static cobre_backend choose(const cobre_config *config) {
    for (size_t i = 0; i < sizeof auto_order / sizeof *auto_order; i++) {
        cobre_backend backend = auto_order[i];
        bool signs_there = config ? config_has_signs(config, backend) : !signs[backend] || first_sign(backend);
        if (cb_built_in(backend) && signs_there)
            return backend;
    }
    return COBRE_LOCAL;
}

/* The first variable that speaks of more than one rank, NULL if none does. Our own launcher's word is final. */
static const char *sign_of_many(bool mpi_only, uint64_t *ranks) {
    if (!mpi_only && cb_variable(CB_ENV_RUN_SIZE))
        return parse_whole(cb_variable(CB_ENV_RUN_SIZE), ranks) && *ranks > 1 ? CB_ENV_RUN_SIZE : NULL;
    for (size_t i = 0; i < sizeof size_signs / sizeof *size_signs; i++) {
        const char *text = cb_variable(size_signs[i].name);
        if (!text || (mpi_only && !size_signs[i].is_mpi) || !parse_whole(text, ranks))
            continue;
        *ranks += size_signs[i].is_rank;
        if (*ranks > 1)
            return size_signs[i].name;
    }
    return NULL;
}

static cobre_status refuse_lonely_rank(const cb_options *options, bool mpi_only) {
    uint64_t ranks;
    const char *sign = sign_of_many(mpi_only, &ranks);
    if (!sign)
        return COBRE_OK;
    return REFUSE(
        options->backend, sign,
        "start the ranks with `cobre run -n N program`; for one rank on purpose set COBRE_COMM_BACKEND=local, "
        "or unset the variable",
        "%s=%s speaks of at least %" PRIu64 " ranks, but the %s backend would run this process alone "
        "(this build has: %s)",
        sign, cb_variable(sign), ranks, cobre_backend_name(options->backend), cb_built_in_list());
}

static cobre_status from_environment(cb_options *options) {
    cobre_backend asked = COBRE_AUTO;
    const char *name = cb_variable("COBRE_COMM_BACKEND");
    cobre_status status = name ? backend_by_name(name, &asked) : COBRE_OK;
    if (status)
        return status;
    options->backend = asked == COBRE_AUTO ? choose(NULL) : asked;
    status = check_built_in(options->backend);
    if (!status && options->backend == COBRE_SHM)
        status = shm_from_environment(options);
    if (!status && options->backend == COBRE_TCP)
        status = tcp_from_environment(options);
    if (!status)
        status = read_seconds(options->backend, "COBRE_STALL_SECS", &options->stall_secs);
    if (options->backend == COBRE_MPI) { /* its library knows how many ranks there are, and is then held to it */
        options->mpi_plugin = cb_variable("COBRE_MPI_PLUGIN");
        return status ? status : read_switch(COBRE_MPI, "COBRE_CHECK", &options->check);
    }
    if (!status && options->size == 1 && asked != COBRE_LOCAL)
        status = refuse_lonely_rank(options, false);
    return status;
}

static bool bad_seconds(double value) {
    return !isfinite(value) || value < 0;
}

static cobre_status from_config(const cobre_config *config, cb_options *options) {
    if ((unsigned)config->backend >= BACKENDS)
        return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_BACKEND,
                        &(struct cb_details){.operation = "open",
                                             .list = "auto, mpi, tcp, shm, local",
                                             .suggestion = "set config.backend to one of the cobre_backend constants"},
                        "config.backend is %d, which is not a backend", (int)config->backend);
    if (bad_seconds(config->join_timeout_secs) || bad_seconds(config->stall_secs))
        return REFUSE(config->backend, "config", "give seconds as a finite number; 0 means the default",
                      "config.join_timeout_secs or config.stall_secs is negative or not a number");
    options->backend = config->backend == COBRE_AUTO ? choose(config) : config->backend;
    options->interrupted = config->interrupted;
    options->interrupted_arg = config->interrupted_arg;
    options->stall_secs = config->stall_secs;
    options->mpi_plugin = config->mpi_plugin;
    options->check = config->check;
    if (config->join_timeout_secs > 0)
        options->join_timeout_secs = config->join_timeout_secs;
    cobre_status status = check_built_in(options->backend);
    if (!status && options->backend == COBRE_SHM)
        status = shm_from_config(config, options);
    if (!status && options->backend == COBRE_TCP)
        status = tcp_from_config(config, options);
    if (status || options->backend == COBRE_MPI)
        return status;
    if (options->size == 1 && config->backend == COBRE_AUTO && config->size > 1)
        status =
            REFUSE(options->backend, "config.size", "set config.shm_name, or config.tcp_coordinator, or config.backend",
                   "config.size is %zu, but nothing in the config says how the ranks find each other", config->size);
    if (!status && options->size == 1 && config->backend == COBRE_AUTO)
        status = refuse_lonely_rank(options, true);
    return status;
}

cobre_status cb_select(const cobre_config *config, cb_options *options) {
    *options = (cb_options){.size = 1, .tcp_listen_fd = -1, .join_timeout_secs = 60};
    if (!config)
        return from_environment(options);
    /* A program built against an older header passes a shorter struct; 0 stands for the first version's. */
    size_t first_version = offsetof(cobre_config, interrupted_arg) + sizeof config->interrupted_arg;
    size_t size = config->struct_size ? config->struct_size : first_version;
    if (size < first_version)
        return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_ARGUMENT,
                        &(struct cb_details){.operation = "open",
                                             .subject = "config.struct_size",
                                             .suggestion = "set it to sizeof(cobre_config)"},
                        "config.struct_size is %zu, smaller than any version of cobre_config", size);
    cobre_config copy = {0};
    memcpy(&copy, config, size < sizeof copy ? size : sizeof copy);
    return from_config(&copy, options);
}

void cb_explain(cobre_backend backend, char *text, size_t len) {
    const char *sign = first_sign(backend);
#ifdef COBRE_HAVE_MPI
    if (backend == COBRE_MPI) {
        cb_mpi_explain(text, len);
        return;
    }
#endif
    if (!cb_built_in(backend))
        snprintf(text, len, "not in this build%s%s%s", sign ? ", though " : "", sign ? sign : "",
                 sign ? " is set" : "");
    else if (!signs[backend])
        snprintf(text, len, "always there");
    else if (sign)
        snprintf(text, len, "%s is set", sign);
    else
        snprintf(text, len, "%s is not set (`cobre run` sets what it needs)", signs[backend][0]);
}
