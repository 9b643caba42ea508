/* SPDX-License-Identifier: Apache-2.0 */
#include "api/task.h"

#include <assert.h>
#include <stdlib.h>

#include "api/server.h"
#include "base/fiber.h"
#include "object/status.h"

enum { START_STEPS = 500 }; /* of a turn, for what a request costs before it charges anything */

struct kept {
    void *p;
    void (*release)(void *p);
};

enum task_state {
    TASK_IDLE,
    TASK_FRESH,   /* has steps to run, and no fiber yet */
    TASK_WAITING, /* suspended, until there is room among those at work */
    TASK_AT_TURN, /* suspended, takes turns */
    TASK_RUNNING,
};

struct task {
    struct tasks *tasks;
    const struct http_exchange *x; /* NULL: the request is gone */
    enum task_state state;
    struct budget budget;
    struct fiber *fiber;
    struct task *next; /* in the queue of its state */
    struct task_step *first, **end;
    struct kept *kept;
    size_t n_kept;
    bool is_slow; /* was suspended: counts as one at work, or waits for that */
};

struct queue {
    struct task *first, **end;
};

struct tasks {
    struct loop *loop;
    struct fiber_pool pool;
    struct queue fresh, waiting, turns;
    size_t at_work;
    struct task *running;
    struct loop_work serve;
    bool is_serving; /* deferred */
    bool is_closed;
    bool prefers_fresh;
    int64_t turn;      /* of the loop, by its time… */
    int64_t turn_left; /* …and steps left in it */
};

/* ---- Queues. ---- */

static void queue_init(struct queue *q)
{
    q->first = NULL;
    q->end = &q->first;
}

static void queue_add(struct queue *q, struct task *t, enum task_state state)
{
    t->state = state;
    t->next = NULL;
    *q->end = t;
    q->end = &t->next;
}

static struct task *queue_take(struct queue *q)
{
    struct task *t = q->first;
    if (t) {
        q->first = t->next;
        if (!q->first)
            q->end = &q->first;
    }
    return t;
}

/* ---- One task. ---- */

static struct task *task_of(struct api_request *r)
{
    if (r->task)
        return r->task;
    struct task *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    t->tasks = r->api->tasks;
    t->x = r->x;
    t->end = &t->first;
    budget_init(&t->budget, TASK_TOTAL);
    r->task = t;
    return t;
}

static void task_free(struct task *t)
{
    assert(!t->fiber && !t->first);
    free(t->kept);
    free(t);
}

static void run_steps(void *arg)
{
    struct task *t = arg;
    while (t->first) {
        struct task_step *step = t->first;
        t->first = step->next;
        if (!t->first)
            t->end = &t->first;
        step->fn(step);
    }
}

/* One slice. True: it is suspended. */
static bool run_slice(struct task *t)
{
    struct tasks *s = t->tasks;
    int64_t before = t->budget.used;
    if (t->x && t->x->is_abandoned && t->fiber)
        budget_exhaust(&t->budget); /* nobody waits for the answer */
    budget_grant(&t->budget, TASK_SLICE);
    t->state = TASK_RUNNING;
    s->running = t;
    struct budget *outer = budget_swap(&t->budget);
    if (t->fiber)
        t->fiber = fiber_resume(t->fiber) ? t->fiber : NULL;
    else
        t->fiber = fiber_start(&s->pool, run_steps, t);
    budget_swap(outer);
    s->running = NULL;
    budget_settle(&t->budget);
    s->turn_left -= t->budget.used - before + START_STEPS;
    return t->fiber != NULL;
}

static void end_task(struct task *t)
{
    struct tasks *s = t->tasks;
    struct task *next;
    for (size_t i = 0; i < t->n_kept; i++)
        t->kept[i].release(t->kept[i].p);
    t->n_kept = 0;
    t->state = TASK_IDLE;
    if (t->is_slow) {
        s->at_work--;
        t->is_slow = false;
    }
    if (!t->x)
        task_free(t);
    if (s->at_work < TASK_AT_WORK && (next = queue_take(&s->waiting))) {
        s->at_work++;
        next->is_slow = true;
        queue_add(&s->turns, next, TASK_AT_TURN);
    }
}

static void run_task(struct task *t)
{
    struct tasks *s = t->tasks;
    if (!run_slice(t)) {
        end_task(t);
    } else if (t->is_slow || s->at_work < TASK_AT_WORK) {
        s->at_work += !t->is_slow;
        t->is_slow = true;
        queue_add(&s->turns, t, TASK_AT_TURN);
    } else {
        queue_add(&s->waiting, t, TASK_WAITING);
    }
}

