/* SPDX-License-Identifier: Apache-2.0 */
/* What: steps of cases that speak of objects rather than of requests.
 * Owns: what it remembers of the objects of a case, in the arena of the case.
 * Threads: one.
 * Errors: as in case.h.
 *
 *     --- create                              objects as YAML, in namespace default unless they say otherwise; each must be
 *     kind: ConfigMap                         accepted. "<uid NAME>" is the uid of the latest object made by this name
 *     …
 *     --- delete ConfigMap owner [Foreground] deletes it, in this way if that is said; must be accepted
 *     --- patch ConfigMap owner               merges this into it
 *     metadata: {finalizers: null}
 *     --- left                                when all is settled, and was so for some seconds: what is left of the objects that the
 *     ConfigMap owner deleting holds=a,b      case has made, one a line, in the order in which they were made
 *     Secret child owners=owner,other!        owners by name, with ! if it blocks them
 *     --- events ConfigMap child              what was told about it, one a line
 *     Warning Reason text
 *
 * Objects of other namespaces are written namespace/name. */
#pragma once

#include "cases/case.h"
#include "cases/match.h"
#include "kinds/registry.h"

struct objects_request {
    str method, target, content_type, body;
};

/* The server and the controllers, as these steps need them. */
struct objects_door {
    struct case_file *c;
    struct match *match;
    const struct registry *registry;
    /* Answers the HTTP status; *ret is the body, null if it is no JSON. */
    int (*ask)(void *ctx, const struct objects_request *request, struct json *ret);
    void (*settle)(void *ctx);
    void (*pass_time)(void *ctx, int64_t ns);
    void *ctx;
};

struct object_made {
    str kind, path, namespace, name, uid;
};

/* Zero-initialised is empty. */
struct objects {
    VEC(struct object_made) made;
};

/* False: the section is none of these. */
bool objects_step(struct objects *o, const struct objects_door *door, const struct case_section *s);
