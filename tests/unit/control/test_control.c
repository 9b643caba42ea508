/* SPDX-License-Identifier: Apache-2.0 */
/* Controllers from start to stop, on informers that are synced when the test says so and on a clock that the test moves. */
#include "control/control.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

/* ---- Informers that do what they are told. They stand in for control/informer.c. ---- */

enum { HANDLERS_MAX = 8 };

struct informer {
    struct informer_options options;
    struct informer_handler handlers[HANDLERS_MAX];
    size_t n_handlers;
    bool is_started, is_stopped, is_synced, is_unserved;
};

static size_t informers_alive;

struct informer *informer_new(const struct informer_options *options)
{
    struct informer *i = calloc(1, sizeof *i);
    assert_non_null(i);
    assert_non_null(options->loop);
    i->options = *options;
    informers_alive++;
    return i;
}

void informer_free(struct informer *i)
{
    informers_alive--;
    free(i);
}

void informer_add_handler(struct informer *i, const struct informer_handler *handler)
{
    assert_true(i->n_handlers < HANDLERS_MAX);
    i->handlers[i->n_handlers++] = *handler;
}

void informer_start(struct informer *i)
{
    assert_false(i->is_started);
    i->is_started = true;
}

void informer_stop(struct informer *i)
{
    i->is_stopped = true;
}

bool informer_is_synced(const struct informer *i)
{
    return i->is_synced;
}

bool informer_is_unserved(const struct informer *i)
{
    return i->is_unserved;
}

struct informer_stats informer_stats(const struct informer *i)
{
    return (struct informer_stats){
        .n = 1, .bytes = 20, .text = 3, .lists = 4, .watches = 5, .failures = 6, .events = 7};
}

static void sync_informer(struct informer *i)
{
    assert_true(i->is_started && !i->is_stopped);
    i->is_synced = true;
    for (size_t h = 0; h < i->n_handlers; h++)
        if (i->handlers[h].synced)
            i->handlers[h].synced(i->handlers[h].ctx);
}

/* ---- A world with one controller, whose visits do what the test says. ---- */

struct world {
    struct clock_fake time;
    struct random_seeded seed;
    struct loop *loop;
    struct log log;
    struct control *c;
    struct controller *k;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t moved;
    int visits;
    char last[64];     /* the key */
    uint32_t failures; /* before the last visit */
    int code;          /* what visits return */
    int64_t again_ns;
    bool is_held; /* visits wait until it is over */
    void (*extra)(struct world *w, struct reconcile *r);
    char lines[4096]; /* of the log */
    size_t alloc, footprint;
    int stopped;
    char freed[8];
};

static int reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct world *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->visits++;
    w->failures = r->failures;
    (void)snprintf(w->last, sizeof w->last, "%.*s|%.*s", STR(r->namespace), STR(r->name));
    pthread_cond_broadcast(&w->moved);
    while (w->is_held)
        pthread_cond_wait(&w->moved, &w->lock);
    if (w->extra)
        w->extra(w, r);
    r->again_ns = w->again_ns;
    int code = w->code;
    pthread_mutex_unlock(&w->lock);
    return code ? err_set(err, (enum err_code)code, "it \"broke\"") : 0;
}

static void write_line(void *ctx, str line)
{
    struct world *w = ctx;
    pthread_mutex_lock(&w->lock);
    size_t n = strlen(w->lines);
    (void)snprintf(w->lines + n, sizeof w->lines - n, "%.*s", STR(line));
    pthread_mutex_unlock(&w->lock);
}

static void setup(struct world *w)
{
    *w = (struct world){.time = {.wall = 0, .mono = 1000}, .seed = {3}};
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    w->log = (struct log){.level = LOG_INFO, .clock = clock, .write = write_line, .ctx = w};
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->moved, NULL);
    w->c = control_new(
        &(struct control_options){.loop = w->loop, .clock = clock, .random = random_of_seed(&w->seed), .log = &w->log});
}

static void add(struct world *w, struct informer *const *needs, size_t n)
{
    w->k =
        control_add(w->c, &(struct controller_options){
                              .name = "aggregation", .reconcile = reconcile, .ctx = w, .needs = needs, .n_needs = n});
}

static void on_stopped(void *ctx)
{
    struct world *w = ctx;
    w->stopped++;
}

