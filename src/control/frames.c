/* SPDX-License-Identifier: Apache-2.0 */
#include "control/frames.h"

#include "object/object.h"
#include "object/status.h"

enum {
    HELD_KEPT = 64 * 1024, /* room that stays for the next event; more is given back */
    VERSION_BYTES = 256,   /* of a resourceVersion; it is a number of twenty digits at most */
};

void frames_done(struct frames *f)
{
    buf_done(&f->held);
    *f = (struct frames){.limit = f->limit};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Bytes that matter, within strings and outside of them. All others are passed over quickly: they are nearly all there are. */
enum { INSIDE = 1, OUTSIDE = 2 };
static const uint8_t matters[256] = {
    ['"'] = INSIDE | OUTSIDE, ['\\'] = INSIDE, ['{'] = OUTSIDE, ['['] = OUTSIDE, ['}'] = OUTSIDE, [']'] = OUTSIDE,
};

static size_t pass(const struct frames *f, const char *p, size_t i, size_t n)
{
    unsigned here = f->in_string ? INSIDE : OUTSIDE;
    while (i < n && !f->is_escaped && !(matters[(uint8_t)p[i]] & here))
        i++;
    return i;
}

/* One byte further; true: it was the last of an event. */
static bool step(struct frames *f, char c)
{
    if (f->in_string) {
        if (f->is_escaped)
            f->is_escaped = false;
        else if (c == '\\')
            f->is_escaped = true;
        else if (c == '"')
            f->in_string = false;
        return false;
    }
    switch (c) {
    case '"':
        f->in_string = true;
        return false;
    case '{':
    case '[':
        f->depth++;
        return false;
    case '}':
    case ']':
        return --f->depth == 0;
    default:
        return false;
    }
}

/* The event that ended: the piece's own bytes or, when it began earlier, what was held with them. */
static str whole(struct frames *f, str bytes)
{
    if (f->held.n == 0)
        return bytes;
    buf_add_str(&f->held, bytes);
    str event = buf_str(&f->held);
    f->held.n = 0; /* the bytes stay until the next call */
    return event;
}

static void skip_space(str *piece)
{
    size_t i = 0;
    while (i < piece->n && is_space(piece->p[i]))
        i++;
    *piece = str_from(*piece, i);
}

int frames_next(struct frames *f, str *piece, str *ret, struct err *err)
{
    if (f->depth == 0) {
        if (f->held.cap > HELD_KEPT)
            buf_done(&f->held);
        skip_space(piece);
        if (piece->n && piece->p[0] != '{')
            return err_set(err, ERR_BAD_REQUEST, "the watch sent something that is no event");
    }
    size_t limit = f->limit ? f->limit : FRAME_BYTES;
    size_t room = limit > f->held.n ? limit - f->held.n : 0, n = piece->n < room ? piece->n : room;
    for (size_t i = 0; (i = pass(f, piece->p, i, n)) < n; i++) {
        if (step(f, piece->p[i])) {
            *ret = whole(f, str_upto(*piece, i + 1));
            *piece = str_from(*piece, i + 1);
            return 1;
        }
    }
    if (n < piece->n)
        return err_set(err, ERR_TOO_LARGE, "an event of the watch is larger than %zu bytes", limit);
    buf_add_str(&f->held, *piece);
    *piece = (str){0};
    return 0;
}

void frames_rest(struct frames *f)
{
    if (f->depth == 0)
        buf_done(&f->held);
}

bool frames_is_torn(const struct frames *f)
{
    return f->depth > 0;
}

/* ---- What an event says. ---- */

static bool type_parse(str name, enum frame_type *ret)
{
    static const struct {
        str name;
        enum frame_type type;
    } types[] = {
        {S_INIT("ADDED"), FRAME_ADDED},       {S_INIT("MODIFIED"), FRAME_MODIFIED}, {S_INIT("DELETED"), FRAME_DELETED},
        {S_INIT("BOOKMARK"), FRAME_BOOKMARK}, {S_INIT("ERROR"), FRAME_ERROR},
    };
    for (size_t i = 0; i < COUNT(types); i++) {
        if (str_eq(types[i].name, name)) {
            *ret = types[i].type;
            return true;
        }
    }
    return false;
}

static bool is_version(str s)
{
    return s.n > 0 && s.n <= VERSION_BYTES;
}

int frame_object_check(const struct json *object, struct err *err)
{
    if (object_name(object).n == 0 || object_uid(object).n == 0)
        return err_set(err, ERR_BAD_REQUEST, "an object has no name or no uid");
    if (!is_version(object_rv(object)))
        return err_set(err, ERR_BAD_REQUEST, "an object has no resourceVersion");
    return 0;
}

int frame_decode(struct arena *a, str bytes, struct frame *ret, struct err *err)
{
    struct json event;
    struct json_limits limits = {.bytes = FRAME_BYTES};
    if (json_decode(a, bytes, &limits, NULL, &event, err) < 0)
        return err_wrap(err, "event of a watch");
    struct frame frame = {0};
    str type = json_get_text(&event, S("type"));
    if (!type_parse(type, &frame.type))
        return err_set(err, ERR_BAD_REQUEST, "an event of the watch has the type \"%.*s\"", STR(str_upto(type, 64)));
    const struct json *object = json_get(&event, S("object"));
    if (!json_is_obj(object))
        return err_set(err, ERR_BAD_REQUEST, "an event of the watch has no object");
    frame.object = *object;
    frame.version = object_rv(object);
    if (frame.type == FRAME_BOOKMARK) {
        if (!is_version(frame.version))
            return err_set(err, ERR_BAD_REQUEST, "a bookmark has no resourceVersion");
        frame.is_initial_end = str_eq(object_annotation(object, S("k8s.io/initial-events-end")), S("true"));
    } else if (frame.type != FRAME_ERROR && frame_object_check(object, err) < 0) {
        return err->code;
    }
    *ret = frame;
    return 0;
}

static bool has_cause(const struct json *status, str reason)
{
    const struct json *causes = json_dig(status, "details.causes");
    json_each_item(causes, cause)
    {
        if (str_eq(json_get_text(cause, S("reason")), reason))
            return true;
    }
    return false;
}

/* Servers before 1.19 said it in words only. */
bool frame_is_revision_lost(const struct json *status)
{
    struct err err;
    int code = status_to_err(status, &err);
    if (code == ERR_EXPIRED || code == ERR_GONE || has_cause(status, S("ResourceVersionTooLarge")))
        return true;
    return code == ERR_TIMEOUT && str_find(json_get_text(status, S("message")), S("Too large resource version")) >= 0;
}
