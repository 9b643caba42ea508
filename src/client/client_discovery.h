/* SPDX-License-Identifier: Apache-2.0 */
/* What: which resources a server has (discovery).
 * Owns: nothing; results live in the arena given.
 * Threads: client_discover on any thread but the loop's; the rest is pure.
 * Errors: those of client.h; ERR_UNAVAILABLE when the server says that it has nothing at all. Groups that it cannot tell about are
 *         listed, not an error.
 *
 * Asks for the aggregated documents (/api and /apis, v2) and falls back to one request per group version. */
#pragma once

#include "client/client.h"

struct client_discovered {
    struct client_resource resource; /* in the version the server prefers of those that have it */
    unsigned verbs;                  /* VERB_LIST and so on (object/kind.h); others are left out */
    const str *versions;             /* all that have it */
    size_t n_versions;
    const str *subresources; /* "status" */
    size_t n_subresources;
    str singular;           /* "deployment" */
    const str *short_names; /* "deploy" */
    size_t n_short_names;
    size_t rank; /* the server tells of it after so many others: what people call both means the first */
};

struct client_discovery {
    const struct client_discovered *p; /* one per group and plural, sorted by them */
    size_t n;
    const struct client_discovered *const *by_kind; /* the same, sorted by group and kind */
    const str *failed;                              /* "metrics.k8s.io/v1beta1": the server could not tell; sorted */
    size_t n_failed;
    str text; /* of what went wrong, as Kubernetes says it; empty: nothing */
};

enum { CLIENT_DISCOVERY_VERSIONS = 10000 }; /* that are asked for one by one; more is ERR_TOO_LARGE */

int client_discover(struct client *c, struct arena *a, struct client_discovery *ret, struct err *err);
/* The resources of one group version, for who needs no more: one request. ERR_NOT_FOUND: it is not served. */
int client_discover_version(struct client *c, struct arena *a, str group, str version, struct client_discovery *ret,
                            struct err *err);
/* By what an object or owner reference says: group "apps", kind "Deployment" (the version is not looked at). NULL: none. */
const struct client_discovered *client_discovery_find(const struct client_discovery *d, str group, str kind);
bool client_discovered_has_version(const struct client_discovered *d, str version);
/* By what people call it, as kubectl understands them: "deployments", "deployment", "deploy", "deployments.apps", "deploy.v1.apps";
 * of a group its beginning does, and capitals do not count. Of several the one the server tells of first. NULL: none. */
const struct client_discovered *client_discovery_named(const struct client_discovery *d, str text);
