/* SPDX-License-Identifier: Apache-2.0 */
#include "control/reflect_internal.h"

#include "base/log.h"
#include "control/item.h"
#include "object/status.h"

#include <stdlib.h>

enum {
    REFUSED_MAX = 5,            /* watches from one version that the server answered with an error, whichever */
    STUCK_MAX = 2,              /* watches from one version that were garbled: only a list gets past it */
    SCRATCH_KEPT = 1024 * 1024, /* of memory for the next event */
    TEXT_BYTES = 256,           /* of the options, most times */
};
static const int64_t guard_ns = 30 * NS_PER_S;
static const int64_t retry_after_most_ns = 300 * NS_PER_S; /* a server's wish has its limit */

/* ---- Calls come and go. ---- */

static void hang_up(struct reflector *r)
{
    client_cancel(r->call);
    r->call = NULL;
    r->turn++;
    r->stage = REFLECT_IDLE;
    loop_timer_cancel(r->options.loop, &r->guard);
    frames_done(&r->frames);
    buf_done(&r->page);
}

static void wait(struct reflector *r, int64_t delay)
{
    r->stage = REFLECT_WAITING;
    if (delay > 0) {
        loop_timer_set(r->options.loop, &r->timer, delay);
    } else if (!r->is_soon) {
        r->is_soon = true;
        loop_defer(r->options.loop, &r->soon);
    }
}

static void stop_waiting(struct reflector *r)
{
    loop_timer_cancel(r->options.loop, &r->timer);
    if (r->is_soon)
        loop_defer_cancel(r->options.loop, &r->soon);
    r->is_soon = false;
}

static bool is_listing(const struct reflector *r)
{
    return r->stage == REFLECT_INITIAL || r->stage == REFLECT_PAGES;
}

/* That a kind is not there is said once: it may stay so for as long as the server runs. */
static void log_end(const struct reflector *r, const char *what, enum reflect_verdict verdict, const struct err *err,
                    int64_t delay)
{
    const struct reflect_options *o = &r->options;
    if (o->log == NULL || err == NULL)
        return;
    bool is_trouble = (verdict == REFLECT_FAILED || verdict == REFLECT_GARBLED) && r->unserved <= 1;
    log_line(o->log, is_trouble ? LOG_WARN : LOG_DEBUG, what, LOG_STR("resource", o->resource.plural),
             LOG_STR("group", o->resource.group), LOG_STR("error", str_of(err->msg)),
             LOG_INT("retry_ms", delay / 1000000));
}

/* What the next attempt will be, from how this one ended. */
static void draw_lesson(struct reflector *r, enum reflect_verdict verdict, const struct err *err)
{
    if (verdict == REFLECT_REFUSED)
        r->has_no_initial = true;
    if (r->stage == REFLECT_INITIAL && verdict != REFLECT_FAILED)
        r->skips_initial = true;
    if (is_listing(r))
        return; /* the list is not there yet */
    if (verdict == REFLECT_LOST)
        r->wants_list = true;
    else if (verdict == REFLECT_GARBLED)
        r->wants_list = ++r->stuck >= STUCK_MAX || (err && err->code == ERR_TOO_LARGE);
}

void reflect_conclude(struct reflector *r, enum reflect_verdict verdict, int64_t retry_after_ns, const struct err *err)
{
    const struct reflect_options *o = &r->options;
    int64_t now = loop_now(o->loop), delay = 0;
    if (r->stage == REFLECT_LIVE)
        pace_lived(&r->pace, now - r->started);
    const char *what = is_listing(r) ? "list failed" : "watch failed";
    draw_lesson(r, verdict, err);
    hang_up(r);
    if (verdict == REFLECT_FAILED || verdict == REFLECT_GARBLED) {
        r->stats.failures++;
        delay = pace_after_failure(&r->pace, &o->random, now);
    } else if (verdict != REFLECT_REFUSED) {
        delay = pace_after_end(&r->pace, &o->random);
    }
    if (retry_after_ns > retry_after_most_ns)
        retry_after_ns = retry_after_most_ns;
    if (delay < retry_after_ns)
        delay = retry_after_ns;
    log_end(r, what, verdict, err, delay);
    wait(r, delay);
}

/* Answers that a watch from this revision gets again and again; after others it is worth another try. */
static bool is_final(int status)
{
    return status >= 400 && status < 500 && status != 401 && status != 403 && status != 408 && status != 429;
}

