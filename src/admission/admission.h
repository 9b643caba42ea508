/* SPDX-License-Identifier: Apache-2.0 */
/* What: the ordered steps that change or refuse a write after it was authorised and before it is validated.
 * Owns: nothing.
 * Threads: the loop thread; steps look at the world only through the facts passed in.
 * Errors: a code, and the Status that the client gets.
 *
 *   mutate    namespace is there and stays ─► requester recorded ─► ServiceAccounts ─► priorities
 *             ─► rules of aggregated roles ─► sender of requests for certificates
 *   validate  owners may be blocked ─► signers may be approved and signed for ─► one default priority
 *             ─► permissions and installs are approved by who may
 *             ─► works are written by who may act as their executor
 *
 * The first step stands there because Kubernetes asks for the namespace before it looks at the object. */
#pragma once

#include "authz/aggregate.h"
#include "authz/authz.h"
#include "object/kind.h"
#include "json/json.h"

enum admission_operation { ADMISSION_CREATE, ADMISSION_UPDATE, ADMISSION_DELETE };

/* How a step asks about other objects. Answers are of this moment. */
struct admission_facts {
    const struct authz_index *authz;
    struct aggregate_index *aggregates; /* NULL: somebody else keeps aggregated roles */
    /* The object, decoded into the arena, or NULL; *ret_revision is what the decision then depends on. */
    const struct json *(*get)(void *ctx, struct arena *a, str group, str resource, str namespace, str name,
                              uint64_t *ret_revision);
    /* Shows every object of a resource that is in no namespace, decoded for as long as the visit lasts, until one returns
     * false. */
    void (*each)(void *ctx, str group, str resource, bool (*visit)(void *to, const struct json *object), void *to);
    /* The kind that apiVersion and kind of an owner reference name, or NULL. */
    const struct kind *(*kind_of)(void *ctx, str api_version, str kind);
    void *ctx;
};

struct admission_write {
    struct arena *arena;
    enum admission_operation operation;
    const struct kind *kind;
    str namespace, name, subresource;
    const struct authz_identity *who;
    struct json *object;        /* changed in place; NULL for a deletion */
    const struct json *current; /* NULL for a create */
    bool is_dry_run;
};

/* Something that the write relied on and that must not have changed when it is stored. */
struct admission_guard {
    str group, resource, namespace, name;
    uint64_t revision;
};

struct admission_outcome {
    struct json status; /* when refused */
    VEC(struct admission_guard) guards;
    VEC(str) warnings;
};

/* Both return 0 or a negative code with ret->status set. Mutation runs once for every attempt to write. */
int admission_mutate(const struct admission_facts *facts, struct admission_write *write, struct admission_outcome *ret);
int admission_validate(const struct admission_facts *facts, const struct admission_write *write,
                       struct admission_outcome *ret);
