/* SPDX-License-Identifier: Apache-2.0 */
/* Elections on a fake clock: what is written when, as client-go writes it, and that there are never two leaders. */
#include "control/election.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lease_server.h"
#include "object/object.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define NEVER INT64_MAX

enum { CANDIDATES = 3 };

struct candidate {
    struct world *w;
    struct link link;
    struct client *client;
    struct election *e;
    int64_t skew; /* of its civil time */
    char name[8];
    bool acts; /* between won and lost */
    int won, lost;
    bool frees_itself;
    bool released;
    int64_t lost_at;
};

struct world {
    struct clock_fake time;
    struct random_seeded seed;
    struct loop *loop;
    struct lease_server server;
    struct log log;
    char lines[4096];
    struct candidate c[CANDIDATES];
};

static int64_t wall(void *ctx)
{
    struct candidate *c = ctx;
    return c->w->time.wall + c->skew;
}

static int64_t mono(void *ctx)
{
    struct candidate *c = ctx;
    return c->w->time.mono;
}

static void write_line(void *ctx, str line)
{
    struct world *w = ctx;
    size_t n = strlen(w->lines);
    (void)snprintf(w->lines + n, sizeof w->lines - n, "%.*s", STR(line));
}

static void setup(struct world *w)
{
    *w = (struct world){.time = {.wall = 1000 * SECOND, .mono = 77 * SECOND}, .seed = {5}};
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    w->server.loop = w->loop;
    w->log = (struct log){.level = LOG_INFO, .clock = clock, .write = write_line, .ctx = w};
}

static void teardown(struct world *w)
{
    for (int i = 0; i < CANDIDATES; i++) {
        election_free(w->c[i].e);
        client_free(w->c[i].client);
    }
    lease_server_done(&w->server);
    loop_free(w->loop);
}

static void on_won(void *ctx)
{
    struct candidate *c = ctx;
    assert_false(c->acts);
    assert_true(election_is_leader(c->e));
    c->acts = true;
    c->won++;
}

static void on_lost(void *ctx)
{
    struct candidate *c = ctx;
    assert_true(c->acts);
    assert_false(election_is_leader(c->e));
    c->acts = false;
    c->lost++;
    c->lost_at = c->w->time.mono;
    if (c->frees_itself) {
        election_free(c->e);
        c->e = NULL;
    }
}

static void on_released(void *ctx)
{
    struct candidate *c = ctx;
    c->released = true;
}

static struct election_options options_of(struct world *w, struct candidate *c)
{
    return (struct election_options){.loop = w->loop,
                                     .client = c->client,
                                     .clock = {wall, mono, c},
                                     .random = random_of_seed(&w->seed),
                                     .log = &w->log,
                                     .namespace = S("kube-system"),
                                     .name = S("reeve"),
                                     .identity = str_of(c->name),
                                     .won = on_won,
                                     .lost = on_lost,
                                     .ctx = c};
}

static struct candidate *join(struct world *w, int i)
{
    struct candidate *c = &w->c[i];
    c->w = w;
    (void)snprintf(c->name, sizeof c->name, "c%d", i);
    if (c->client == NULL)
        c->client = client_new(&(struct client_options){.loop = w->loop,
                                                        .transport = lease_server_transport(&w->server, &c->link),
                                                        .random = random_of_seed(&w->seed)});
    struct election_options options = options_of(w, c);
    assert_int_equal(election_new(&options, &c->e, NULL), 0);
    return c;
}

static int leaders(struct world *w)
{
    int n = 0;
    for (int i = 0; i < CANDIDATES; i++)
        n += w->c[i].e && election_is_leader(w->c[i].e);
    return n;
}

static int acting(struct world *w)
{
    int n = 0;
    for (int i = 0; i < CANDIDATES; i++)
        n += w->c[i].acts;
    return n;
}

