/* SPDX-License-Identifier: Apache-2.0 */
/* What: HTTP/1.1 as bytes: where a head ends, what it says, what is in a chunked body. Pure and strict: what two readers
 *       could understand in two ways is refused, so that nothing can be smuggled past another one. Internal to this folder.
 * Owns: nothing; what is parsed points into the head that was given, lists are in the arena.
 * Threads: plain functions.
 * Errors: an HTTP status and a sentence about it.
 *
 *     bytes ► h1_find_end (again with every piece) ► the head as a whole ► h1_parse_request or h1_parse_response
 *           ► the body: so many bytes, or h1_chunked_next until H1_DONE */
#pragma once

#include "net/http.h"

struct h1_problem {
    int status;
    const char *why; /* a literal */
};

/* ---- The end of a head. ---- */

struct h1_limits {
    size_t head_bytes, headers;
};

/* Zero at the start of each head; remembers how far it has looked, so that a head in a thousand pieces is read once. */
struct h1_finder {
    size_t seen; /* bytes looked at */
    size_t line; /* where the line begins that is not yet complete */
    size_t lines;
};

enum h1_step { H1_MORE, H1_DATA, H1_DONE, H1_BAD };

/* bytes begins with the head and is all that has come so far. H1_DONE: the head, its empty line included, is the first
 * *ret_n bytes. H1_BAD: *problem says why. Sees to it that each line ends as it must, and to the limits. */
enum h1_step h1_find_end(struct h1_finder *f, str bytes, const struct h1_limits *limits, size_t *ret_n,
                         struct h1_problem *problem);

/* ---- What a head says. ---- */

struct h1_message {
    struct http_headers headers;
    bool is_1_0;
    bool is_kept_alive; /* by what this side says of it */
    bool is_chunked;
    bool has_length;
    uint64_t length;
};

struct h1_request {
    struct h1_message m;
    str method, path, query; /* path begins with a slash, or is "*" */
    bool expects_continue;
};

struct h1_response {
    struct h1_message m;
    int status;
};

/* The head as h1_find_end found it. 0, or -1 with *problem set. */
int h1_parse_request(struct arena *a, str head, struct h1_request *ret, struct h1_problem *problem);
int h1_parse_response(struct arena *a, str head, struct h1_response *ret, struct h1_problem *problem);

/* ---- Chunked bodies. ---- */

/* Zero at the start. */
struct h1_chunked {
    int state;
    uint64_t left;
    unsigned digits;
    size_t extra; /* bytes of extensions and trailers so far: they are read over, but not for ever */
};

/* Takes bytes from the start of *bytes. H1_DATA: *piece is the next part of the body, within bytes. H1_MORE: all taken, more is
 * needed. H1_DONE: that was the end, *bytes is what follows. H1_BAD: no chunked body. */
enum h1_step h1_chunked_next(struct h1_chunked *c, str *bytes, str *piece);
