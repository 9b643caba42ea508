/* SPDX-License-Identifier: Apache-2.0 */
/* What: single HTTP exchanges, on libcurl: HTTP/1.1, no redirects, no cookies, no proxies, bounded everywhere.
 * Owns: connections, which are used again; the addresses of hosts, each looked up once.
 * Threads: one.
 * Errors: ERR_UNAVAILABLE and ERR_TIMEOUT for what may pass, ERR_FORBIDDEN for places we do not go to and certificates we do not
 *         trust, ERR_TOO_LARGE, ERR_BAD_REQUEST for answers that make no sense; what a sink said. An answer of any status is no error. */
#pragma once

#include "oci/challenge.h"
#include "oci/curl.h"
#include "oci/registry_place.h"
#include "oci/source.h"

struct web;

struct web_options {
    const struct curl *curl;
    str ca; /* PEM */
    const uint16_t *ports;
    size_t n_ports;      /* that may be connected to */
    int64_t deadline_ns; /* on the monotonic clock */
};

int web_open(const struct web_options *options, struct web **ret, struct err *err);
/* Takes NULL. */
void web_close(struct web *w);

/* An address we have decided to go to. */
struct web_target {
    str url;
    str host;      /* without port */
    str authority; /* scheme, host and port: where credentials belong */
    bool is_plain;
    enum place_class class;
    const struct place *place;
};

/* url may be relative to base (empty: then not). least: of the place that named it; PLACE_THIS for what we were told ourselves. */
int web_target(struct web *w, struct arena *a, str url, str base, enum place_class least, struct web_target *ret,
               struct err *err);

struct web_request {
    const char *method;
    const struct web_target *target;
    str headers[4];                /* "Name: value"; empty ones are skipped */
    str body;                      /* sent whole, if p is set… */
    const struct web_body *stream; /* …or in pieces */
    size_t max;                    /* of the body that comes */
    struct oci_sink *sink;         /* where the body goes when the status is 200 or 206; NULL: into the answer */
    uint64_t range;                /* the first byte wanted */
};

struct web_body {
    uint64_t size;
    /* Up to n bytes into p; 0 at the end, negative: an error. */
    ptrdiff_t (*give)(void *ctx, char *p, size_t n);
    void *ctx;
};

struct web_answer {
    int status;
    str content_type, location, digest, retry_after, encoding, content_range;
    struct challenge challenge;
    str body;
    uint64_t taken; /* bytes that the sink was given */
};

/* On an error ret->taken is set all the same. */
int web_exchange(struct web *w, struct arena *a, const struct web_request *request, struct web_answer *ret,
                 struct err *err);
/* What is left until the deadline. */
int64_t web_time_left(const struct web *w);