enum reflect_verdict reflect_judge(struct reflector *r, const struct client_answer *answer, struct err *err)
{
    if (answer->status == 0) {
        if (answer->err)
            *err = *answer->err;
        else
            err_set(err, ERR_IO, "there was no answer");
        r->skips_initial |= r->stage == REFLECT_INITIAL && r->has_heard;
        r->wants_list |= r->options.lists_anew;
        return REFLECT_FAILED;
    }
    if (is_listing(r))
        r->unserved = answer->status == 404 ? r->unserved + 1 : 0;
    struct arena a ARENA_SCOPE = {0};
    struct json status = json_null();
    struct json_limits limits = {.bytes = JSON_MAX_BYTES};
    if (json_decode(&a, answer->body, &limits, NULL, &status, err) < 0 || status_to_err(&status, err) == 0)
        err_set(err, status_code((str){0}, answer->status), "the server answered %d", answer->status);
    if (answer->status == 410 || frame_is_revision_lost(&status))
        return REFLECT_LOST;
    if (r->stage == REFLECT_INITIAL) {
        if (answer->status == 400 || answer->status == 422)
            return REFLECT_REFUSED;
        r->skips_initial = answer->status != 429;
    } else if (r->stage == REFLECT_LIVE && answer->status != 429) {
        r->wants_list = is_final(answer->status) || ++r->refused >= REFUSED_MAX;
    }
    return REFLECT_FAILED;
}

/* ---- Watches. ---- */

void reflect_set_version(struct reflector *r, str version)
{
    r->version.n = 0;
    buf_add_str(&r->version, version);
}

bool reflect_listed(struct reflector *r)
{
    loop_timer_cancel(r->options.loop, &r->guard);
    r->wants_list = r->wants_another;
    r->wants_another = r->skips_initial = false;
    r->limit = REFLECT_LIMIT;
    r->token.n = 0;
    r->stuck = r->refused = r->unserved = 0;
    r->stage = r->stage == REFLECT_INITIAL ? REFLECT_LIVE : REFLECT_IDLE;
    uint64_t turn = r->turn;
    r->options.sink->complete(r->options.ctx);
    if (r->turn != turn)
        return false;
    if (!r->wants_list)
        return true;
    hang_up(r);
    wait(r, 0);
    return false;
}

/* The revision that the next watch goes on from. Events that come again do not set it back; a bookmark from before it says that
 * the server has gone back in time, restored from a copy, and would be silent until it has come as far again. */
static bool move_on(struct reflector *r, const struct frame *frame)
{
    r->refused = 0;
    if (!item_version_is_older(frame->version, buf_str(&r->version))) {
        reflect_set_version(r, frame->version);
        r->stuck = 0;
        return true;
    }
    if (frame->type != FRAME_BOOKMARK)
        return true;
    struct err err;
    err_set(&err, ERR_EXPIRED, "the server is at revision %.*s, before %.*s", STR(frame->version),
            STR(buf_str(&r->version)));
    reflect_conclude(r, REFLECT_LOST, 0, &err);
    return false;
}

/* An event, told. False: the call is over, or the sink wanted something else to happen. */
static bool tell(struct reflector *r, struct frame *frame)
{
    struct err err = {0};
    if (frame->type == FRAME_ERROR) {
        if (status_to_err(&frame->object, &err) == 0)
            err_set(&err, ERR_INTERNAL, "the watch failed and does not say why");
        bool is_lost = frame_is_revision_lost(&frame->object);
        reflect_conclude(r, is_lost ? REFLECT_LOST : REFLECT_GARBLED,
                         (int64_t)status_get_retry_after(&frame->object) * 1000000000, &err);
        return false;
    }
    if (frame->type != FRAME_BOOKMARK) {
        if (reflect_shape(r, &r->scratch, &frame->object, &err) < 0) {
            reflect_conclude(r, REFLECT_GARBLED, 0, &err);
            return false;
        }
        uint64_t turn = r->turn;
        r->stats.events++;
        r->options.sink->event(r->options.ctx, &r->scratch, frame);
        if (r->turn != turn)
            return false;
    } else if (r->stage == REFLECT_INITIAL) {
        if (frame->is_initial_end) {
            reflect_set_version(r, frame->version);
            return reflect_listed(r);
        }
        err_set(&err, ERR_BAD_REQUEST, "the server does not know watches that begin with a list");
        reflect_conclude(r, REFLECT_REFUSED, 0, &err);
        return false;
    }
    return r->stage != REFLECT_LIVE || move_on(r, frame);
}

static bool take(struct reflector *r, str bytes)
{
    struct frame frame;
    struct err err = {0};
    bool goes_on = frame_decode(&r->scratch, bytes, &frame, &err) == 0;
    if (goes_on)
        goes_on = tell(r, &frame);
    else
        reflect_conclude(r, REFLECT_GARBLED, 0, &err);
    if (arena_footprint(&r->scratch) > SCRATCH_KEPT)
        arena_done(&r->scratch);
    else
        arena_reset(&r->scratch);
    return goes_on;
}

