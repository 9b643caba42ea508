/* SPDX-License-Identifier: Apache-2.0 */
/* What: objects from files: YAML or JSON, several documents to a file, whole directories, or standard input.
 * Owns: nothing; everything lives in the arena given.
 * Threads: one.
 * Errors: ERR_IO for files that cannot be read, ERR_BAD_REQUEST with line and column for those that make no sense. */
#pragma once

#include "base/vec.h"
#include "json/json.h"

enum {
    READ_MAX_FILE = 64 * 1024 * 1024, /* bytes */
    READ_MAX_DEPTH = 32,              /* directories inside directories */
};

struct read_object {
    str file;
    size_t document; /* counted from 1 */
    struct json object;
};

typedef VEC(struct read_object) read_objects;

/* Adds all objects of a file, of all *.yaml, *.yml and *.json files below a directory in name order, or of standard input
 * ("-"). The items of a List are added one by one. */
int read_path(struct arena *a, const char *path, read_objects *objects, struct err *err);
