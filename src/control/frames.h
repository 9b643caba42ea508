/* SPDX-License-Identifier: Apache-2.0 */
/* What: the events of a watch, from the bytes of its stream: where one ends and the next begins, and what each says.
 * Owns: frames keep the bytes of an event that is not complete yet; events live in the arena given.
 * Threads: pure, each for itself.
 * Errors: ERR_BAD_REQUEST for what is no event, ERR_TOO_LARGE for one that goes past the limit. The stream is lost then.
 *
 *   {"type":"ADDED","object":{…}}⏎{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"676"}}}⏎…
 *
 * An event ends where its braces match, whatever lines there are: as soon as its last byte is here. */
#pragma once

#include "base/str.h"
#include "json/json.h"

enum { FRAME_BYTES = 32 * 1024 * 1024 }; /* of one event; servers refuse objects of a tenth of that */

/* Zero-initialised is ready. */
struct frames {
    struct buf held; /* the beginning of an event, from earlier pieces */
    uint32_t depth;  /* of braces and brackets, at the end of what was looked at */
    bool in_string, is_escaped;
    size_t limit; /* 0: FRAME_BYTES */
};

void frames_done(struct frames *f);
/* Takes bytes off the front of *piece. 1: *ret is an event, borrowed until the next call and as long as the piece is there;
 * 0: the piece is used up; else a negative code. */
int frames_next(struct frames *f, str *piece, str *ret, struct err *err);
/* Gives memory back, if no event has begun. */
void frames_rest(struct frames *f);
/* Ended in the middle of an event. */
bool frames_is_torn(const struct frames *f);

enum frame_type { FRAME_ADDED, FRAME_MODIFIED, FRAME_DELETED, FRAME_BOOKMARK, FRAME_ERROR };

struct frame {
    enum frame_type type;
    struct json object;  /* of an error: the Status */
    str version;         /* not of an error */
    bool is_initial_end; /* a bookmark: all that was there at the beginning has been told */
};

/* Objects have a name, a uid and a version; bookmarks a version. */
int frame_decode(struct arena *a, str bytes, struct frame *ret, struct err *err);
/* An object as lists and events bring it, checked the same way. */
int frame_object_check(const struct json *object, struct err *err);

/* Whether a Status says that a revision is of no use: too old (410), or from a future that the server does not know. */
bool frame_is_revision_lost(const struct json *status);
