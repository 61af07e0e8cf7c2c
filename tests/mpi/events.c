/* events.c: what a rank tells the test that started it, and what it is told. */
#include "rank.h"

#include <time.h>
#include <unistd.h>

cobre_comm *comm;

void wrong(const char *file, int line, const char *text) {
    char all[2048];
    snprintf(all, sizeof all, "%s:%d: not true: %s; last error: %s", file, line, text, cobre_last_error()->message);
    fprintf(stderr, "WRONG %s\n", all);
    cobre_abort(comm, 99, all);
}

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void pause_for(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static const char *directory(void) {
    const char *given = getenv("COBRE_TEST_DIR");
    return given ? given : ".";
}

/* Under its name only when complete. */
void happened_on(size_t rank, const char *event, const char *text) {
    char path[4096], early[sizeof path + 8];
    snprintf(path, sizeof path, "%s/%s.%zu", directory(), event, rank);
    snprintf(early, sizeof early, "%s.early", path);
    FILE *file = fopen(early, "w");
    MUST(file);
    fprintf(file, "%ld %.3f %s\n", (long)getpid(), now(), text);
    MUST(fclose(file) == 0 && rename(early, path) == 0);
}

void happened(const char *event, const char *text) {
    happened_on(cobre_rank(comm), event, text);
}

void happened_with_error(const char *event, cobre_status status, double seconds) {
    char text[2048];
    const cobre_error *error = cobre_last_error();
    if (status)
        snprintf(text, sizeof text, "%.3f %s, %s, culprit %zd: %s", seconds, cobre_status_name(status),
                 cobre_cause_name(error->cause), (ssize_t)error->culprit, error->message);
    else
        snprintf(text, sizeof text, "%.3f Ok", seconds);
    happened(event, text);
}

bool ordered(const char *name, bool own, char *line, size_t len) {
    char path[4096];
    if (own)
        snprintf(path, sizeof path, "%s/%s.%zu", directory(), name, cobre_rank(comm));
    else
        snprintf(path, sizeof path, "%s/%s", directory(), name);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    if (line && !fgets(line, (int)len, file))
        line[0] = '\0';
    if (line)
        line[strcspn(line, "\n")] = '\0';
    fclose(file);
    return true;
}

void await(const char *name, char *line, size_t len) {
    double end = now() + 100;
    while (!ordered(name, false, line, len)) {
        MUST(now() < end);
        pause_for(0.005);
    }
}
