/* SPDX-License-Identifier: Apache-2.0 */
/* What: a server that knows one Lease, behind links that delay, lose and cut what passes; for tests of elections.
 * Owns: the Lease, and what is under way.
 * Threads: the loop thread.
 * Errors: answers with the codes of the real one. */
#pragma once

#include "client/client.h"

/* What becomes of a call, from when it begins; links may change while calls are under way. */
struct link {
    int64_t there_ns, back_ns;          /* how long requests and answers take */
    bool loses_requests, loses_answers; /* without a word */
    bool is_cut;                        /* an error at once */
    bool babbles;                       /* the server says 200 and nonsense */
};

struct passage;

struct lease_server {
    struct loop *loop;
    struct arena arena; /* of all that was ever stored: tests are short */
    bool exists;
    struct json lease;
    uint64_t revision;
    struct passage *under_way;
    unsigned gets, posts, puts, conflicts; /* that arrived */
    str last_put;
};

void lease_server_done(struct lease_server *s);
/* A transport through this link, which must live as long. */
struct transport *lease_server_transport(struct lease_server *s, const struct link *link);
/* As another client would, without a link. */
void lease_server_set_spec(struct lease_server *s, const char *spec);
void lease_server_annotate(struct lease_server *s);
void lease_server_delete(struct lease_server *s);
/* A member of the spec, as text; numbers in decimal. */
str lease_server_field(struct lease_server *s, const char *name);