/* Time passes in small steps; at no moment do two lead, nor act. */
static void pass_by(struct world *w, int64_t ns, int64_t step)
{
    for (; ns > 0; ns -= step) {
        clock_fake_advance(&w->time, ns < step ? ns : step);
        assert_true(leaders(w) <= 1);
        loop_turn(w->loop, 0);
        assert_true(leaders(w) <= 1);
        assert_true(acting(w) <= 1);
    }
}

static void pass(struct world *w, int64_t ns)
{
    pass_by(w, ns, 10 * MS);
}

static void begin(struct world *w)
{
    loop_turn(w->loop, 0); /* deferred: the first call is made */
    pass_by(w, 10, 1);     /* there and back, at a nanosecond each */
}

static void assert_field(struct world *w, const char *name, const char *want)
{
    str have = lease_server_field(&w->server, name);
    if (!str_eq(have, str_of(want)))
        fail_msg("%s is %.*s, not %s", name, STR(have), want);
}

/* ---- What is written. ---- */

static void the_first_makes_the_lease(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    assert_false(election_is_leader(c->e));
    begin(&w);
    assert_true(election_is_leader(c->e));
    assert_int_equal(c->won, 1);
    struct arena a ARENA_SCOPE = {0};
    struct buf text = {.arena = &a};
    json_encode(&text, &w.server.lease, JSON_SORTED);
    str want =
        S("{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"reeve\","
          "\"namespace\":\"kube-system\",\"resourceVersion\":\"1\"},\"spec\":{"
          "\"acquireTime\":\"1970-01-01T00:16:40.000000Z\",\"holderIdentity\":\"c0\",\"leaseDurationSeconds\":15,"
          "\"leaseTransitions\":0,\"renewTime\":\"1970-01-01T00:16:40.000000Z\"}}");
    if (!str_eq(buf_str(&text), want))
        fail_msg("%.*s", STR(buf_str(&text)));
    assert_true(str_eq(election_leader(c->e), S("c0")));
    teardown(&w);
}

static void renewals_are_one_update_each(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    unsigned gets = w.server.gets;
    pass(&w, 60 * SECOND);
    assert_in_range(w.server.puts, 28, 30); /* every two seconds */
    assert_int_equal(w.server.gets, gets);
    assert_field(&w, "acquireTime", "1970-01-01T00:16:40.000000Z");
    assert_field(&w, "leaseTransitions", "0");
    assert_true(str_has_prefix(lease_server_field(&w.server, "renewTime"), S("1970-01-01T00:17:")));
    assert_int_equal(c->won, 1);
    assert_int_equal(c->lost, 0);
    teardown(&w);
}

static void what_others_add_to_the_object_stays(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    lease_server_annotate(&w.server); /* our next update meets a conflict, looks, and tries again at once */
    pass(&w, 3 * SECOND);
    assert_int_equal(w.server.conflicts, 1);
    assert_int_equal(c->lost, 0);
    assert_true(str_eq(object_annotation(&w.server.lease, S("kept")), S("yes")));
    assert_true(str_has_prefix(lease_server_field(&w.server, "renewTime"), S("1970-01-01T00:16:42.")));
    struct arena a ARENA_SCOPE = {0};
    struct buf text = {.arena = &a};
    election_metrics_write(c->e, &text);
    assert_true(str_find(buf_str(&text), S("leader_election_master_status{name=\"reeve\"} 1\n")) >= 0);
    assert_true(str_find(buf_str(&text), S("leader_election_slowpath_total{name=\"reeve\"} 1\n")) >= 0);
    teardown(&w);
}

/* ---- Taking over. ---- */

