/* SPDX-License-Identifier: Apache-2.0 */
/* What: a registry that speaks the distribution API, version 2: manifests and blobs, both ways. Runs inside reeve-fetch.
 * Owns: connections, tokens it was given, and credentials, which it wipes.
 * Threads: one.
 * Errors: ERR_NOT_FOUND, ERR_UNAUTHORIZED, ERR_FORBIDDEN as the registry answered; ERR_UNAVAILABLE for what may pass by itself;
 *         ERR_TOO_LARGE past a limit; ERR_BAD_REQUEST for answers that make no sense. Texts name host and status and hold what
 *         the registry said, in printable characters, never a credential.
 *
 * Where it goes: https only, plain http only to this machine. A redirect or a token service may be anywhere that is not more private
 * than the place that named it: this machine < private networks < the world; link-local addresses never. Each host is looked up once
 * and nothing else is connected to. Credentials go to the host they are for, and to the token service it names, over https or on
 * this machine. */
#pragma once

#include "oci/source.h"

struct oci_registry;

enum {
    OCI_MANIFEST_MAX = 4 * 1024 * 1024,
    OCI_REDIRECTS_MAX = 5,
    OCI_RETRIES_MAX = 3,
};

struct oci_registry_options {
    str host;           /* host[:port], mirrors and names of docker.io already applied */
    str repository;     /* "org/name" */
    str user, password; /* one or none of these… */
    str identity_token; /* …and this */
    str ca;             /* PEM; empty: none is trusted, so that https is refused */
    str proxy;          /* URL; empty: none */
    bool may_push;      /* ask for that right as well */
    int64_t timeout_ns; /* of everything together */
};

int oci_registry_open(const struct oci_registry_options *options, struct oci_registry **ret, struct err *err);
/* Takes NULL. */
void oci_registry_close(struct oci_registry *r);

struct oci_manifest_answer {
    str bytes; /* empty when only asked for the digest */
    str media_type;
    str digest; /* of the bytes; what the registry says, when only asked for that */
};

/* name: a tag or a digest; bytes are checked against the digest, whoever named it. */
int oci_registry_get_manifest(struct oci_registry *r, struct arena *a, str name, struct oci_manifest_answer *ret,
                              struct err *err);
int oci_registry_head_manifest(struct oci_registry *r, struct arena *a, str name, struct oci_manifest_answer *ret,
                               struct err *err);

/* Exactly size bytes, or an error; whoever takes them checks the digest. Never begins again after the first byte was taken. */
int oci_registry_get_blob(struct oci_registry *r, str digest, uint64_t size, struct oci_sink sink, struct err *err);

/* Gives the bytes of a blob piece by piece: *ret is empty at the end. */
struct oci_spring {
    int (*give)(void *ctx, str *ret, struct err *err);
    void *ctx;
};

/* Nothing is sent when the registry has it already. */
int oci_registry_put_blob(struct oci_registry *r, str digest, uint64_t size, struct oci_spring from, struct err *err);
int oci_registry_put_manifest(struct oci_registry *r, str name, str media_type, str bytes, struct err *err);
