/* SPDX-License-Identifier: Apache-2.0 */
/* What: how a Lease is won, kept and lost: what is seen and the time go in, the next call to make comes out. No effects.
 * Owns: copies of what it saw.
 * Threads: one at a time.
 * Errors: none; an answer that makes no sense is one that failed.
 *
 * An attempt is a row of calls; whatever fails ends it, but for the first, which only hopes that nothing has changed:
 *
 *   leading ─► UPDATE ──done──────────────────────────────────────► renewed
 *                 └─failed─┐
 *   following ─────────────┴► GET ──there is none──► CREATE ──done─► won
 *                              ├──another's, and it moved within its duration─► wait
 *                              └──free, ours, or it stands still──► UPDATE ──done─► won or renewed
 *
 * Why there are never two leaders, whatever calls do, as long as clocks run at the same speed and nobody else writes the Lease:
 *
 *   leader    ├── sends a renewal ··· server stores it ├
 *             ├───────── deadline_ns ─────────► leads no more
 *   follower               sees that it moved ├──────────── duration of the lease ─────────► may take it
 *
 * The leader counts from before the server stored its renewal, the follower from after that, and the deadline is shorter than
 * the duration. Writes carry the resourceVersion, so of two that take a lease one is refused. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

struct campaign_options {
    str namespace, name, identity; /* must live as long */
    int64_t lease_ns, deadline_ns;
};

struct campaign {
    struct campaign_options options;
    bool is_leading;
    int64_t lead_until; /* while leading, unless renewed */
    bool is_releasing;
    uint64_t slow_renewals; /* those that had to look first */

    /* What was seen last. */
    bool is_known;       /* there is one */
    struct buf object;   /* the Lease, as text */
    struct buf record;   /* what of it says whether it moved */
    struct buf holder;   /* empty: nobody */
    int64_t duration_ns; /* as its holder has it */
    int64_t seen_at;     /* moved */
    int64_t transitions;
    bool is_fast; /* the attempt began with an update */
};

enum campaign_call {
    CAMPAIGN_WAIT, /* none: the attempt is over */
    CAMPAIGN_GET,
    CAMPAIGN_CREATE,
    CAMPAIGN_UPDATE,
};

void campaign_init(struct campaign *c, const struct campaign_options *options);
void campaign_done(struct campaign *c);

/* An attempt begins. */
enum campaign_call campaign_begin(struct campaign *c, int64_t now);
/* The object to send with CREATE or UPDATE. wall: civil time, which only people read. */
struct json campaign_object(struct campaign *c, struct arena *a, enum campaign_call call, int64_t wall);

struct campaign_answer {
    int status;                /* 0: none came */
    const struct json *object; /* NULL: there is none, or it makes no sense */
    int64_t sent_at;           /* when the call was made */
};

/* The answer to that call: what to do next, and maybe another is_leading. */
enum campaign_call campaign_answer(struct campaign *c, enum campaign_call call, const struct campaign_answer *answer,
                                   int64_t now);
/* Leads no more if its time is over. */
void campaign_expire(struct campaign *c, int64_t now);
/* From now on attempts give the lease back, if it is ours. They end when it is not, or after one failure that is followed by a
 * look. */
void campaign_release(struct campaign *c);
str campaign_holder(const struct campaign *c);
