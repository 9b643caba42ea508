/* SPDX-License-Identifier: Apache-2.0 */
#include "control/election.h"

#include <assert.h>
#include <stdlib.h>

#include "base/metric.h"
#include "control/campaign.h"

static const struct client_resource leases = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true);

struct election {
    struct election_options options; /* texts in the arena */
    struct arena arena;
    struct campaign campaign;
    struct client_call *call; /* NULL: none at work */
    enum campaign_call step;  /* what it is */
    int64_t sent_at;
    struct loop_timer next;     /* the next attempt */
    struct loop_timer deadline; /* of leading */
    struct loop_work soon;      /* deferred: the first attempt, or the word that all is done */
    bool is_over;               /* released, or on the way */
    bool is_failing;            /* and that was logged */
    struct buf told;            /* the leader that was logged */
    void (*done)(void *ctx);
    void *done_ctx;
};

static int64_t now_of(const struct election *e)
{
    return clock_mono_ns(&e->options.clock);
}

bool election_is_leader(const struct election *e)
{
    return !e->is_over && e->campaign.is_leading && now_of(e) < e->campaign.lead_until;
}

str election_leader(const struct election *e)
{
    return campaign_holder(&e->campaign);
}

/* ---- Saying what changed. ---- */

static void log_change(const struct election *e, enum log_level level, const char *what, struct log_field more)
{
    log_line(e->options.log, level, what, LOG_STR("namespace", e->options.namespace), LOG_STR("lease", e->options.name),
             LOG_STR("identity", e->options.identity), more);
}

static void tell_leader(struct election *e)
{
    str holder = election_leader(e);
    if (str_eq(holder, buf_str(&e->told)))
        return;
    e->told.n = 0;
    buf_add_str(&e->told, holder);
    if (holder.n && !str_eq(holder, e->options.identity))
        log_change(e, LOG_INFO, "somebody else leads", LOG_STR("leader", holder));
}

/* A call failed: said once, until one succeeds. Conflicts are part of the game. */
static void tell_failure(struct election *e, const struct client_answer *answer, bool is_read)
{
    bool is_fine = is_read || answer->status == 404 || answer->status == 409;
    if (!is_fine && !e->is_failing) {
        struct err err;
        (void)client_answer_failure(answer, &err);
        log_change(e, LOG_WARN, "cannot reach the lease", LOG_STR("error", str_of(err.msg)));
    }
    e->is_failing = !is_fine;
}

/* The last thing a handler does: the election may be gone after it. */
static void tell_owner(struct election *e, bool was_leading)
{
    bool is_leading = e->campaign.is_leading;
    tell_leader(e);
    if (e->is_over || is_leading == was_leading)
        return;
    log_change(e, is_leading ? LOG_INFO : LOG_WARN, is_leading ? "became leader" : "stopped leading",
               LOG_STR("holder", election_leader(e)));
    if (is_leading)
        e->options.won(e->options.ctx);
    else
        e->options.lost(e->options.ctx);
}

/* ---- Calls. ---- */

static void on_answer(void *ctx, const struct client_answer *answer);

static void add_target(struct buf *b, const struct election *e, enum campaign_call step)
{
    client_path(b, &(struct client_ref){.resource = &leases,
                                        .namespace = e->options.namespace,
                                        .name = step == CAMPAIGN_CREATE ? (str){0} : e->options.name});
}

static void start_call(struct election *e, enum campaign_call step)
{
    static const struct client_listener listener = {.end = on_answer};
    struct arena scratch ARENA_SCOPE = {0};
    struct buf target = {.arena = &scratch}, body = {.arena = &scratch};
    struct client_request request = {.method = S("GET"), .total_ns = e->options.deadline_ns / 2};
    add_target(&target, e, step);
    if (step != CAMPAIGN_GET) {
        struct json object = campaign_object(&e->campaign, &scratch, step, clock_wall_ns(&e->options.clock));
        json_encode(&body, &object, 0);
        request.method = step == CAMPAIGN_CREATE ? S("POST") : S("PUT");
    }
    request.target = buf_str(&target);
    request.body = buf_str(&body);
    e->step = step;
    e->sent_at = now_of(e);
    e->call = client_start(e->options.client, &request, &listener, e);
}

/* A follower waits up to 2.2 times as long as a leader, so that followers do not come together. */
static void wait_for_next(struct election *e)
{
    int64_t delay = e->options.retry_ns;
    if (!e->campaign.is_leading)
        delay += (int64_t)((double)delay * 1.2 * (double)random_below(&e->options.random, 1u << 30) / (1u << 30));
    loop_timer_set(e->options.loop, &e->next, delay);
}

static void set_deadline(struct election *e)
{
    if (e->campaign.is_leading)
        loop_timer_set(e->options.loop, &e->deadline, e->campaign.lead_until - loop_now(e->options.loop));
    else
        loop_timer_cancel(e->options.loop, &e->deadline);
}

static void go_on(struct election *e, enum campaign_call step)
{
    if (!e->is_over)
        set_deadline(e);
    if (step != CAMPAIGN_WAIT)
        start_call(e, step);
    else if (e->is_over)
        loop_defer(e->options.loop, &e->soon);
    else
        wait_for_next(e);
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
    struct election *e = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct json object;
    struct campaign_answer told = {.status = answer->status, .sent_at = e->sent_at};
    bool was_leading = e->campaign.is_leading;
    if (answer->status >= 200 && answer->status < 300 &&
        json_decode(&scratch, answer->body, NULL, NULL, &object, NULL) == 0 && json_is_obj(&object))
        told.object = &object;
    e->call = NULL;
    tell_failure(e, answer, told.object != NULL);
    go_on(e, campaign_answer(&e->campaign, e->step, &told, now_of(e)));
    tell_owner(e, was_leading);
}

