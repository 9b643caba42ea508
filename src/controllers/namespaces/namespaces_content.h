/* SPDX-License-Identifier: Apache-2.0 */
/* What: deletes the content of one namespace, resource by resource.
 * Owns: nothing.
 * Threads: inside a reconcile.
 * Errors: none stops it: what cannot be deleted is noted in the pass, and the next resource comes.
 *
 *   DELETE the collection, a page at a time ─► nothing was there: one request, done
 *      │ the server has no such verb             something was: list what is left of it (metadata)
 *      └─► list, DELETE one by one
 *
 * Kubernetes lists after every deletion; that a collection was empty is in the answer to its deletion, too. */
#pragma once

#include "controllers/namespaces/namespaces_pass.h"

struct content {
    struct client *client;
    struct clock clock;
    str namespace;
    int64_t deleted_at; /* seconds since 1970 */
    struct pass *pass;
};

/* Goes once to each of the targets. */
void content_delete(const struct content *c, struct pass_targets targets);