static void followers_wait_until_the_lease_stands_still(void **state)
{
    struct world w;
    setup(&w);
    join(&w, 0);
    begin(&w);
    struct candidate *c = join(&w, 1);
    begin(&w);
    pass(&w, 100 * SECOND);
    assert_int_equal(c->won, 0);
    assert_true(str_eq(election_leader(c->e), S("c0")));
    election_free(w.c[0].e); /* as if killed: nothing is given back */
    w.c[0].e = NULL;
    w.c[0].acts = false;
    pass(&w, 12 * SECOND);
    assert_int_equal(c->won, 0);
    pass(&w, 8 * SECOND); /* the duration, and one round of a follower at most */
    assert_int_equal(c->won, 1);
    assert_field(&w, "holderIdentity", "c1");
    assert_field(&w, "leaseTransitions", "1");
    assert_non_null(
        strstr(w.lines, "msg=\"somebody else leads\" namespace=kube-system lease=reeve identity=c1 leader=c0\n"));
    assert_non_null(strstr(w.lines, "msg=\"became leader\" namespace=kube-system lease=reeve identity=c1 holder=c1\n"));
    teardown(&w);
}

/* Not a moment earlier than its duration after it was seen first, whatever times are written in it. */
static void an_old_lease_is_given_its_time(void **state)
{
    struct world w;
    setup(&w);
    lease_server_set_spec(&w.server, "{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":30,\"leaseTransitions\":7,"
                                     "\"renewTime\":\"1960-01-01T00:00:00.000000Z\"}");
    struct candidate *c = join(&w, 0);
    begin(&w);
    pass(&w, 29990 * MS);
    assert_int_equal(w.server.puts, 0);
    pass(&w, 5 * SECOND);
    assert_int_equal(w.server.puts, 1 + (c->won && w.server.puts > 1)); /* and maybe a renewal */
    assert_int_equal(c->won, 1);
    assert_field(&w, "leaseTransitions", "8");
    teardown(&w);
}

static void a_lease_without_holder_or_duration_is_free(void **state)
{
    static const char *const specs[] = {"{}", "{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1000}",
                                        "{\"holderIdentity\":\"x\"}",
                                        "{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":-5}"};
    for (size_t i = 0; i < COUNT(specs); i++) {
        struct world w;
        setup(&w);
        lease_server_set_spec(&w.server, specs[i]);
        join(&w, 0);
        begin(&w);
        pass(&w, 5 * SECOND); /* a duration of nothing ends after it was seen, not before */
        assert_int_equal(w.c[0].won, 1);
        assert_field(&w, "leaseTransitions", "1");
        teardown(&w);
    }
}

/* A process that comes back under its old name goes on as the same holder. */
static void the_same_identity_goes_on(void **state)
{
    struct world w;
    setup(&w);
    lease_server_set_spec(&w.server, "{\"holderIdentity\":\"c0\",\"leaseDurationSeconds\":15,\"leaseTransitions\":7,"
                                     "\"acquireTime\":\"1960-01-01T00:00:00.000000Z\"}");
    join(&w, 0);
    begin(&w);
    assert_int_equal(w.c[0].won, 1);
    assert_field(&w, "leaseTransitions", "7");
    assert_field(&w, "acquireTime", "1960-01-01T00:00:00.000000Z");
    teardown(&w);
}

static void of_two_that_come_together_one_wins(void **state)
{
    struct world w;
    setup(&w);
    join(&w, 0);
    join(&w, 1);
    begin(&w);
    assert_int_equal(w.c[0].won + w.c[1].won, 1);
    assert_int_equal(w.server.conflicts, 1);
    assert_int_equal(w.server.posts, 2);
    pass(&w, 30 * SECOND);
    assert_int_equal(w.c[0].won + w.c[1].won, 1);
    teardown(&w);
}

/* ---- Losing. ---- */

static void silence_ends_leadership_at_the_deadline(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    int64_t start = w.time.mono;
    pass_by(&w, 1999 * MS, MS);
    c->link.loses_requests = true; /* all calls hang from now on */
    pass_by(&w, 8000 * MS, MS);
    assert_true(election_is_leader(c->e));
    pass_by(&w, 2 * MS, MS);
    assert_false(election_is_leader(c->e));
    assert_int_equal(c->lost, 1);
    assert_in_range(c->lost_at - start, 9999 * MS, 10001 * MS);
    assert_non_null(strstr(w.lines, "level=warn msg=\"stopped leading\""));
    c->link.loses_requests = false;
    pass(&w, 10 * SECOND); /* the campaign goes on */
    assert_int_equal(c->won, 2);
    teardown(&w);
}

