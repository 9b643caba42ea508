/* SPDX-License-Identifier: Apache-2.0 */
/* What: which works deliver a role, and which bind it; and whether a binding may stand. A binding whose role a work delivers grants
 *       what that work says, or nothing: a role of that name that somebody else made is not bound.
 * Owns: the index, with copies of the names.
 * Threads: the loop notes; any thread asks.
 * Errors: what nobody knows is said so.
 *
 *   who delivers the role ─┬─ no work ─► free: an existing role is meant
 *                          └─ some ─► what stands there ─┬─ that work's, or means the same ─► ours
 *                                                        ├─ nothing ─► missing: a binding that stands may wait, a new one has to
 *                                                        ├─ another work's, with other content ─► differs: likewise
 *                                                        └─ anything else ─► foreign: no binding of ours stands */
#pragma once

#include "controllers/works/works_internal.h"

struct roles *roles_new(void);
/* Takes NULL. */
void roles_free(struct roles *r);
typedef void roles_waker(void *ctx, str work);
/* A work came, changed or went: one of them may be null. Calls wake for each that binds a role which either delivers; wake asks
 * nothing here. */
void roles_note(struct roles *r, const struct json *was, const struct json *now, roles_waker *wake, void *ctx);
/* Calls wake for each work that binds a role of this name, in whatever namespace. */
void roles_each_binder(struct roles *r, str plural, str name, roles_waker *wake, void *ctx);

struct role_deliverer {
    str work, controller; /* its name; the uid of its controller, or empty */
};

/* Works that may deliver it: whether a template selects the namespace, and with what strategy, is not looked at. */
size_t roles_deliverers(struct roles *r, struct arena *a, str plural, str namespace, str name,
                        const struct role_deliverer **ret);
/* The uid of the controller of this work; empty: none, or it mentions no role. */
str roles_controller(struct roles *r, struct arena *a, str work);

/* ---- works_state.c ---- */

enum role_stand { ROLE_FREE, ROLE_OURS, ROLE_UNKNOWN, ROLE_MISSING, ROLE_DIFFERS, ROLE_FOREIGN };

/* Of the role that this item, a binding, refers to; of items of other kinds it is free. may_ask: the server, else what only that
 * knows is unknown. ret_role: what to call it. */
int roles_stand(struct visit *v, const struct work_item *item, bool may_ask, enum role_stand *ret, str *ret_role,
                struct err *err);
