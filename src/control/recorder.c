/* SPDX-License-Identifier: Apache-2.0 */
#include "control/recorder.h"

#include <pthread.h>
#include <stdlib.h>

#include "control/correlator.h"
#include "object/object.h"

enum {
    NOTES_MAX = 1000,     /* that wait, as client-go has it */
    MESSAGE_BYTES = 1024, /* the most that events.k8s.io takes */
    REASON_BYTES = 128,
};
#define CALL_NS INT64_C(10000000000)

static const struct client_resource events = CLIENT_RESOURCE("", "v1", "events", "Event", true);

/* An event that waits; one block with its texts behind it. */
struct note {
    struct note *next;
    struct correlator_event event;
    char texts[];
};

/*
 *   recorder_event ─► inbox ──posted──► first to last, one call at a time: PATCH ──404──► POST
 *     (any thread)    (lock)                      (loop thread)
 */
struct recorder {
    struct recorder_options options;
    struct arena arena; /* the component */
    struct correlator *correlator;
    struct client_call *call;
    struct note *note; /* what it is about */
    struct correlator_result result;
    struct arena scratch; /* of that */
    struct loop_work posted;

    pthread_mutex_t lock; /* of what follows */
    struct note *first, **end;
    size_t n_notes;
    bool is_posted;
    struct recorder_stats stats;
};

static void on_posted(struct loop_work *w);
static void write_next(struct recorder *r);

struct recorder *recorder_new(const struct recorder_options *options)
{
    struct recorder *r = xcalloc(1, sizeof *r);
    r->options = *options;
    r->options.component = str_dup(&r->arena, options->component);
    r->correlator = correlator_new();
    r->posted.fn = on_posted;
    r->end = &r->first;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void recorder_free(struct recorder *r)
{
    if (r == NULL)
        return;
    client_cancel(r->call);
    loop_post_cancel(r->options.loop, &r->posted);
    for (struct note *n; (n = r->first);) {
        r->first = n->next;
        free(n);
    }
    free(r->note);
    correlator_free(r->correlator);
    pthread_mutex_destroy(&r->lock);
    arena_done(&r->scratch);
    arena_done(&r->arena);
    free(r);
}

struct recorder_stats recorder_stats(struct recorder *r)
{
    pthread_mutex_lock(&r->lock);
    struct recorder_stats stats = r->stats;
    pthread_mutex_unlock(&r->lock);
    return stats;
}

/* ---- From any thread. ---- */

/* At most n bytes, cut between characters. */
static str cut(str s, size_t n)
{
    if (s.n <= n)
        return s;
    while (n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return str_upto(s, n);
}

/* A copy of the event whose texts stand one after the other behind it. */
static struct note *note_new(const struct correlator_event *e)
{
    struct correlator_event copy = *e;
    str *texts[] = {&copy.api_version, &copy.kind,    &copy.namespace, &copy.name,
                    &copy.uid,         &copy.version, &copy.reason,    &copy.message};
    size_t n = 0;
    for (size_t i = 0; i < COUNT(texts); i++)
        n += texts[i]->n;
    struct note *note = xmalloc(sizeof *note + n);
    char *at = note->texts;
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (texts[i]->n)
            memcpy(at, texts[i]->p, texts[i]->n);
        texts[i]->p = at;
        at += texts[i]->n;
    }
    note->next = NULL;
    note->event = copy;
    return note;
}

void recorder_event(struct recorder *r, const struct json *object, enum recorder_type type, str reason, str message)
{
    const struct clock *clock = &r->options.clock;
    struct note *note = note_new(&(struct correlator_event){
        .component = r->options.component,
        .api_version = object_api_version(object),
        .kind = object_kind(object),
        .namespace = object_namespace(object),
        .name = object_name(object),
        .uid = object_uid(object),
        .version = object_rv(object),
        .type = type == RECORDER_WARNING ? S("Warning") : S("Normal"),
        .reason = cut(reason, REASON_BYTES),
        .message = cut(message, MESSAGE_BYTES),
        .wall = clock_wall_ns(clock),
        .mono = clock_mono_ns(clock),
    });
    pthread_mutex_lock(&r->lock);
    bool has_room = r->n_notes < NOTES_MAX, post = has_room && !r->is_posted;
    if (has_room) {
        *r->end = note;
        r->end = &note->next;
        r->n_notes++;
        r->is_posted = true;
    } else {
        r->stats.dropped++;
    }
    pthread_mutex_unlock(&r->lock);
    if (!has_room)
        free(note);
    if (post)
        loop_post(r->options.loop, &r->posted);
}

/* ---- On the loop's thread. ---- */

static struct note *take(struct recorder *r)
{
    pthread_mutex_lock(&r->lock);
    struct note *note = r->first;
    if (note) {
        r->first = note->next;
        r->n_notes--;
    }
    if (r->first == NULL)
        r->end = &r->first;
    pthread_mutex_unlock(&r->lock);
    return note;
}

/* The note is dealt with; which is counted. */
static void finish(struct recorder *r, uint64_t *which)
{
    free(r->note);
    r->note = NULL;
    arena_reset(&r->scratch);
    pthread_mutex_lock(&r->lock);
    ++*which;
    pthread_mutex_unlock(&r->lock);
}

static void on_answer(void *ctx, const struct client_answer *answer);

static void start_call(struct recorder *r, bool is_patch)
{
    static const struct client_listener listener = {.end = on_answer};
    struct buf target = {.arena = &r->scratch}, body = {.arena = &r->scratch};
    client_path(&target, &(struct client_ref){.resource = &events,
                                              .namespace = r->result.namespace,
                                              .name = is_patch ? r->result.name : (str){0}});
    json_encode(&body, is_patch ? &r->result.patch : &r->result.event, 0);
    struct client_request request = {.method = is_patch ? S("PATCH") : S("POST"),
                                     .target = buf_str(&target),
                                     .content_type = is_patch ? S("application/strategic-merge-patch+json") : (str){0},
                                     .body = buf_str(&body),
                                     .total_ns = CALL_NS};
    r->call = client_start(r->options.client, &request, &listener, r);
}

/* Events do not live long on a server: one that is to be counted up may be gone. */
static void on_answer(void *ctx, const struct client_answer *answer)
{
    struct recorder *r = ctx;
    r->call = NULL;
    if (answer->status == 404 && r->result.action == CORRELATOR_PATCH) {
        r->result.action = CORRELATOR_CREATE;
        start_call(r, false);
        return;
    }
    bool is_written = answer->status >= 200 && answer->status < 300;
    finish(r, is_written ? &r->stats.written : &r->stats.dropped);
    write_next(r);
}

/* One after the other: that an Event is made and that it is counted up must not overtake each other. */
static void write_next(struct recorder *r)
{
    while (r->call == NULL && (r->note = take(r))) {
        r->result = correlator_take(r->correlator, &r->scratch, &r->note->event);
        if (r->result.action == CORRELATOR_SKIP)
            finish(r, &r->stats.spared);
        else
            start_call(r, r->result.action == CORRELATOR_PATCH);
    }
}

static void on_posted(struct loop_work *w)
{
    struct recorder *r = (struct recorder *)((char *)w - offsetof(struct recorder, posted));
    pthread_mutex_lock(&r->lock);
    r->is_posted = false;
    pthread_mutex_unlock(&r->lock);
    write_next(r);
}
