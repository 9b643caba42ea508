/* SPDX-License-Identifier: Apache-2.0 */
/* What: kubeconfig files: read, merged, and resolved to the one server and user of a context. No effects.
 * Owns: nothing; all memory belongs to the arena given at the beginning.
 * Threads: one at a time.
 * Errors: as in client/config.h. Whatever is wrong is told with the file it stands in and the path within; values are not shown,
 *         because any of them may be a secret that was put into the wrong place.
 *
 *   struct kubeconfig k = {.arena = a};
 *   kubeconfig_add(&k, &file, err)             once per file, the most important one first
 *   kubeconfig_resolve(&k, context, ret, err)
 *
 * Merging follows client-go: of clusters, users and contexts with the same name the first one read counts as a whole; the
 * current context is that of the first file that has one; relative paths of files, and of commands with a slash in them, start
 * at the folder of the file they stand in. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "client/config.h"

enum {
    KUBECONFIG_MAX_BYTES = 3 * 1024 * 1024, /* of one file */
    KUBECONFIG_MAX_FILES = 256,
};

struct kubeconfig {
    struct arena *arena;
    struct map clusters, users, contexts; /* name → private struct, in the arena */
    VEC(str) files;                       /* those read, in order */
    str current_context;
};

struct kubeconfig_file {
    str path;   /* for messages */
    str folder; /* absolute: where relative paths start */
    str text;
};

void kubeconfig_done(struct kubeconfig *k);
/* Fields nobody knows are skipped; an empty text is an empty configuration. */
int kubeconfig_add(struct kubeconfig *k, const struct kubeconfig_file *file, struct err *err);
/* False: neither the files nor the caller choose a context, so that other sources may be asked. */
bool kubeconfig_has_context(const struct kubeconfig *k, str context);
/* context empty: the current one. ret->namespace is empty where the context has none. */
int kubeconfig_resolve(struct kubeconfig *k, str context, struct client_config *ret, struct err *err);

/* Joins and tidies lexically, as Go's filepath.Join: "/a/b" and "../c/./d" make "/a/c/d". folder is absolute. */
str kubeconfig_join(struct arena *a, str folder, str path);

#define KUBECONFIG_SCOPE __attribute__((cleanup(kubeconfig_done)))
