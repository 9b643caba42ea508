/* SPDX-License-Identifier: Apache-2.0 */
/* What: nobody gives what they do not have: the check that every write of a role or binding passes.
 * Owns: nothing; the answer lives in the arena given.
 * Threads: reads the index, changes nothing.
 * Errors: a code with the Status that the client gets; see escalation_check. Fails closed: nobody may grant nothing.
 *
 * The check stands between mutating admission and validation, so that an object that is both invalid and too strong is
 * forbidden. Deletions are not checked. In Kubernetes' order, the first step that says so ends it:
 *
 *   roles     1 group system:masters: pass            bindings  1 group system:masters: pass
 *             2 may escalate this role: pass                    2 only fields of garbage collection changed: pass
 *             3 only fields of garbage collection               3 may bind the role referred to: pass
 *               changed: pass                                   4 the role is missing: 404
 *             4 rules not all held: 403                         5 its rules or those pending not all held: 403
 *             5 has or had aggregation selectors and
 *               not everything held: 403
 *
 * "Held" means covered (rule.h) by the rules that bindings give the writer, in the namespace of the object or, for objects
 * of the cluster, everywhere. */
#pragma once

#include "authz/authz.h"
#include "object/kind.h"

/* A create or an update; all of it is borrowed. */
struct escalation_write {
    const struct kind *kind; /* one of the four; others grant nothing and pass */
    str namespace;           /* of the path; empty for kinds of the cluster */
    str name;                /* of the path; empty for a POST, which names its object in the body */
    const struct json *object;
    const struct json *current; /* the stored object; NULL: there is none */
    struct rules pending;       /* of a binding: what its role is about to grant and must be held, too */
};

/* 0: the write is no escalation. Otherwise *ret_status is set:
 * ERR_FORBIDDEN   rights are missing; the text lists them
 * ERR_NOT_FOUND   the role that is to be bound does not exist
 * ERR_BAD_REQUEST the object cannot be read, or a namespace is missing or given to a kind of the cluster
 * ERR_INTERNAL    a roleRef of an unknown kind */
int escalation_check(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                     const struct escalation_write *write, struct json *ret_status);
/* Nothing differs but what garbage collection writes: owners, finalizers, and the notes about who changed what. An empty
 * list, map or text is the same as none. */
bool escalation_is_only_gc(const struct json *object, const struct json *current);