/* The answer to a renewal comes late: what counts is when it was sent. */
static void slow_answers_are_worth_less(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    c->link.back_ns = 4900 * MS;
    pass_by(&w, 2 * SECOND, MS); /* the renewal is sent */
    int64_t sent = w.time.mono;
    pass_by(&w, 100 * MS, MS);
    c->link.loses_requests = true;
    pass_by(&w, 9800 * MS, MS);
    assert_true(election_is_leader(c->e)); /* it has arrived and counted */
    pass_by(&w, 200 * MS, MS);
    assert_int_equal(c->lost, 1);
    assert_in_range(c->lost_at - sent, 9990 * MS, 10010 * MS);
    teardown(&w);
}

/* The process was stopped for a while: the answer says that we lead, and that time is over. */
static void an_answer_after_a_pause_makes_no_leader(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    loop_turn(w.loop, 0);
    pass_by(&w, 2, 1); /* the look came back, the Lease is being made */
    assert_int_equal(w.server.posts, 0);
    pass_by(&w, 1, 1);
    assert_int_equal(w.server.posts, 1);
    clock_fake_advance(&w.time, 10 * SECOND);
    loop_turn(w.loop, 0);
    assert_int_equal(c->won, 0);
    assert_true(str_eq(election_leader(c->e), S("c0")));
    pass(&w, 5 * SECOND); /* it is ours, so the next look makes us lead */
    assert_int_equal(c->won, 1);
    clock_fake_advance(&w.time, 10 * SECOND);
    assert_false(election_is_leader(c->e)); /* though nobody was told yet */
    assert_int_equal(c->lost, 0);
    loop_turn(w.loop, 0);
    assert_int_equal(c->lost, 1);
    teardown(&w);
}

static void a_lost_answer_is_made_up_for(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    pass(&w, SECOND);
    c->link.loses_answers = true;
    pass(&w, 2 * SECOND); /* the renewal was stored and we do not know */
    c->link.loses_answers = false;
    pass(&w, 30 * SECOND);
    assert_int_equal(c->lost, 0);
    assert_int_equal(w.server.gets, 2); /* at the beginning, and after the call had timed out */
    teardown(&w);
}

static void a_stolen_lease_is_lost_when_it_is_seen(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    pass(&w, SECOND);
    lease_server_set_spec(&w.server,
                          "{\"holderIdentity\":\"thief\",\"leaseDurationSeconds\":15,\"leaseTransitions\":1}");
    pass(&w, 1100 * MS);
    assert_int_equal(c->lost, 1);
    assert_field(&w, "holderIdentity", "thief");
    pass(&w, 14 * SECOND);
    assert_field(&w, "holderIdentity", "thief");
    pass(&w, 5 * SECOND);
    assert_field(&w, "holderIdentity", "c0");
    assert_field(&w, "leaseTransitions", "2");
    teardown(&w);
}

static void a_deleted_lease_is_made_again(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    pass(&w, SECOND);
    lease_server_delete(&w.server);
    pass(&w, 1100 * MS);
    assert_field(&w, "holderIdentity", "c0");
    assert_int_equal(w.server.posts, 2);
    assert_int_equal(c->lost, 0);
    pass(&w, 20 * SECOND);
    assert_int_equal(c->lost, 0);
    teardown(&w);
}

static void jumps_of_civil_time_mean_nothing(void **state)
{
    static const int64_t jumps[] = {-3600 * SECOND, 3600 * SECOND, -500 * SECOND};
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    w.c[1].skew = 100000 * SECOND;
    join(&w, 1);
    for (int i = 0; i < 3; i++) {
        c->skew = jumps[i];
        w.c[1].skew = -jumps[i];
        pass(&w, 60 * SECOND);
    }
    assert_int_equal(c->lost, 0);
    assert_int_equal(w.c[1].won, 0);
    teardown(&w);
}

