/* SPDX-License-Identifier: Apache-2.0 */
/* What: whether the executor that a ManifestWork names may do what its manifest asks for.
 * Owns: nothing; texts live in the arena given.
 * Threads: executor_read is pure; executor_check belongs inside a visit.
 * Errors: of the questions. Without an answer nothing is applied. */
#pragma once

#include "client/client.h"

struct executor {
    str namespace, name; /* of the ServiceAccount on the managed cluster */
};

/* spec.executor of a work. False: it names none, and the agent's own rights count. ret_denied: not empty where it names what cannot
 * be one; nothing of the work is applied then. */
bool executor_read(const struct json *work, struct executor *ret, str *ret_denied);

struct executor_question {
    struct executor executor;
    const struct client_resource *resource;
    str object_namespace, object_name;
    const struct json *object;
    bool may_delete; /* it is going to be owned: the right to delete it is asked for, too */
};

/* SubjectAccessReviews for create, update, patch, get and delete; and for roles and bindings a dry-run create on behalf of the
 * executor, which the server refuses when it would escalate. ret_denied: empty when it may; else the text of the condition. */
int executor_check(struct client *managed, struct arena *a, const struct executor_question *question, str *ret_denied,
                   struct err *err);