static void stop(struct world *w)
{
    control_stop(w->c, on_stopped, w);
    assert_int_equal(w->stopped, 0); /* never from within */
    while (!w->stopped)
        loop_turn(w->loop, -1);
}

static void teardown(struct world *w)
{
    control_free(w->c);
    loop_turn(w->loop, 0);
    loop_free(w->loop);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->moved);
    assert_int_equal(informers_alive, 0);
}

static int count_visits(struct world *w)
{
    pthread_mutex_lock(&w->lock);
    int n = w->visits;
    pthread_mutex_unlock(&w->lock);
    return n;
}

/* The loop starts the worker. */
static void await_visits(struct world *w, int n)
{
    while (count_visits(w) < n) {
        loop_turn(w->loop, 0);
        (void)sched_yield();
    }
    assert_int_equal(count_visits(w), n);
}

static void set(struct world *w, int code, int64_t again_ns, bool is_held)
{
    pthread_mutex_lock(&w->lock);
    w->code = code;
    w->again_ns = again_ns;
    w->is_held = is_held;
    pthread_cond_broadcast(&w->moved);
    pthread_mutex_unlock(&w->lock);
}

static str metrics(struct world *w, struct arena *a)
{
    struct buf b = {.arena = a};
    control_metrics_write(w->c, &b);
    return buf_str(&b);
}

static bool has_line(str text, const char *line)
{
    str rest = text, one;
    while (rest.n) {
        str_cut(rest, '\n', &one, &rest);
        if (str_eq(one, str_of(line)))
            return true;
    }
    return false;
}

/* A visit is over a moment after reconcile has returned: its worker says so by counting it. */
static void await_line(struct world *w, const char *line)
{
    for (;;) {
        struct arena a ARENA_SCOPE = {0};
        if (has_line(metrics(w, &a), line))
            return;
        loop_turn(w->loop, 0);
        (void)sched_yield();
    }
}

static const struct informer_options pods = {.resource = CLIENT_RESOURCE("", "v1", "pods", "Pod", true)};
static const struct informer_options roles = {
    .resource = CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "roles", "Role", true)};

/* ---- Starting. ---- */

static size_t count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t n = 0;
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

static void workers_wait_for_all_informers(void **state)
{
    struct world w;
    setup(&w);
    struct informer *needs[] = {control_informer(w.c, &pods), control_informer(w.c, &roles)};
    add(&w, needs, 2);
    control_enqueue(w.k, S("ns"), S("a"));
    assert_false(needs[0]->is_started);
    size_t threads = count_threads();
    control_start(w.c);
    assert_false(control_is_synced(w.c));
    sync_informer(needs[0]);
    loop_turn(w.loop, 0);
    assert_false(control_is_synced(w.c));
    needs[1]->is_unserved = true;
    assert_true(control_is_synced(w.c)); /* a kind that may never come keeps nobody from being ready */
    needs[1]->is_unserved = false;
    assert_false(control_is_synced(w.c));
    assert_int_equal(count_threads(), threads); /* there is none yet that could visit */
    sync_informer(needs[1]);
    assert_true(control_is_synced(w.c));
    assert_true(count_threads() > threads);
    await_visits(&w, 1);
    assert_string_equal(w.last, "ns|a");
    stop(&w);
    assert_true(needs[0]->is_stopped && needs[1]->is_stopped);
    teardown(&w);
}

static void late_controllers_and_informers_start_at_once(void **state)
{
    struct world w;
    setup(&w);
    struct informer *early = control_informer(w.c, &pods);
    control_start(w.c);
    sync_informer(early);
    struct informer *late = control_informer(w.c, &roles), *needs[] = {early, late};
    assert_true(late->is_started);
    add(&w, needs, 2);
    control_enqueue(w.k, (str){0}, S("system:a/b")); /* a name may have a slash */
    loop_turn(w.loop, 0);
    assert_int_equal(w.visits, 0);
    sync_informer(late);
    await_visits(&w, 1);
    assert_string_equal(w.last, "|system:a/b");
    add(&w, needs, 2); /* all is synced already */
    control_enqueue(w.k, S("ns"), S("c"));
    await_visits(&w, 2);
    stop(&w);
    assert_ptr_equal(control_informer(w.c, &pods), early);
    teardown(&w);
}

/* ---- What a visit leads to. ---- */

