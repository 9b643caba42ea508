/* SPDX-License-Identifier: Apache-2.0 */
/* What: how far long work has come, told on standard error: on a terminal as lines that are drawn anew, otherwise as one line for each
 *       step that is over; nothing with -q.
 * Owns: nothing; the steps and their texts are the caller's, until progress_end.
 * Threads: one.
 * Errors: none; who reads may be gone.
 *
 *   struct progress_step steps[] = {{.name = "manifest"}, {.name = "layers"}};
 *   struct progress p = {.term = &c->term, .steps = steps, .n = 2};
 *   steps[1] = (struct progress_step){"layers", PROGRESS_RUNNING, .at = 3, .of = 5, .bytes = 12582912, .bytes_of = 20100000};
 *   progress_show(&p);                              as often as something changed
 *   progress_end(&p);                               before anything else is written there
 *
 *   + manifest   sha256:0123456789ab                manifest sha256:0123456789ab
 *   > layers     [######----] 3/5 12.6 MB of 20.1 MB  layers 5/5 20.1 MB */
#pragma once

#include "cli/term.h"

enum progress_state { PROGRESS_AHEAD, PROGRESS_RUNNING, PROGRESS_DONE, PROGRESS_FAILED };

struct progress_step {
    const char *name; /* "layers", "CRDs" */
    enum progress_state state;
    uint64_t at, of;   /* counted things; of 0: it is not counted */
    uint64_t bytes;    /* moved so far; 0: not told */
    uint64_t bytes_of; /* all that are to be moved: the bar counts these; 0: not known, it counts things */
    str note;          /* the words of others are fine: control characters are shown */
    bool is_told;      /* private: its line was written */
};

struct progress {
    const struct term *term;
    struct progress_step *steps;
    size_t n;
    size_t drawn;     /* private, as all below: lines of ours on the terminal */
    unsigned turn;    /* of what moves */
    int64_t drawn_at; /* monotonic */
    uint64_t
        finished; /* steps that were over when it was drawn: such a change is drawn at once, others in their time */
};

/* May be called thousands of times a second. */
void progress_show(struct progress *p);
/* Lines of talk, above what is drawn; as term_say. */
void progress_say(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What was drawn last stays. To be called in any case; twice is fine. */
void progress_end(struct progress *p);

/* ---- Pure: what would be written. ---- */

struct progress_look {
    const struct term *term; /* colours of standard error, and UTF-8 */
    unsigned width;          /* columns; no line is longer */
    unsigned turn;           /* of what moves */
};

/* The lines of all steps, each with a newline. */
void progress_draw(struct buf *b, const struct progress_step *steps, size_t n, const struct progress_look *look);
/* "layers 3/5 12.6 MB note", without a newline; "failed: " in front of what did. */
void progress_line(struct buf *b, const struct progress_step *step);
/* "999 B", "12.6 MB": thousands, as disks and networks are measured. */
void progress_bytes(struct buf *b, uint64_t bytes);
