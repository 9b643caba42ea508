/* SPDX-License-Identifier: Apache-2.0 */
/* What: the join kubeconfig, in a file or in a Secret of the managed cluster: read, and written back with a newer token.
 * Owns: nothing; texts live in the arena given.
 * Threads: any but the loop's for a Secret; blocks on files and on the managed cluster.
 * Errors: as client/config.h, and those of the managed cluster. What is wrong is told with the place it is read from; nothing secret
 *         is part of a text. */
#pragma once

#include "client/client.h"
#include "client/config.h"

struct hub_source {
    str file;            /* or, where this is empty, */
    str namespace, name; /* a Secret of */
    struct client *managed;
};

struct hub_credential {
    struct client_config config;
    /* Of its token, if that says so: when it was issued and when it expires, in seconds; 0: not told. */
    int64_t issued, expires;
    str account_namespace, account; /* …and the ServiceAccount that it is; empty: not told */
};

/* The key of the Secret. */
#define HUB_CREDENTIAL_KEY "kubeconfig"

/* "the file x", "the Secret x/y": for messages. */
str hub_source_name(struct arena *a, const struct hub_source *source);
int hub_credential_read(struct arena *a, const struct hub_source *source, struct hub_credential *ret, struct err *err);
/* A credential of another cluster's agent could read nothing: ERR_INVALID, better said than found out. */
int hub_credential_check(const struct hub_credential *c, str cluster, struct err *err);
/* Puts the new token in the place of the old one. When the old one is not there any more, somebody else has put another there: it
 * stays, and that is ERR_CONFLICT. */
int hub_credential_write(const struct hub_source *source, str old, str token, struct err *err);

/* What a ServiceAccount's token says of itself, believed without proof: the hub will not. False: it is none. */
bool hub_token_read(struct arena *a, str token, struct hub_credential *ret);
/* A kubeconfig with the new token for the user of its current context, as YAML. */
int hub_credential_replace(struct arena *a, str text, str old, str token, str *ret, struct err *err);