static void failures_are_logged_and_tried_again(void **state)
{
    struct world w;
    setup(&w);
    add(&w, NULL, 0);
    control_start(w.c);
    set(&w, ERR_FORBIDDEN, 0, false);
    control_enqueue(w.k, S("ns"), S("a"));
    await_line(&w, "controller_runtime_reconcile_errors_total{controller=\"aggregation\"} 1");
    assert_string_equal(w.lines,
                        "time=1970-01-01T00:00:00.000Z level=error msg=\"reconcile failed\" "
                        "controller=aggregation key=ns/a error=\"it \\\"broke\\\"\" reason=Forbidden failures=1\n");
    w.lines[0] = 0;
    assert_int_equal(w.failures, 0);
    loop_turn(w.loop, 0); /* the timer is set */
    clock_fake_advance(&w.time, 6 * MS);
    loop_turn(w.loop, 0);
    await_line(&w, "controller_runtime_reconcile_errors_total{controller=\"aggregation\"} 2");
    assert_int_equal(w.failures, 1);
    assert_non_null(strstr(w.lines, " failures=2\n"));
    set(&w, 0, 0, false);
    loop_turn(w.loop, 0);
    clock_fake_advance(&w.time, 11 * MS);
    loop_turn(w.loop, 0);
    await_line(&w, "controller_runtime_reconcile_total{controller=\"aggregation\",result=\"success\"} 1");
    assert_int_equal(w.failures, 2);
    control_enqueue(w.k, S("ns"), S("a"));
    await_visits(&w, 4);
    assert_int_equal(w.failures, 0); /* forgotten */
    stop(&w);
    teardown(&w);
}

static void conflicts_are_no_news(void **state)
{
    struct world w;
    setup(&w);
    add(&w, NULL, 0);
    control_start(w.c);
    set(&w, ERR_CONFLICT, 0, false);
    control_enqueue(w.k, (str){0}, S("a"));
    await_line(&w, "controller_runtime_reconcile_total{controller=\"aggregation\",result=\"requeue\"} 1");
    loop_turn(w.loop, 0);
    clock_fake_advance(&w.time, 6 * MS);
    loop_turn(w.loop, 0);
    await_line(&w, "controller_runtime_reconcile_total{controller=\"aggregation\",result=\"requeue\"} 2");
    assert_int_equal(w.failures, 1);
    await_line(&w, "controller_runtime_reconcile_errors_total{controller=\"aggregation\"} 0");
    assert_string_equal(w.lines, "");
    stop(&w);
    teardown(&w);
}

static void can_ask_to_be_called_again(void **state)
{
    struct world w;
    setup(&w);
    add(&w, NULL, 0);
    control_start(w.c);
    set(&w, 0, 50 * MS, false);
    control_enqueue(w.k, (str){0}, S("a"));
    await_line(&w, "controller_runtime_reconcile_total{controller=\"aggregation\",result=\"requeue_after\"} 1");
    loop_turn(w.loop, 0);
    set(&w, 0, 0, false);
    clock_fake_advance(&w.time, 50 * MS - 1);
    loop_turn(w.loop, 0);
    await_line(&w, "workqueue_depth{name=\"aggregation\"} 0");
    assert_int_equal(w.visits, 1);
    clock_fake_advance(&w.time, 1);
    loop_turn(w.loop, 0);
    await_visits(&w, 2);
    control_enqueue_after(w.k, (str){0}, S("b"), 10 * MS);
    loop_turn(w.loop, 0);
    clock_fake_advance(&w.time, 10 * MS);
    loop_turn(w.loop, 0);
    await_visits(&w, 3);
    assert_string_equal(w.last, "|b");
    stop(&w);
    teardown(&w);
}

/* ---- Where a visit happens. ---- */

static void fill_arena(struct world *w, struct reconcile *r)
{
    w->footprint = arena_footprint(r->arena);
    memset(arena_alloc(r->arena, w->alloc), 1, w->alloc);
}

static void arenas_are_emptied_and_do_not_stay_large(void **state)
{
    struct world w;
    static const size_t sizes[] = {100000, 100000, 1000, 5000000, 10};
    size_t kept = 0;
    setup(&w);
    w.k = control_add(
        w.c, &(struct controller_options){.name = "aggregation", .reconcile = reconcile, .ctx = &w, .workers = 1});
    control_start(w.c);
    w.extra = fill_arena;
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&w.lock);
        w.alloc = sizes[i];
        pthread_mutex_unlock(&w.lock);
        control_enqueue(w.k, (str){0}, S("a"));
        await_visits(&w, i + 1);
        char line[96];
        (void)snprintf(line, sizeof line, "workqueue_work_duration_seconds_count{name=\"aggregation\"} %d", i + 1);
        await_line(&w, line);
        if (i == 1)
            kept = w.footprint; /* of the first */
        if (i == 2)
            assert_int_equal(w.footprint, kept); /* the second had it all */
        if (i == 4)
            assert_int_equal(w.footprint, 0); /* of the fourth, given back */
    }
    assert_in_range(kept, 100000, 256 * 1024);
    stop(&w);
    teardown(&w);
}

