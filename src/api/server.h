/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of this folder share: the parts of the one API server, each with a header of its own.
 * Owns: see api.h; the parts are made in api.c and live as long as it.
 * Threads: the loop thread.
 * Errors: none. */
#pragma once

#include "admission/admission.h"
#include "api/api.h"
#include "api/request.h"
#include "authn/authn.h"
#include "authz/aggregate.h"
#include "authz/authz.h"
#include "kinds/registry.h"
#include "store/store.h"

struct crds;
struct discovery;
struct label_index;
struct loopback;
struct loopback_transport;
struct metrics;
struct openapi;
struct schemas;
struct seed;
struct tasks;
struct watch_hub;
struct write;

struct api {
    struct api_options options;
    struct store *store;
    struct registry *registry;
    struct authz_index *authz;
    struct aggregate_index *aggregates;
    struct authn *authn;
    struct admission_facts facts;
    struct schemas *schemas;     /* schemas.h */
    struct label_index *labels;  /* label_index.h */
    struct watch_hub *watches;   /* watch.h */
    struct discovery *discovery; /* discovery.h */
    struct openapi *openapi;     /* openapi.h */
    struct metrics *metrics;     /* metrics.h */
    struct flows *flows;         /* flow.h */
    struct crds *crds;           /* crds.h */
    struct tasks *tasks;         /* task.h */
    struct seed *seed;           /* seed.h; NULL once the server is ready */
    struct config_tables {       /* api_config.h */
        uint32_t roles, role_bindings, cluster_roles, cluster_role_bindings, crds;
    } tables;
    struct write *crd_writes;   /* write_crd.c: writes of CRDs on their way to the store, or waiting for each other */
    struct loopback *loopbacks; /* loopback.c: calls that stream */
    struct loopback_transport *transports; /* loopback_client.c: of clients within the process */
    struct {
        struct log_limit credential;         /* "credential refused" */
        struct log_limit anonymous, request; /* "request": of peers without a credential, and of all others */
        struct log_limit storage;            /* "cannot store" */
    } log_limits;
    bool is_ready, is_draining, is_closing;
    size_t n_requests;      /* at work */
    size_t n_gzips;         /* gzip.c: answers that are being compressed */
    size_t gzip_text_bytes; /* see gzip.h */
};

/* The table of a kind's objects, whatever version the kind is: "apps/deployments", "/configmaps". */
uint32_t api_table(struct api *api, const struct kind *kind);
