/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the managed cluster has of what was delivered: one informer per kind, of objects that carry FLEET_LABEL_DELIVERED; its
 *       namespaces, from when the first work selects some or waits for one; and what paths call a kind.
 * Owns: the informers are the control's; the tables are its own.
 * Threads: targets_new, targets_free and what informers tell are the loop's; the rest any thread's.
 * Errors: what is not known (yet) is said so; then the server has to be asked.
 *
 *   four kinds of RBAC: always     other kinds: from the first work that has one; dropped a minute after the last */
#pragma once

#include "client/client.h"
#include "control/control.h"

struct works;
struct targets;

struct targets *targets_new(struct works *w);
/* Takes NULL. */
void targets_free(struct targets *t);
/* The four that are always there, for who waits for them; room for TARGETS_ALWAYS. */
enum { TARGETS_ALWAYS = 4 };
void targets_always(struct targets *t, struct informer **ret);

/* ---- Kinds. ---- */

/* What paths call a kind: known for good of built-in ones, else the server is asked, once. ret->kind.n is 0: it does not have it. */
int targets_resource(struct targets *t, struct arena *a, str api_version, str kind, struct client_resource *ret,
                     struct err *err);
/* A server that did not know the path: the next who asks for the kind asks the server. */
void targets_doubt(struct targets *t, const struct client_resource *resource);

/* ---- Objects. ---- */

enum target_answer { TARGET_UNKNOWN, TARGET_THERE, TARGET_ABSENT };

/* What was delivered under this name, in the arena. The kind is watched from now on. */
enum target_answer targets_read(struct targets *t, struct arena *a, const struct client_resource *resource,
                                str namespace, str name, struct json *ret);

struct target_found {
    struct client_resource resource; /* in the arena */
    str namespace, name, uid;
};

/* All that names an owner of this uid, of all kinds that are watched. */
size_t targets_owned(struct targets *t, struct arena *a, str uid, struct target_found **ret);

/* ---- Namespaces. ---- */

/* Those that are not going, sorted: name and labels of each. False: they are not known yet; ret_opened is the monotonic time since
 * when they are asked for. Who is remembered to select or to wait (works_cache.h) is visited when they change. */
bool targets_namespaces(struct targets *t, struct arena *a, struct json **ret, size_t *ret_n, int64_t *ret_opened);
/* Name and labels of one; false: it is not there, is going, or they are not known yet. */
bool targets_namespace(struct targets *t, struct arena *a, str name, struct json *ret);
/* Begins to watch them, if nobody has. */
void targets_want_namespaces(struct targets *t);