static void halt(struct election *e)
{
    client_cancel(e->call);
    e->call = NULL;
    loop_timer_cancel(e->options.loop, &e->next);
    loop_timer_cancel(e->options.loop, &e->deadline);
    loop_defer_cancel(e->options.loop, &e->soon);
}

/* ---- Timers. ---- */

static void on_next(void *ctx)
{
    struct election *e = ctx;
    start_call(e, campaign_begin(&e->campaign, now_of(e)));
}

/* Whatever is at work is no longer worth waiting for: it may hang. */
static void on_deadline(void *ctx)
{
    struct election *e = ctx;
    bool was_leading = e->campaign.is_leading;
    if (e->is_over) {
        halt(e);
        loop_defer(e->options.loop, &e->soon);
        return;
    }
    campaign_expire(&e->campaign, now_of(e));
    if (!e->campaign.is_leading) {
        client_cancel(e->call);
        e->call = NULL;
    }
    if (e->call == NULL)
        go_on(e, CAMPAIGN_WAIT);
    tell_owner(e, was_leading);
}

static void on_soon(struct loop_work *w)
{
    struct election *e = (struct election *)((char *)w - offsetof(struct election, soon));
    if (e->is_over) {
        loop_timer_cancel(e->options.loop, &e->deadline);
        e->done(e->done_ctx);
    } else {
        on_next(e);
    }
}

/* ---- Beginning and end. ---- */

static int check(const struct election_options *o, struct err *err)
{
    if (o->identity.n == 0 || o->name.n == 0 || o->namespace.n == 0)
        return err_set(err, ERR_INVALID, "leader election needs an identity, and a Lease with namespace and name");
    if (o->lease_ns < NS_PER_S || o->lease_ns / NS_PER_S > INT32_MAX)
        return err_set(err, ERR_INVALID, "a lease lasts for a second at least");
    if (o->retry_ns <= 0 || o->deadline_ns >= o->lease_ns / NS_PER_S * NS_PER_S)
        return err_set(err, ERR_INVALID, "the deadline for renewals must be shorter than the lease");
    if ((double)o->deadline_ns <= 1.2 * (double)o->retry_ns)
        return err_set(err, ERR_INVALID,
                       "the deadline for renewals must be longer than 1.2 times the time between them");
    return 0;
}

int election_new(const struct election_options *options, struct election **ret, struct err *err)
{
    struct election_options o = *options;
    o.lease_ns = o.lease_ns ? o.lease_ns : 15 * NS_PER_S;
    o.deadline_ns = o.deadline_ns ? o.deadline_ns : 10 * NS_PER_S;
    o.retry_ns = o.retry_ns ? o.retry_ns : 2 * NS_PER_S;
    if (check(&o, err) < 0)
        return err_wrap(err, "leader election");
    struct election *e = xcalloc(1, sizeof *e);
    e->options = o;
    e->options.namespace = str_dup(&e->arena, o.namespace);
    e->options.name = str_dup(&e->arena, o.name);
    e->options.identity = str_dup(&e->arena, o.identity);
    campaign_init(&e->campaign, &(struct campaign_options){.namespace = e->options.namespace,
                                                           .name = e->options.name,
                                                           .identity = e->options.identity,
                                                           .lease_ns = o.lease_ns,
                                                           .deadline_ns = o.deadline_ns});
    e->next = (struct loop_timer){.fn = on_next, .ctx = e};
    e->deadline = (struct loop_timer){.fn = on_deadline, .ctx = e};
    e->soon.fn = on_soon;
    loop_defer(o.loop, &e->soon);
    *ret = e;
    return 0;
}

void election_free(struct election *e)
{
    if (e == NULL)
        return;
    halt(e);
    campaign_done(&e->campaign);
    buf_done(&e->told);
    arena_done(&e->arena);
    free(e);
}

/* A write at work may have reached the server or not: then what is there has to be looked at first. */
void election_release(struct election *e, void (*done)(void *ctx), void *ctx)
{
    assert(!e->is_over);
    bool is_writing = e->call && e->step != CAMPAIGN_GET, is_leading = e->campaign.is_leading;
    halt(e);
    e->is_over = true;
    e->done = done;
    e->done_ctx = ctx;
    campaign_release(&e->campaign);
    loop_timer_set(e->options.loop, &e->deadline, e->options.deadline_ns); /* a client that was stopped says nothing */
    if (is_writing)
        start_call(e, CAMPAIGN_GET);
    else if (is_leading)
        start_call(e, campaign_begin(&e->campaign, now_of(e)));
    else
        loop_defer(e->options.loop, &e->soon);
}

void election_metrics_write(const struct election *e, struct buf *b)
{
    char room[256];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    struct buf labels = {.arena = &scratch};
    metric_label(&labels, "name", e->options.name);
    metric_head(b, "leader_election_master_status", "gauge", "1 when this process leads.");
    metric_count(b, "leader_election_master_status", buf_str(&labels), election_is_leader(e));
    metric_head(b, "leader_election_slowpath_total", "counter", "Renewals that had to look at the lease first.");
    metric_count(b, "leader_election_slowpath_total", buf_str(&labels), e->campaign.slow_renewals);
}
