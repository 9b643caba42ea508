/* SPDX-License-Identifier: Apache-2.0 */
/* What: a registry that speaks the distribution API, version 2: images as a source, and pushing them. Runs inside reeve-fetch.
 * Owns: connections, and tokens it was given.
 * Threads: one.
 * Errors: ERR_NOT_FOUND; ERR_UNAUTHORIZED when the registry answers 401 or 403: it wants (other) credentials; ERR_FORBIDDEN for
 *         places we do not go to and certificates we do not trust; ERR_UNAVAILABLE, ERR_TIMEOUT and ERR_TOO_MANY_REQUESTS for
 *         what may pass by itself; ERR_TOO_LARGE; ERR_BAD_REQUEST for answers that make no sense. Texts
 *         name host and status, and what the registry said, in printable characters; never a credential.
 *
 * Where it goes: https only, plain http only on this machine (localhost, 127.x.x.x and ::1 without a mirror that says https, but
 * for port 443). A redirect or a token service may be anywhere that is not more
 * private than the registry itself: this machine < private networks < the world; link-local addresses never; and only to port
 * 443, the registry's own, or one that was allowed. Each host is looked up once, and nothing else is connected to. Credentials
 * go to the registry they are for, and to the token service it names; never along with a redirect to another host. */
#pragma once

#include "oci/curl.h"
#include "oci/fetch_protocol.h"
#include "oci/source.h"

struct oci_registry;

enum { OCI_REDIRECTS_MAX = 5, OCI_ATTEMPTS_MAX = 3 };

/* Where an image is, and who we are there. */
struct oci_registry_place {
    str url;                            /* "https://registry-1.docker.io:443" */
    str host;                           /* for texts */
    str repository;                     /* "acme/wordpress" */
    str user, password, identity_token; /* empty: none */
    str ca;                             /* PEM */
    const uint16_t *ports;              /* that may be connected to */
    size_t n_ports;
    int64_t timeout_ns;
    bool may_push; /* ask for that right as well */
    struct curl curl;
};

/* Mirrors and credentials of the request applied to a reference. */
int oci_registry_place(struct arena *a, const struct oci_request *request, const struct oci_reference *ref,
                       struct oci_registry_place *ret, struct err *err);
/* All that has to be loaded from disk: libcurl, certificates. Before the sandbox. */
int oci_registry_prepare(struct arena *a, const struct oci_request *request, struct oci_registry_place *place,
                         struct err *err);
/* What the system's resolver has to read, NULL at the end. */
extern const char *const oci_registry_files[];

/* place must live as long. */
int oci_registry_open(const struct oci_registry_place *place, struct oci_registry **ret, struct err *err);
/* The registry as a source; freed with it, not by itself. Its references are of the repository of the place. */
struct oci_source *oci_registry_source(struct oci_registry *r);
/* Which digest a name has, as the registry says. */
int oci_registry_head(struct oci_registry *r, struct arena *a, const struct oci_reference *ref, struct oci_digest *ret,
                      struct err *err);
/* Everything that ref names, from a source; blobs the registry has are not sent. watch may be NULL. */
int oci_registry_push(struct oci_registry *r, struct oci_source *from, const struct oci_reference *ref,
                      const struct oci_watch *watch, struct oci_digest *ret, struct err *err);
