/* SPDX-License-Identifier: Apache-2.0 */
/* What: long answers compressed with gzip while they are sent, for clients that accept it, as kube-apiserver does.
 * Owns: the state of one compression (about 300 KiB) until the exchange is gone; at most GZIP_STREAMS at a time.
 * Threads: the loop thread. A slice of GZIP_SLICE bytes is compressed in one turn, then others have theirs.
 * Errors: none; where there are too many compressions already, the answer leaves as it is. */
#pragma once

#include "api/server.h"

enum {
    GZIP_LEAST = 128 * 1024, /* shorter answers are not worth it; the threshold of kube-apiserver */
    GZIP_STREAMS = 64,       /* at a time */
    GZIP_SLICE = 64 * 1024,  /* bytes compressed in one turn */
    GZIP_TEXTS_MAX =
        16 << 20, /* bytes of bodies that are there as a whole, together: they stay until the peer took them */
};

/* A GET of resources whose Accept-Encoding has gzip. */
bool gzip_is_accepted(const struct api_request *r);
/* Puts a compression between the source and the peer and adds the headers that say so; false when there are too many. The
 * handler has set r->released before, if it needs it. */
bool gzip_answer(struct api_request *r, str content_type, struct http_source source);
/* The same for a body that is there as a whole, which is copied; false, too, when there are too many bytes of those. */
bool gzip_answer_text(struct api_request *r, str content_type, str body);
