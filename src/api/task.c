/* SPDX-License-Identifier: Apache-2.0 */
#include "api/task.h"

#include <assert.h>
#include <stdlib.h>

#include "api/server.h"
#include "base/fiber.h"
#include "object/status.h"

struct kept {
    void *p;
    void (*release)(void *p);
};

enum task_state { TASK_IDLE, TASK_QUEUED /* fresh or suspended */, TASK_RUNNING };

struct task {
    struct tasks *tasks;
    struct api_request *r; /* NULL: the request is gone */
    enum task_state state;
    struct budget budget;
    struct fiber *fiber;
    struct flow_entry entry;   /* joined while it is queued */
    struct task *next, **back; /* among those that have joined */
    struct task_step *first, **end;
    struct task_step start;
    void (*handler)(struct api_request *r); /* what `start` calls */
    struct kept *kept;
    size_t n_kept;
};

struct tasks {
    struct fiber_pool pool;
    struct task *queued; /* all that have joined a flow */
    struct task *running;
    bool is_closed;
};

/* ---- One task. ---- */

static struct task *task_of(struct api_request *r)
{
    if (r->task)
        return r->task;
    struct task *t = xmalloc(sizeof *t);
    *t = (struct task){.tasks = r->api->tasks, .r = r, .end = &t->first};
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
    if (t->r && t->r->x->is_abandoned && t->fiber)
        budget_exhaust(&t->budget); /* no client waits for the answer */
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
    return t->fiber != NULL;
}

static void end_task(struct task *t)
{
    for (size_t i = 0; i < t->n_kept; i++)
        t->kept[i].release(t->kept[i].p);
    t->n_kept = 0;
    t->state = TASK_IDLE;
    if (t->entry.flow) {
        flow_end(&t->entry);
        *t->back = t->next;
        if (t->next)
            t->next->back = t->back;
    }
    if (!t->r)
        task_free(t);
}

static void run_task(struct task *t);

static void run_entry(struct flow_entry *e)
{
    run_task((struct task *)((char *)e - offsetof(struct task, entry)));
}

/* The next slice comes when it is the turn of its user. */
static void queue_task(struct task *t)
{
    struct tasks *s = t->tasks;
    t->state = TASK_QUEUED;
    if (t->entry.flow == NULL) {
        t->entry = (struct flow_entry){.run = run_entry};
        flow_join(&t->entry, &t->r->flow, t->fiber != NULL);
        t->next = s->queued;
        t->back = &s->queued;
        if (t->next)
            t->next->back = &t->next;
        s->queued = t;
    }
    flow_later(&t->entry);
}

static void finish_task(struct task *t)
{
    budget_exhaust(&t->budget);
    while (run_slice(t))
        ;
    end_task(t);
}

static void run_task(struct task *t)
{
    if (!run_slice(t))
        end_task(t);
    else if (t->r || t->entry.flow)
        queue_task(t);
    else
        finish_task(t); /* its request is gone, and with it its user */
}

static void run_or_queue_task(struct task *t)
{
    if (t->tasks->running || !flow_can_begin(&t->r->flow) || !flow_has_time(&t->r->flow))
        queue_task(t);
    else
        run_task(t);
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
        run_or_queue_task(t);
}

static void run_handler(struct task_step *step)
{
    struct task *t = (struct task *)((char *)step - offsetof(struct task, start));
    t->handler(t->r);
}

void task_start(struct api_request *r, void (*handler)(struct api_request *r))
{
    struct task *t = task_of(r);
    t->handler = handler;
    t->start.fn = run_handler;
    task_run(r, &t->start);
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
    t->r = NULL;
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
    t->kept = xrealloc(t->kept, (t->n_kept + 1) * sizeof *t->kept);
    t->kept[t->n_kept++] = (struct kept){p, release};
    return true;
}

/* ---- Start and end. ---- */

struct tasks *tasks_new(void)
{
    struct tasks *s = xcalloc(1, sizeof *s);
    return s;
}

void tasks_close(struct tasks *s)
{
    s->is_closed = true;
    for (struct task *t = s->queued, *next; t; t = next) {
        next = t->next; /* no other task begins or ends meanwhile */
        finish_task(t);
    }
}

void tasks_free(struct tasks *s)
{
    if (!s)
        return;
    assert(!s->queued);
    fiber_pool_done(&s->pool);
    free(s);
}
