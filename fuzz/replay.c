/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays stored inputs through a fuzz target without libFuzzer, so that every build and compiler checks them.
 * Usage: replay_x DIR...   One TAP line per file, in sorted order. An empty folder is a failure: nothing was checked.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read a whole file into a block of exactly its size, so that a read past its end is caught; NULL on error. */
static uint8_t *file_read(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *data = NULL;
    long size;
    if (!fseek(file, 0, SEEK_END) && (size = ftell(file)) >= 0 && !fseek(file, 0, SEEK_SET)) {
        data = malloc(size ? (size_t)size : 1);
        if (data && fread(data, 1, (size_t)size, file) == (size_t)size) {
            *ret_size = (size_t)size;
        } else {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

static void file_replay(const char *dir, const char *name, int number)
{
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        abort();
    size_t size = 0;
    uint8_t *data = file_read(path, &size);
    printf("# %s\n", path); /* the last line to be seen if the target dies */
    fflush(stdout);
    if (data)
        LLVMFuzzerTestOneInput(data, size);
    printf("%s %d - %s\n", data ? "ok" : "not ok", number, name);
    free(data);
    free(path);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent **entries;
        int n = scandir(argv[i], &entries, is_visible, alphasort);
        if (n <= 0) {
            printf("not ok %d - cannot read %s or it is empty\n", ++count, argv[i]);
            if (n == 0)
                free(entries);
            continue;
        }
        for (int j = 0; j < n; j++) {
            file_replay(argv[i], entries[j]->d_name, ++count);
            free(entries[j]);
        }
        free(entries);
    }
    printf("1..%d\n", count);
    return 0;
}