/* The deepest tree there can be is decoded, copied, compared and told. */
static void walk_deep_tree(struct world *w, struct reconcile *r)
{
    struct buf text = {.arena = r->arena}, again = {.arena = r->arena};
    struct json tree;
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        buf_add_str(&text, S("{\"a\":"));
    buf_add_char(&text, '1');
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        buf_add_char(&text, '}');
    assert_int_equal(json_decode(r->arena, buf_str(&text), NULL, NULL, &tree, NULL), 0);
    struct json copy = json_dup(r->arena, &tree);
    assert_true(json_equal(&tree, &copy));
    assert_int_equal(json_compare(&tree, &copy), 0);
    json_encode(&again, &copy, JSON_SORTED);
    assert_true(str_eq(buf_str(&text), buf_str(&again)));
}

static void stacks_hold_the_deepest_trees(void **state)
{
    struct world w;
    setup(&w);
    add(&w, NULL, 0);
    control_start(w.c);
    w.extra = walk_deep_tree;
    control_enqueue(w.k, (str){0}, S("a"));
    await_line(&w, "controller_runtime_reconcile_total{controller=\"aggregation\",result=\"success\"} 1");
    stop(&w);
    teardown(&w);
}

static void look_at_thread(struct world *w, struct reconcile *r)
{
    char name[16];
    sigset_t blocked;
    assert_int_equal(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    assert_int_equal(strncmp(name, "aggregatio/", 11), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
    assert_true(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGCHLD));
    assert_false(sigismember(&blocked, SIGSEGV) || sigismember(&blocked, SIGABRT));
}

static void threads_have_names_and_no_signals(void **state)
{
    struct world w;
    setup(&w);
    add(&w, NULL, 0);
    w.extra = look_at_thread;
    pthread_mutex_lock(&w.lock); /* names are given right after threads begin */
    control_enqueue(w.k, (str){0}, S("a"));
    control_start(w.c);
    pthread_mutex_unlock(&w.lock);
    await_line(&w, "controller_runtime_reconcile_total{controller=\"aggregation\",result=\"success\"} 1");
    stop(&w);
    teardown(&w);
}

/* ---- Stopping. ---- */

static void stops_before_it_started(void **state)
{
    struct world w;
    setup(&w);
    struct informer *needs[] = {control_informer(w.c, &pods)};
    add(&w, needs, 1);
    stop(&w);
    control_enqueue(w.k, (str){0}, S("a")); /* too late, and harmless */
    teardown(&w);
}

static void stops_while_informers_are_not_synced(void **state)
{
    struct world w;
    setup(&w);
    struct informer *needs[] = {control_informer(w.c, &pods)};
    add(&w, needs, 1);
    control_start(w.c);
    control_stop(w.c, on_stopped, &w);
    needs[0]->is_stopped = false;
    sync_informer(needs[0]); /* nothing starts any more */
    while (!w.stopped)
        loop_turn(w.loop, -1);
    assert_int_equal(w.visits, 0);
    teardown(&w);
}

static void waits_for_visits_and_believes_their_errors_to_be_its_own_doing(void **state)
{
    struct world w;
    setup(&w);
    add(&w, NULL, 0);
    control_start(w.c);
    set(&w, ERR_UNAVAILABLE, 0, true);
    control_enqueue(w.k, (str){0}, S("a"));
    await_visits(&w, 1);
    control_enqueue(w.k, (str){0}, S("b")); /* goes to the other worker */
    await_visits(&w, 2);
    control_enqueue(w.k, (str){0}, S("never"));
    control_stop(w.c, on_stopped, &w);
    control_stop(w.c, on_stopped, &w); /* who asks is told */
    for (int i = 0; i < 3; i++)
        loop_turn(w.loop, 0);
    assert_int_equal(w.stopped, 0);
    set(&w, ERR_UNAVAILABLE, 0, false);
    while (!w.stopped)
        loop_turn(w.loop, -1);
    assert_int_equal(w.stopped, 2);
    assert_int_equal(w.visits, 2);
    assert_string_equal(w.lines, "");
    w.stopped = 0;
    stop(&w); /* once more */
    teardown(&w);
}

static void free_it(void *ctx)
{
    struct world *w = ctx;
    control_free(w->c);
    w->c = NULL;
    w->stopped++;
}

static void can_be_freed_when_it_says_that_it_stopped(void **state)
{
    for (int with_threads = 0; with_threads < 2; with_threads++) {
        struct world w;
        setup(&w);
        add(&w, NULL, 0);
        if (with_threads)
            control_start(w.c);
        control_stop(w.c, on_stopped, &w);
        control_stop(w.c, free_it, &w);
        while (w.c)
            loop_turn(w.loop, -1);
        assert_int_equal(w.stopped, 2);
        teardown(&w);
    }
    control_free(NULL);
}

/* ---- Sharing and owning. ---- */

static void equal_informers_are_one(void **state)
{
    struct world w;
    char text[] = "app";
    str label_a[] = {{text, 3}}, label_b[] = {S_INIT("app")}, label_c[] = {S_INIT("tier")};
    struct client *other = (struct client *)&w; /* never looked into */
    setup(&w);
    struct informer_options asks[] = {pods, pods, pods, pods, pods, pods, pods, pods, pods, pods, roles};
    asks[1].namespace = S("ns");
    asks[2].label_selector = S("a=b");
    asks[3].field_selector = S("a=b");
    asks[4].metadata_only = true;
    asks[5].keys_only = true;
    asks[6].labels = label_a;
    asks[6].n_labels = 1;
    asks[7].labels = label_c;
    asks[7].n_labels = 1;
    asks[8].by_owner = true;
    asks[9].client = other;
    enum { N = COUNT(asks) };
    struct informer *got[N];
    for (size_t i = 0; i < N; i++) {
        got[i] = control_informer(w.c, &asks[i]);
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(got[i], got[j]);
    }
    asks[6].labels = label_b; /* the same text elsewhere */
    for (size_t i = 0; i < N; i++)
        assert_ptr_equal(control_informer(w.c, &asks[i]), got[i]);
    text[0] = 'x'; /* texts were copied */
    assert_ptr_equal(control_informer(w.c, &asks[6]), got[6]);
    assert_int_equal(informers_alive, N);
    teardown(&w);
}

static void informers_go_when_the_last_user_does(void **state)
{
    struct world w;
    setup(&w);
    control_start(w.c);
    struct informer *i = control_informer(w.c, &pods);
    assert_ptr_equal(control_informer(w.c, &pods), i);
    control_informer_drop(w.c, i);
    assert_false(i->is_stopped);
    control_informer_drop(w.c, i);
    assert_true(i->is_stopped);
    struct informer *anew = control_informer(w.c, &pods);
    assert_ptr_not_equal(anew, i);
    assert_int_equal(informers_alive, 2); /* until the turn ends: a handler of its own may have dropped it */
    loop_turn(w.loop, 0);
    assert_int_equal(informers_alive, 1);
    stop(&w);
    control_informer_drop(w.c, anew); /* freed together with the control */
    teardown(&w);
}

struct piece {
    struct world *w;
    char name;
};

static void free_piece(void *state)
{
    struct piece *p = state;
    assert_true(informers_alive > 0); /* they can still be read */
    p->w->freed[strlen(p->w->freed)] = p->name;
}

static void state_goes_last_come_first(void **state)
{
    struct world w;
    struct piece pieces[] = {{&w, 'a'}, {&w, 'b'}, {&w, 'c'}};
    setup(&w);
    control_informer(w.c, &pods);
    for (int i = 0; i < 3; i++)
        control_own(w.c, &pieces[i], free_piece);
    control_start(w.c);
    stop(&w);
    assert_string_equal(w.freed, "");
    teardown(&w);
    assert_string_equal(w.freed, "cba");
}

/* ---- Metrics. ---- */

static void metrics_have_the_names_of_controller_runtime(void **state)
{
    static const char *const lines[] = {
        "# TYPE workqueue_depth gauge",
        "workqueue_depth{name=\"aggregation\"} 1",
        "workqueue_depth{name=\"other\"} 0",
        "workqueue_adds_total{name=\"aggregation\"} 2",
        "workqueue_retries_total{name=\"aggregation\"} 1",
        "# TYPE workqueue_queue_duration_seconds histogram",
        "workqueue_queue_duration_seconds_bucket{name=\"aggregation\",le=\"0.01\"} 1",
        "workqueue_queue_duration_seconds_bucket{name=\"aggregation\",le=\"+Inf\"} 1",
        "workqueue_work_duration_seconds_count{name=\"aggregation\"} 0",
        "workqueue_unfinished_work_seconds{name=\"aggregation\"} 2.5",
        "workqueue_longest_running_processor_seconds{name=\"aggregation\"} 2.5",
        "# TYPE controller_runtime_reconcile_total counter",
        "controller_runtime_reconcile_total{controller=\"aggregation\",result=\"success\"} 0",
        "controller_runtime_reconcile_total{controller=\"other\",result=\"error\"} 0",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"aggregation\",le=\"0.005\"} 0",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"aggregation\",le=\"60\"} 0",
        "controller_runtime_active_workers{controller=\"aggregation\"} 1",
        "controller_runtime_max_concurrent_reconciles{controller=\"aggregation\"} 2",
        "controller_runtime_max_concurrent_reconciles{controller=\"other\"} 7",
        "reeve_informer_synced{resource=\"pods\"} 0",
        "reeve_informer_objects{resource=\"pods\"} 2",
        "reeve_informer_synced{resource=\"roles.rbac.authorization.k8s.io\"} 1",
        "reeve_informer_bytes{resource=\"roles.rbac.authorization.k8s.io\"} 20",
        "reeve_informer_text_bytes{resource=\"pods\"} 6",
        "reeve_informer_lists_total{resource=\"pods\"} 8",
        "reeve_informer_watches_total{resource=\"pods\"} 10",
        "reeve_informer_failures_total{resource=\"pods\"} 12",
        "reeve_informer_events_total{resource=\"pods\"} 14",
    };
    struct world w;
    struct arena a ARENA_SCOPE = {0};
    struct informer_options metadata = pods;
    metadata.metadata_only = true;
    setup(&w);
    struct informer *all[] = {control_informer(w.c, &pods), control_informer(w.c, &roles),
                              control_informer(w.c, &metadata)};
    add(&w, NULL, 0);
    control_add(w.c, &(struct controller_options){.name = "other", .reconcile = reconcile, .ctx = &w, .workers = 7});
    control_start(w.c);
    sync_informer(all[1]);
    sync_informer(all[2]); /* one of two for pods is not enough */
    set(&w, 0, 0, true);
    control_enqueue(w.k, (str){0}, S("a"));
    await_visits(&w, 1);
    control_enqueue(w.k, (str){0}, S("a"));
    control_enqueue_after(w.k, (str){0}, S("b"), 10000 * MS);
    clock_fake_advance(&w.time, 2500 * MS);
    str text = metrics(&w, &a);
    for (size_t i = 0; i < COUNT(lines); i++)
        if (!has_line(text, lines[i]))
            fail_msg("no line %s in\n%.*s", lines[i], STR(text));
    set(&w, 0, 0, false);
    await_visits(&w, 2);
    await_line(&w, "controller_runtime_reconcile_time_seconds_sum{controller=\"aggregation\"} 2.5");
    stop(&w);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_wait_for_all_informers),
        cmocka_unit_test(late_controllers_and_informers_start_at_once),
        cmocka_unit_test(failures_are_logged_and_tried_again),
        cmocka_unit_test(conflicts_are_no_news),
        cmocka_unit_test(can_ask_to_be_called_again),
        cmocka_unit_test(arenas_are_emptied_and_do_not_stay_large),
        cmocka_unit_test(stacks_hold_the_deepest_trees),
        cmocka_unit_test(threads_have_names_and_no_signals),
        cmocka_unit_test(stops_before_it_started),
        cmocka_unit_test(stops_while_informers_are_not_synced),
        cmocka_unit_test(waits_for_visits_and_believes_their_errors_to_be_its_own_doing),
        cmocka_unit_test(can_be_freed_when_it_says_that_it_stopped),
        cmocka_unit_test(equal_informers_are_one),
        cmocka_unit_test(informers_go_when_the_last_user_does),
        cmocka_unit_test(state_goes_last_come_first),
        cmocka_unit_test(metrics_have_the_names_of_controller_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