/* A clock that stands still would make renewals that nobody sees. */
static void renewals_move_the_lease_even_if_civil_time_does_not(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    join(&w, 1);
    for (int i = 0; i < 6000; i++) {
        c->skew -= 10 * MS;
        pass(&w, 10 * MS);
    }
    assert_int_equal(c->lost, 0);
    assert_int_equal(w.c[1].won, 0);
    teardown(&w);
}

static void nonsense_is_a_failure_and_said_once(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    c->link.babbles = true;
    begin(&w);
    pass(&w, 20 * SECOND);
    assert_int_equal(c->won, 0);
    c->link.babbles = false;
    c->link.is_cut = true;
    pass(&w, 20 * SECOND);
    char *line = strstr(w.lines, "cannot reach the lease");
    assert_non_null(line);
    assert_non_null(strstr(line, "error=\"the answer makes no sense\""));
    assert_null(strstr(line + 1, "cannot reach the lease"));
    c->link.is_cut = false;
    pass(&w, 5 * SECOND);
    c->link.is_cut = true;
    pass(&w, 3 * SECOND);
    line = strstr(line + 1, "cannot reach the lease");
    assert_non_null(line);
    assert_non_null(strstr(line, "error=\"connection refused\""));
    c->link.is_cut = false;
    pass(&w, 20 * SECOND);
    assert_int_equal(c->won, 1);
    teardown(&w);
}

static void can_be_freed_when_it_is_lost(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    c->frees_itself = true;
    begin(&w);
    c->link.loses_requests = true;
    pass(&w, 11 * SECOND);
    assert_int_equal(c->lost, 1);
    assert_null(c->e);
    c = join(&w, 1);
    c->frees_itself = true;
    begin(&w);
    pass(&w, 30 * SECOND);
    lease_server_set_spec(&w.server, "{\"holderIdentity\":\"thief\",\"leaseDurationSeconds\":15}");
    pass(&w, 3 * SECOND); /* lost from within an answer, with the next call already made or not */
    assert_int_equal(c->lost, 1);
    assert_null(c->e);
    election_free(NULL);
    teardown(&w);
}

/* ---- Giving it back. ---- */

static void released_leases_are_taken_at_once(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *c = join(&w, 0);
    begin(&w);
    join(&w, 1);
    pass(&w, 5 * SECOND);
    c->acts = false; /* what acts has ended before */
    election_release(c->e, on_released, c);
    assert_false(election_is_leader(c->e));
    assert_false(c->released);
    pass(&w, 30 * MS);
    assert_true(c->released);
    assert_int_equal(c->lost, 0); /* it knows */
    if (!str_eq(w.server.last_put, S("{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,"
                                     "\"acquireTime\":\"1970-01-01T00:16:45.000000Z\","
                                     "\"renewTime\":\"1970-01-01T00:16:45.000000Z\",\"leaseTransitions\":0}")))
        fail_msg("%.*s", STR(w.server.last_put));
    pass(&w, 4410 * MS); /* a round of a follower */
    assert_int_equal(w.c[1].won, 1);
    assert_field(&w, "leaseTransitions", "1");
    pass(&w, 30 * SECOND);
    assert_int_equal(c->won, 1); /* its campaign is over */
    teardown(&w);
}

/* The lease is given back whether or not a renewal, or the first update, was under way and had arrived. */
static void releases_with_a_write_under_way(void **state)
{
    for (int was_leading = 0; was_leading < 2; was_leading++)
        for (int arrived = 0; arrived < 2; arrived++) {
            struct world w;
            setup(&w);
            struct candidate *c = join(&w, 0);
            if (was_leading) {
                begin(&w);
                c->acts = false;
                pass(&w, 1990 * MS);
            } else {
                lease_server_set_spec(&w.server, "{\"holderIdentity\":\"\"}");
                loop_turn(w.loop, 0);
                pass_by(&w, 1, 1); /* the look is on its way back */
            }
            c->link.back_ns = arrived ? SECOND : 1;
            c->link.there_ns = arrived ? 1 : SECOND;
            pass(&w, 20 * MS);
            assert_int_equal(c->won, was_leading);
            c->link.there_ns = c->link.back_ns = 1;
            election_release(c->e, on_released, c);
            pass(&w, 3 * SECOND);
            assert_true(c->released);
            str holder = lease_server_field(&w.server, "holderIdentity");
            if (holder.n && (arrived || was_leading)) /* a first update that arrives after all this cannot be helped */
                fail_msg("still held by %.*s: leading %d", STR(holder), was_leading);
            teardown(&w);
        }
}

