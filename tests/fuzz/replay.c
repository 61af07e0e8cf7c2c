/* replay.c: a fuzz target without a fuzzer: runs it once on every file of the directories in argv. */
#include "fuzz.h"

#include <dirent.h>

static void run_file(const char *path) {
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    HOLDS(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    HOLDS(!ferror(file) && size < sizeof bytes);
    fclose(file);
    unsigned char *copy = exact_copy(bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static size_t run_directory(const char *path) {
    size_t count = 0;
    DIR *directory = opendir(path);
    HOLDS(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char name[1024];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        run_file(name);
        count++;
    }
    closedir(directory);
    return count;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t count = run_directory(argv[i]);
        printf("%s: %zu files\n", argv[i], count);
        HOLDS(count > 0); /* a check that checks nothing must not pass */
    }
    return argc > 1 ? 0 : 2;
}