static void on_data(void *ctx, str piece)
{
    struct reflector *r = ctx;
    struct err err = {0};
    uint64_t events = r->stats.events;
    str bytes;
    int code;
    bool goes_on = true;
    r->has_heard = true;
    if (r->stage == REFLECT_INITIAL)
        loop_timer_set(r->options.loop, &r->guard, guard_ns);
    while (goes_on && (code = frames_next(&r->frames, &piece, &bytes, &err)) > 0)
        goes_on = take(r, bytes);
    if (goes_on && code < 0)
        reflect_conclude(r, REFLECT_GARBLED, 0, &err);
    arena_done(&r->scratch); /* a watch is quiet nearly always, and there may be thousands of them */
    frames_rest(&r->frames);
    if (r->stats.events != events)
        r->options.sink->settled(r->options.ctx);
}

static void on_end(void *ctx, const struct client_answer *answer)
{
    struct reflector *r = ctx;
    r->call = NULL;
    struct err err = {0};
    if (answer->status != 200) {
        enum reflect_verdict verdict = reflect_judge(r, answer, &err);
        reflect_conclude(r, verdict, answer->retry_after_ns, &err);
    } else if (frames_is_torn(&r->frames)) {
        err_set(&err, ERR_IO, "the watch was cut off in the middle of an event");
        reflect_conclude(r, REFLECT_FAILED, 0, &err);
    } else {
        reflect_conclude(r, REFLECT_ENDED, 0, NULL);
    }
}

static const struct client_listener watch_listener = {on_data, on_end};

void reflect_watch_start(struct reflector *r)
{
    r->stats.watches++;
    reflect_ask(r, REFLECT_LIVE, &watch_listener);
}

/* ---- What comes next. ---- */

static void on_guard(void *ctx)
{
    struct reflector *r = ctx;
    struct err err;
    err_set(&err, ERR_TIMEOUT, "a watch that should begin with a list stopped in the middle of it");
    r->skips_initial = true;
    reflect_conclude(r, REFLECT_GARBLED, 0, &err);
}

static void go_on(struct reflector *r)
{
    if (!r->wants_list) {
        reflect_watch_start(r);
        return;
    }
    r->stats.lists++;
    r->token.n = 0;
    r->options.sink->begin(r->options.ctx);
    if (r->has_no_initial || r->skips_initial) {
        reflect_pages_start(r);
        return;
    }
    reflect_ask(r, REFLECT_INITIAL, &watch_listener);
    loop_timer_set(r->options.loop, &r->guard, guard_ns);
}

static void on_timer(void *ctx)
{
    go_on(ctx);
}

static void on_soon(struct loop_work *w)
{
    struct reflector *r = (struct reflector *)w;
    r->is_soon = false;
    go_on(r);
}

/* ---- From outside. ---- */

struct reflector *reflect_new(const struct reflect_options *options)
{
    struct reflector *r = xcalloc(1, sizeof *r);
    r->options = *options;
    str *texts[] = {
        &r->options.resource.group, &r->options.resource.version, &r->options.resource.plural,
        &r->options.resource.kind,  &r->options.namespace,        &r->options.label_selector,
        &r->options.field_selector,
    };
    arena_begin(&r->texts, TEXT_BYTES);
    for (size_t i = 0; i < COUNT(texts); i++)
        *texts[i] = str_dup(&r->texts, *texts[i]);
    r->soon.fn = on_soon;
    r->timer = (struct loop_timer){.fn = on_timer, .ctx = r};
    r->guard = (struct loop_timer){.fn = on_guard, .ctx = r};
    r->limit = REFLECT_LIMIT;
    r->wants_list = true;
    return r;
}

void reflect_free(struct reflector *r)
{
    if (r == NULL)
        return;
    reflect_stop(r);
    frames_done(&r->frames);
    buf_done(&r->version);
    buf_done(&r->page);
    buf_done(&r->token);
    arena_done(&r->scratch);
    arena_done(&r->texts);
    free(r);
}

void reflect_start(struct reflector *r)
{
    if (r->is_running)
        return;
    r->is_running = true;
    wait(r, 0);
}

void reflect_stop(struct reflector *r)
{
    hang_up(r);
    stop_waiting(r);
    r->is_running = false;
}

void reflect_relist(struct reflector *r)
{
    if (is_listing(r)) {
        r->wants_another = true;
        return;
    }
    r->wants_list = true;
    if (r->stage == REFLECT_LIVE) {
        hang_up(r);
        wait(r, 0);
    }
}

bool reflect_is_unserved(const struct reflector *r)
{
    return r->unserved > 0;
}

struct reflect_stats reflect_stats(const struct reflector *r)
{
    return r->stats;
}
