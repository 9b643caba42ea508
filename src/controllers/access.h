/* SPDX-License-Identifier: Apache-2.0 */
/* What: whether a subject holds access, asked one demand at a time by SubjectAccessReviews.
 * Owns: nothing; lists and texts live in the arena given.
 * Threads: those of the caller.
 * Errors: those of the server, wrapped with what was tried.
 *
 * Demands are cluster-wide. A demand for "*" is held only by who is granted "*". */
#pragma once

#include "authz/rule.h"
#include "base/map.h"
#include "client/client.h"

/* A user as the server recorded it. */
struct access_subject {
    str name, uid;
    struct json groups;
};

/* One thing that must be allowed; empty texts are left out. Of a URL: verb and path. */
struct access_demand {
    str verb, group, resource, subresource, name, path;
};

enum { ACCESS_DEMANDS = 512 }; /* of one list; a longer one is too much to ask */

/* Distinct demands, in the order they come. Zero-initialise with an arena; access_demands_done when ready, the list stays. */
struct access_demands {
    struct arena *a;
    struct map known; /* text → anything */
    VEC(struct access_demand) list;
    bool is_too_much;
};

void access_need(struct access_demands *d, struct access_demand one);
/* Every verb on every resource of every group of a rule (JSON), one by one. */
void access_need_rule(struct access_demands *d, const struct json *rule);
/* [{"verb", "group", "resource", "subresource", "name", "path"}], empty texts left out; and what such a list demands. */
struct json access_to_json(struct arena *a, const struct access_demands *d);
void access_need_json(struct access_demands *d, const struct json *list);
void access_demands_done(struct access_demands *d);

/* {"user":"jane","uid":"…","groups":["dev"]}, as the server of "reeve up" writes it; false: it is not that. */
bool access_subject_read(struct arena *a, str note, struct access_subject *ret);
/* The first of them that is not allowed; NULL: all are. */
int access_find_missing(struct client *c, struct arena *a, const struct access_subject *who,
                        const struct access_demand *list, size_t n, const struct access_demand **ret, struct err *err);
/* "list pods/log.example.org x"; of a URL: "get /healthz". */
str access_describe(struct arena *a, const struct access_demand *d);