static void release_ends_in_any_case(void **state)
{
    struct world w;
    setup(&w);
    struct candidate *follower, *hung = join(&w, 0);
    begin(&w);
    hung->link.loses_requests = true;
    hung->acts = false;
    election_release(hung->e, on_released, hung);
    pass(&w, 10 * SECOND + 10 * MS);
    assert_true(hung->released);
    election_free(hung->e);
    hung->e = NULL;
    hung->released = false;
    hung->link.loses_requests = false;
    lease_server_delete(&w.server);
    hung = join(&w, 0);
    begin(&w);
    follower = join(&w, 1);
    begin(&w);
    election_release(follower->e, on_released, follower); /* nothing to give back */
    loop_turn(w.loop, 0);
    assert_true(follower->released);
    unsigned puts = w.server.puts;
    client_stop(hung->client); /* says nothing from now on */
    hung->acts = false;
    election_release(hung->e, on_released, hung);
    pass(&w, 10 * SECOND + 10 * MS);
    assert_true(hung->released);
    assert_int_equal(w.server.puts, puts);
    teardown(&w);
}

/* ---- Options. ---- */

static void impossible_options_are_refused(void **state)
{
    struct world w;
    struct election *e = NULL;
    struct err err;
    setup(&w);
    static const int64_t times[][3] = {
        {10 * SECOND, 10 * SECOND, SECOND},    /* the deadline is not shorter than the lease */
        {1999 * MS, 1000 * MS, 100 * MS},      /* others are told of one second */
        {15 * SECOND, 6 * SECOND, 5 * SECOND}, /* no time for a second try */
        {999 * MS, 500 * MS, 100 * MS},        /* no whole second */
        {15 * SECOND, 10 * SECOND, -1 * SECOND},
    };
    w.c[0].w = &w;
    (void)snprintf(w.c[0].name, sizeof w.c[0].name, "x");
    for (size_t i = 0; i < COUNT(times); i++) {
        struct election_options o = options_of(&w, &w.c[0]);
        o.lease_ns = times[i][0];
        o.deadline_ns = times[i][1];
        o.retry_ns = times[i][2];
        assert_int_equal(election_new(&o, &e, &err), ERR_INVALID);
    }
    struct election_options o = options_of(&w, &w.c[0]);
    o.identity = (str){0};
    assert_int_equal(election_new(&o, &e, &err), ERR_INVALID);
    assert_null(e);
    teardown(&w);
}

/* ---- Any schedule. ---- */

static int64_t below(const struct random *r, int64_t n)
{
    return (int64_t)(random_uint64(r) % (uint64_t)n);
}

static void change_link(const struct random *r, struct candidate *c)
{
    c->link = (struct link){.there_ns = 1 + below(r, 20 * MS), .back_ns = 1 + below(r, 20 * MS)};
    switch (below(r, 8)) {
    case 0:
        c->link.there_ns = below(r, 20 * SECOND);
        break;
    case 1:
        c->link.back_ns = below(r, 20 * SECOND);
        break;
    case 2:
        c->link.loses_requests = true;
        break;
    case 3:
        c->link.loses_answers = true;
        break;
    case 4:
        c->link.is_cut = true;
        break;
    case 5:
        c->link.babbles = below(r, 4) == 0;
        break;
    default:
        break;
    }
    if (below(r, 4) == 0)
        c->skew = below(r, 4000 * SECOND) - 500 * SECOND;
}

