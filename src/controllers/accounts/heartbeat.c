/* SPDX-License-Identifier: Apache-2.0 */
/* A beat is a row of calls, one after the other, on the loop:
 *
 *   managed cluster                        hub
 *   GET /livez ──┬─ 200 ─► GET /version ─► GET Lease ─► PUT Lease ─► after leaseDurationSeconds, and up to a quarter more
 *                ├─ 403, 404 ─► GET /healthz   ▲   │         │
 *                └─ else: trouble ─────────────┘   └─────────┴─ failed: soon again
 *
 * The hub says by the Lease how often. What fails is said once, until it goes well again. */
#include "controllers/accounts/accounts_internal.h"

#include "object/object.h"

#include <stdlib.h>

enum {
    EVERY_MAX_S = 3600,
    CALL_MAX_S = 10,
    RETRY_S = 5,
    SHOWN_BYTES = 200,
    LEASE_BYTES = 64 * 1024,
};

static const struct client_resource leases = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true);

enum step { STEP_LIVEZ, STEP_HEALTHZ, STEP_VERSION, STEP_GET, STEP_PUT };

struct heartbeat {
    struct loop_work soon;                  /* first: it is what the loop hands back; the first beat */
    const struct accounts_options *options; /* of the accounts, which go later */
    struct random_seeded chance;
    struct loop_timer timer;
    struct client_call *call;
    enum step step;
    int64_t every_ns;
    bool is_failing; /* and that was said */
    struct buf trouble, kubernetes;
};

static void start(struct heartbeat *h, enum step step, str body);

/* ---- When. ---- */

static int64_t jitter(struct heartbeat *h, int64_t span)
{
    struct random random = random_of_seed(&h->chance);
    return (int64_t)((double)span * (double)random_below(&random, 1u << 30) / (1u << 30));
}

static void wait_for_next(struct heartbeat *h, int64_t delay)
{
    loop_timer_set(h->options->loop, &h->timer, delay + jitter(h, delay / 4));
}

static void on_due(void *ctx)
{
    start(ctx, STEP_LIVEZ, (str){0});
}

static void on_soon(struct loop_work *w)
{
    on_due(w);
}

static void say(struct heartbeat *h, enum log_level level, const char *what, str error)
{
    if (h->options->log && error.n)
        log_line(h->options->log, level, what, LOG_STR("cluster", h->options->cluster), LOG_STR("error", error));
    else if (h->options->log)
        log_line(h->options->log, level, what, LOG_STR("cluster", h->options->cluster));
}

static void fail(struct heartbeat *h, str why)
{
    int64_t delay = h->every_ns < RETRY_S * NS_PER_S ? h->every_ns : RETRY_S * NS_PER_S;
    if (!h->is_failing)
        say(h, LOG_WARN, "cannot renew the heartbeat on the hub", why);
    h->is_failing = true;
    wait_for_next(h, delay);
}

static void succeed(struct heartbeat *h)
{
    if (h->is_failing)
        say(h, LOG_INFO, "the heartbeat is renewed again", (str){0});
    h->is_failing = false;
    wait_for_next(h, h->every_ns);
}

/* ---- What. ---- */

static void set_note(struct arena *a, struct json *lease, str key, str value)
{
    struct json *metadata = json_get_mut(lease, S("metadata")), *notes = json_get_mut(metadata, S("annotations"));
    if (!json_is_obj(notes))
        notes = json_set(a, metadata, S("annotations"), json_obj());
    if (value.n)
        json_set(a, notes, key, json_str(value));
    else
        json_remove(notes, key);
}

/* Another time than the one that is there: the hub looks for nothing else. */
static str renew_time(const struct heartbeat *h, struct arena *a, str was)
{
    int64_t now = clock_wall_ns(&h->options->clock) / 1000;
    for (;; now++) {
        struct buf text = {.arena = a};
        time_format(&text, now / 1000000, (uint32_t)(now % 1000000) * 1000, 6);
        if (!str_eq(buf_str(&text), was))
            return buf_str(&text);
    }
}

static void renew(struct heartbeat *h, struct arena *a, struct json *lease)
{
    struct buf body = {.arena = a};
    struct json *spec = json_get_mut(lease, S("spec"));
    int64_t seconds = 0;
    if (!json_is_obj(spec))
        spec = json_set(a, lease, S("spec"), json_obj());
    if (!json_to_int(json_get(spec, S("leaseDurationSeconds")), &seconds) || seconds <= 0)
        seconds = FLEET_LEASE_SECONDS;
    h->every_ns = (seconds < EVERY_MAX_S ? seconds : EVERY_MAX_S) * NS_PER_S;
    str now = renew_time(h, a, json_get_text(spec, S("renewTime")));
    json_set(a, spec, S("renewTime"), json_str(now));
    if (json_get_text(spec, S("holderIdentity")).n == 0)
        json_set(a, spec, S("holderIdentity"), json_str(S(FLEET_AGENT)));
    set_note(a, lease, S(FLEET_ANNOTATION_AGENT), h->options->version);
    set_note(a, lease, S(FLEET_ANNOTATION_RENEWED), now);
    set_note(a, lease, S(FLEET_ANNOTATION_TROUBLE), buf_str(&h->trouble));
    if (h->kubernetes.n)
        set_note(a, lease, S(FLEET_ANNOTATION_KUBERNETES), buf_str(&h->kubernetes));
    json_encode(&body, lease, 0);
    start(h, STEP_PUT, buf_str(&body));
}

