/* SPDX-License-Identifier: Apache-2.0 */
/* What: requests whose cost grows with their input, run in slices between which other requests are served.
 * Owns: the fibers; a task lives until its request is gone and its last step has returned.
 * Threads: the loop thread.
 * Errors: a task that is past its budget is refused: its answer becomes task_refusal, and nothing of it is stored.
 *
 *   task_run ─► a step runs at once, up to TASK_SLICE steps of its budget ──► returned: done
 *                                   │ budget_charge yields                        ▲
 *                                   ▼                                             │
 *                    heavy entry of its user's flow (flow.h) ─► one slice each time it is the user's turn
 *
 * While a step is suspended the store's view moves, kinds, schemas and permissions change. So on both sides of a charge
 * nothing may be borrowed from them but what is held (registry_hold, task_keep). Steps of one request never overlap. */
#pragma once

#include "api/request.h"
#include "base/budget.h"

struct task;
struct tasks;

enum {
    TASK_SLICE = 50000,     /* steps; about a millisecond */
    TASK_TOTAL = 100000000, /* of one request; about two seconds */
};

struct tasks *tasks_new(void);
/* Ends all tasks, with a refusal. Steps that are run from now on run at once, without a budget. */
void tasks_close(struct tasks *s);
void tasks_free(struct tasks *s);

/* Runs the handler of a request that may be costly, as its first step. */
void task_start(struct api_request *r, void (*handler)(struct api_request *r));
/* Runs step->fn as a part of the request: at once if it can, later if its user has used up its share, or directly when called
 * from a step of the same request. */
void task_run(struct api_request *r, struct task_step *step);
/* The request starts over, or goes on to the next of many objects: its whole budget is there again. */
void task_renew(struct api_request *r);
/* What it computed is of no use: it must be refused. */
bool task_is_exhausted(const struct api_request *r);
struct json task_refusal(const struct api_request *r, struct arena *a);
/* The request is gone. */
void task_release(struct api_request *r);

/* Whether the caller is inside a step, and so may be suspended. */
bool task_is_running(const struct tasks *s);
/* Inside a step: release(p) is called when it has ended. Once for each p: false when that is kept already. */
bool task_keep(struct tasks *s, void *p, void (*release)(void *p));