static void disturb(struct world *w, const struct random *r)
{
    struct candidate *c = &w->c[below(r, CANDIDATES)];
    switch (below(r, 12)) {
    case 0: /* killed, and started again later */
        election_free(c->e);
        c->e = NULL;
        c->acts = c->released = false;
        break;
    case 1:
        if (c->e && !c->released) {
            c->acts = false;
            election_release(c->e, on_released, c);
            c->released = true; /* frees and starts again below */
        }
        break;
    case 2:
        if (w->server.exists)
            lease_server_annotate(&w->server);
        break;
    default:
        change_link(r, c);
    }
    c = &w->c[below(r, CANDIDATES)];
    if (c->released && below(r, 2) == 0) {
        election_free(c->e);
        c->e = NULL;
        c->released = false;
    }
    if (c->e == NULL)
        join(w, (int)(c - w->c));
}

static void heal(struct world *w)
{
    for (int i = 0; i < CANDIDATES; i++) {
        w->c[i].link = (struct link){.there_ns = MS, .back_ns = MS};
        if (w->c[i].released) {
            election_free(w->c[i].e);
            w->c[i].e = NULL;
            w->c[i].released = false;
        }
        if (w->c[i].e == NULL)
            join(w, i);
    }
}

static void never_two_leaders(void **state)
{
    enum { RUNS = 150, STEPS = 400 };
    int64_t led = 0, time = 0;
    int changes = 0;
    for (uint64_t run = 1; run <= RUNS; run++) {
        struct world w;
        struct random_seeded seed = {run * 7919};
        struct random r = random_of_seed(&seed);
        setup(&w);
        for (int i = 0; i < CANDIDATES; i++)
            join(&w, i);
        for (int i = 0; i < STEPS; i++) {
            if (below(&r, 3) == 0)
                disturb(&w, &r);
            for (int k = 0; k < 20; k++) {
                int64_t ns = 1 + below(&r, 200 * MS);
                pass_by(&w, ns, ns);
                led += leaders(&w) ? ns : 0;
                time += ns;
            }
        }
        heal(&w);
        pass_by(&w, 45 * SECOND, 100 * MS); /* a lease, a hanging call and a round of a follower at most */
        if (leaders(&w) != 1)
            fail_msg("run %d: nobody leads after all is well", (int)run);
        for (int i = 0; i < CANDIDATES; i++)
            changes += w.c[i].won;
        teardown(&w);
    }
    assert_true(led > time / 4); /* it was not safe because nothing happened */
    assert_true(changes > RUNS * 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_makes_the_lease),
        cmocka_unit_test(renewals_are_one_update_each),
        cmocka_unit_test(what_others_add_to_the_object_stays),
        cmocka_unit_test(followers_wait_until_the_lease_stands_still),
        cmocka_unit_test(an_old_lease_is_given_its_time),
        cmocka_unit_test(a_lease_without_holder_or_duration_is_free),
        cmocka_unit_test(the_same_identity_goes_on),
        cmocka_unit_test(of_two_that_come_together_one_wins),
        cmocka_unit_test(silence_ends_leadership_at_the_deadline),
        cmocka_unit_test(slow_answers_are_worth_less),
        cmocka_unit_test(an_answer_after_a_pause_makes_no_leader),
        cmocka_unit_test(a_lost_answer_is_made_up_for),
        cmocka_unit_test(a_stolen_lease_is_lost_when_it_is_seen),
        cmocka_unit_test(a_deleted_lease_is_made_again),
        cmocka_unit_test(jumps_of_civil_time_mean_nothing),
        cmocka_unit_test(renewals_move_the_lease_even_if_civil_time_does_not),
        cmocka_unit_test(nonsense_is_a_failure_and_said_once),
        cmocka_unit_test(can_be_freed_when_it_is_lost),
        cmocka_unit_test(released_leases_are_taken_at_once),
        cmocka_unit_test(releases_with_a_write_under_way),
        cmocka_unit_test(release_ends_in_any_case),
        cmocka_unit_test(impossible_options_are_refused),
        cmocka_unit_test(never_two_leaders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