/* ---- Turns. ---- */

static bool can_start(const struct tasks *s)
{
    return s->fresh.first && s->pool.n_busy < TASK_FIBERS;
}

static void defer_serving(struct tasks *s)
{
    if (s->is_serving || !(s->turns.first || can_start(s)))
        return;
    s->is_serving = true;
    loop_defer(s->loop, &s->serve);
}

/* The next whose turn it is: new ones and those at work alternate. */
static struct task *next_task(struct tasks *s)
{
    bool takes_fresh = can_start(s) && (s->prefers_fresh || !s->turns.first);
    s->prefers_fresh = !takes_fresh;
    return queue_take(takes_fresh ? &s->fresh : &s->turns);
}

static void begin_turn(struct tasks *s)
{
    s->turn = loop_now(s->loop);
    s->turn_left = TASK_TURN;
}

static void serve_tasks(struct loop_work *w)
{
    struct tasks *s = (struct tasks *)((char *)w - offsetof(struct tasks, serve));
    struct task *t;
    s->is_serving = false;
    begin_turn(s);
    while (s->turn_left > 0 && (t = next_task(s)))
        run_task(t);
    defer_serving(s);
}

static void start_task(struct task *t)
{
    struct tasks *s = t->tasks;
    if (s->turn != loop_now(s->loop))
        begin_turn(s);
    bool is_free = !s->running && !s->fresh.first && s->turn_left > 0 && s->pool.n_busy < TASK_FIBERS;
    if (is_free)
        run_task(t);
    else
        queue_add(&s->fresh, t, TASK_FRESH);
    defer_serving(s);
}

void task_run(struct api_request *r, struct task_step *step)
{
    struct tasks *s = r->api->tasks;
    struct task *t = task_of(r);
    if (s->is_closed || s->running == t) {
        step->fn(step);
        return;
    }
    step->next = NULL;
    *t->end = step;
    t->end = &step->next;
    if (t->state == TASK_IDLE)
        start_task(t);
}

/* ---- What a request knows of its task. ---- */

void task_renew(struct api_request *r)
{
    if (r->task)
        budget_renew(&r->task->budget, TASK_TOTAL);
}

bool task_is_exhausted(const struct api_request *r)
{
    return r->task && r->task->budget.is_exhausted;
}

struct json task_refusal(const struct api_request *r, struct arena *a)
{
    struct err err;
    if (r->api->tasks->is_closed)
        err_set(&err, ERR_UNAVAILABLE, "the server is shutting down");
    else
        err_set(
            &err, ERR_TOO_LARGE,
            "the request needs too much computation: limit is %d steps for one request; use a smaller object, patch "
            "or schema",
            TASK_TOTAL);
    return status_of_err(a, &err);
}

void task_release(struct api_request *r)
{
    struct task *t = r->task;
    if (!t)
        return;
    r->task = NULL;
    t->x = NULL;
    if (t->state == TASK_IDLE)
        task_free(t);
}

bool task_is_running(const struct tasks *s)
{
    return s->running != NULL;
}

bool task_keep(struct tasks *s, void *p, void (*release)(void *p))
{
    struct task *t = s->running;
    for (size_t i = 0; i < t->n_kept; i++)
        if (t->kept[i].p == p)
            return false;
    t->kept = realloc(t->kept, (t->n_kept + 1) * sizeof *t->kept);
    if (!t->kept)
        abort();
    t->kept[t->n_kept++] = (struct kept){p, release};
    return true;
}

/* ---- Start and end. ---- */

struct tasks *tasks_new(struct loop *l)
{
    struct tasks *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->loop = l;
    s->serve.fn = serve_tasks;
    queue_init(&s->fresh);
    queue_init(&s->waiting);
    queue_init(&s->turns);
    return s;
}

void tasks_close(struct tasks *s)
{
    struct task *t;
    s->is_closed = true;
    if (s->is_serving)
        loop_defer_cancel(s->loop, &s->serve);
    s->is_serving = false;
    while ((t = queue_take(&s->turns)) || (t = queue_take(&s->waiting)) || (t = queue_take(&s->fresh))) {
        budget_exhaust(&t->budget);
        while (run_slice(t))
            ;
        end_task(t);
    }
}

void tasks_free(struct tasks *s)
{
    if (!s)
        return;
    assert(!s->turns.first && !s->waiting.first && !s->fresh.first);
    fiber_pool_done(&s->pool);
    free(s);
}