/* ---- Answers. ---- */

/* The beginning of what somebody else said, in characters that harm nobody. */
static void add_shown(struct buf *b, str text)
{
    for (size_t i = 0; i < text.n && i < SHOWN_BYTES; i++)
        buf_add_char(b, text.p[i] >= ' ' && text.p[i] < 0x7f ? text.p[i] : ' ');
}

static void note_health(struct heartbeat *h, const struct client_answer *answer)
{
    bool is_refusal = answer->status == 403 || answer->status == 404;
    if (h->step == STEP_LIVEZ && is_refusal) {
        start(h, STEP_HEALTHZ, (str){0});
        return;
    }
    h->trouble.n = 0;
    if (answer->status == 200 || is_refusal) {
        start(h, STEP_VERSION, (str){0}); /* who refuses is there */
        return;
    }
    buf_fmt(&h->trouble, "status code: %d, ", answer->status);
    add_shown(&h->trouble, answer->status ? answer->body : str_of(answer->err->msg));
    start(h, STEP_GET, (str){0});
}

static bool decode(struct arena *a, const struct client_answer *answer, struct json *ret)
{
    struct json_limits limits = {.bytes = LEASE_BYTES};
    return answer->status == 200 && json_decode(a, answer->body, &limits, NULL, ret, NULL) == 0 && json_is_obj(ret);
}

static void note_version(struct heartbeat *h, const struct client_answer *answer)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json version;
    if (decode(&scratch, answer, &version)) {
        h->kubernetes.n = 0;
        add_shown(&h->kubernetes, json_get_text(&version, S("gitVersion")));
    }
    start(h, STEP_GET, (str){0});
}

static str reason_of(struct arena *a, const struct client_answer *answer)
{
    struct err err;
    (void)client_answer_failure(answer, &err);
    return str_dup(a, str_of(err.msg));
}

static void on_end(void *ctx, const struct client_answer *answer)
{
    struct heartbeat *h = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct json lease;
    h->call = NULL;
    if (h->step == STEP_LIVEZ || h->step == STEP_HEALTHZ)
        note_health(h, answer);
    else if (h->step == STEP_VERSION)
        note_version(h, answer);
    else if (h->step == STEP_GET && decode(&scratch, answer, &lease))
        renew(h, &scratch, &lease);
    else if (h->step == STEP_PUT && answer->status == 200)
        succeed(h);
    else
        fail(h, reason_of(&scratch, answer));
}

/* ---- Questions. ---- */

static void start(struct heartbeat *h, enum step step, str body)
{
    static const str paths[] = {S_INIT("/livez"), S_INIT("/healthz"), S_INIT("/version")};
    static const struct client_listener listener = {.end = on_end};
    struct arena scratch ARENA_SCOPE = {0};
    struct buf target = {.arena = &scratch};
    int64_t limit = h->every_ns / 2 < CALL_MAX_S * NS_PER_S ? h->every_ns / 2 : CALL_MAX_S * NS_PER_S;
    struct client_request request = {.method = step == STEP_PUT ? S("PUT") : S("GET"), .body = body, .total_ns = limit};
    if (step < STEP_GET)
        buf_add_str(&target, paths[step]);
    else
        client_path(&target, &(struct client_ref){
                                 .resource = &leases, .namespace = h->options->cluster, .name = S(FLEET_LEASE)});
    request.target = buf_str(&target);
    h->step = step;
    h->call = client_start(step < STEP_GET ? h->options->managed : h->options->hub, &request, &listener, h);
}

static void discard(void *state)
{
    struct heartbeat *h = state;
    client_cancel(h->call);
    loop_timer_cancel(h->options->loop, &h->timer);
    loop_defer_cancel(h->options->loop, &h->soon);
    buf_done(&h->trouble);
    buf_done(&h->kubernetes);
    free(h);
}

void accounts_heartbeat_add(const struct accounts *x)
{
    struct heartbeat *h = xcalloc(1, sizeof *h);
    h->options = &x->options;
    h->chance.state = random_uint64(&x->options.random);
    h->every_ns = FLEET_LEASE_SECONDS * NS_PER_S;
    h->timer = (struct loop_timer){.fn = on_due, .ctx = h};
    control_own(x->options.control, h, discard);
    h->soon.fn = on_soon;
    loop_defer(x->options.loop, &h->soon);
}
