/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of the registry client share. Private to them.
 * Owns, Threads, Errors: as oci/registry.h. */
#pragma once

#include "oci/registry.h"
#include "oci/web.h"

struct oci_registry {
    struct oci_source source;
    const struct oci_registry_place *place;
    struct arena arena;
    struct web *web;
    struct web_target base;
    str authorization; /* the header, once one was asked for; empty: none */
};

/* One call of the API: authenticated when asked to, followed when sent on (GET and HEAD), repeated when told to wait. */
struct registry_call {
    const char *method;
    str url; /* "/v2/…", or what a registry named */
    str accept, content_type;
    str body;
    const struct web_body *stream;
    size_t max;
    struct oci_sink *sink;
};

/* 0: the answer is 2xx. */
int registry_call(struct oci_registry *r, struct arena *a, const struct registry_call *call, struct web_answer *ret,
                  struct err *err);
/* Says what an answer that is no success means. */
int registry_refused(str host, const struct web_answer *answer, struct err *err);
/* Does what a 401 asks for; the next call shows it. */
int registry_authenticate(struct oci_registry *r, struct arena *a, const struct challenge *challenge, struct err *err);
str registry_url(const struct oci_registry *r, struct arena *a, const char *kind, str name);
