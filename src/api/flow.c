/* SPDX-License-Identifier: Apache-2.0 */
#include "api/flow.h"

#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

enum {
    SEATS_READ = 400,
    SEATS_WRITE = 200,
    WAITING_MAX = 4000, /* of one user; their memory is bounded by net */
    BEGUN_MAX = 64,     /* suspended computations of all users; past it a user may have one */
    BEGUN_OF_ONE = 8,   /* of one user */
    IDLE_MAX = 64,      /* users without requests whose time is remembered: within a turn, and to save allocations */
};

static const int64_t slice_ns = 1000000; /* of one user in one turn, before anything of this user is queued */
static const int64_t turn_ns = 3000000;  /* of all users in one turn */

struct entry_list {
    struct flow_entry *first, **end;
};

/* Queues of a flow: starts by class, then these. */
enum queue { QUEUE_GOING = FLOW_CLASSES, QUEUE_HEAVY, QUEUES, NO_QUEUE };

/* Where a flow is. RING: has something to run. PARKED: all it has waits for seats. IDLE: no entry is left. */
enum place { NOWHERE, RING, PARKED, IDLE, PLACES };

struct flow {
    struct flows *flows;
    struct flow *next, *prev; /* in its place */
    struct entry_list queues[QUEUES];
    size_t refs;                /* entries, and a run of one of them */
    size_t waiting;             /* to start */
    size_t begun;               /* heavy entries that hold memory */
    uint32_t seats[FLOW_SEATS]; /* held */
    uint8_t place;
    uint8_t next_queue; /* queues take turns too */
    int64_t turn;       /* when used_ns was counted */
    int64_t used_ns;
    str user;
    char bytes[];
};

struct flow_list {
    struct flow *first, *last;
    size_t n;
};

struct flows {
    struct flows_options options;
    struct map users;
    struct flow_list places[PLACES];
    struct loop_work work;
    bool is_work_queued, is_flushing;
    uint32_t seats[FLOW_SEATS]; /* held */
    size_t waiting, begun;
    uint64_t refused;
    int64_t turn, used_ns;
    struct flow *last;          /* whose request came last: often the next one's too */
    const struct flow *running; /* whose entry is running; NULL: none is */
};

/* ---- Lists. ---- */

static void list_append(struct entry_list *list, struct flow_entry *e)
{
    if (list->end == NULL)
        list->end = &list->first;
    e->next = NULL;
    e->back = list->end;
    *list->end = e;
    list->end = &e->next;
}

static void list_prepend(struct entry_list *list, struct flow_entry *e)
{
    if (list->first == NULL) {
        list_append(list, e);
        return;
    }
    e->next = list->first;
    e->back = &list->first;
    e->next->back = &e->next;
    list->first = e;
}

static void list_remove(struct entry_list *list, struct flow_entry *e)
{
    *e->back = e->next;
    if (e->next)
        e->next->back = e->back;
    else
        list->end = e->back;
}

/* Takes the flow from where it is, and appends it there. */
static void move_flow(struct flows *f, struct flow *flow, enum place place)
{
    struct flow_list *from = &f->places[flow->place], *to = &f->places[place];
    if (flow->place != NOWHERE) {
        *(flow->prev ? &flow->prev->next : &from->first) = flow->next;
        *(flow->next ? &flow->next->prev : &from->last) = flow->prev;
        from->n--;
    }
    flow->place = (uint8_t)place;
    flow->prev = flow->next = NULL;
    if (place == NOWHERE)
        return;
    flow->prev = to->last;
    *(to->last ? &to->last->next : &to->first) = flow;
    to->last = flow;
    to->n++;
}

static void schedule(struct flows *f)
{
    if (f->is_work_queued || f->places[RING].first == NULL)
        return;
    f->is_work_queued = true;
    loop_defer(f->options.loop, &f->work);
}

static void enter_ring(struct flows *f, struct flow *flow)
{
    if (flow->place != RING)
        move_flow(f, flow, RING);
    schedule(f);
}

/* ---- Flows. ---- */

static struct flow *flow_ref(struct flows *f, str user)
{
    struct flow *flow = f->last && str_eq(f->last->user, user) ? f->last : map_get(&f->users, user);
    if (!flow) {
        flow = xcalloc(1, sizeof *flow + user.n);
        if (user.n)
            memcpy(flow->bytes, user.p, user.n);
        flow->flows = f;
        flow->user = (str){flow->bytes, user.n};
        map_set(&f->users, flow->user, flow);
    }
    f->last = flow;
    if (flow->refs++ == 0)
        move_flow(f, flow, NOWHERE);
    return flow;
}

static void forget_oldest(struct flows *f)
{
    struct flow *flow = f->places[IDLE].first;
    if (f->last == flow)
        f->last = NULL;
    move_flow(f, flow, NOWHERE);
    map_del(&f->users, flow->user);
    free(flow);
}

static void flow_unref(struct flows *f, struct flow *flow)
{
    if (--flow->refs)
        return;
    move_flow(f, flow, IDLE);
    if (f->places[IDLE].n > IDLE_MAX)
        forget_oldest(f);
}

/* ---- Time. ---- */

static int64_t time_now(const struct flows *f)
{
    return clock_mono_ns(&f->options.clock);
}

/* Of this turn, by all users and by one. */
static int64_t *turn_time(int64_t *turn, int64_t *used_ns, int64_t now)
{
    if (*turn != now)
        *used_ns = 0;
    *turn = now;
    return used_ns;
}

static int64_t *time_of_all(struct flows *f)
{
    return turn_time(&f->turn, &f->used_ns, loop_now(f->options.loop));
}

static int64_t *time_of_flow(struct flows *f, struct flow *flow)
{
    return turn_time(&flow->turn, &flow->used_ns, loop_now(f->options.loop));
}

static void charge_time(struct flows *f, struct flow *flow, int64_t ns)
{
    *time_of_all(f) += ns;
    *time_of_flow(f, flow) += ns;
}

static bool has_time(struct flows *f, struct flow *flow)
{
    int64_t own = *time_of_flow(f, flow);
    return f->running == flow || own == 0 || (own < slice_ns && *time_of_all(f) < turn_ns);
}

bool flow_has_time(struct flow_entry *e)
{
    return e->flow == NULL || has_time(e->flow->flows, e->flow);
}

void flow_charge(struct flow_entry *e, int64_t ns)
{
    e->cost_ns = ns;
    if (e->flow)
        charge_time(e->flow->flows, e->flow, ns);
}

/* ---- Seats. ---- */

/* Other queues than those of the classes with seats need none. */
static bool has_seat_for(const struct flows *f, const struct flow *flow, unsigned class)
{
    if (class >= FLOW_SEATS || flow->seats[class] == 0 || f->is_flushing)
        return true;
    uint32_t all = f->options.seats[class], own = (all + 1) / 2;
    return flow->seats[class] < own && f->seats[class] < all;
}

static void take_seat(struct flow_entry *e)
{
    if (e->class >= FLOW_SEATS)
        return;
    e->has_seat = true;
    e->flow->seats[e->class]++;
    e->flow->flows->seats[e->class]++;
}

static void leave_seat(struct flow_entry *e)
{
    struct flows *f = e->flow->flows;
    if (!e->has_seat)
        return;
    e->has_seat = false;
    e->flow->seats[e->class]--;
    f->seats[e->class]--;
    while (f->places[PARKED].first)
        enter_ring(f, f->places[PARKED].first);
}

/* ---- Running. ---- */

static void run_entry(struct flows *f, struct flow_entry *e)
{
    struct flow *flow = e->flow;
    int64_t expected = e->cost_ns, before = time_now(f);
    const struct flow *outer = f->running;
    flow->refs++; /* the entry may end, and be freed, while it runs */
    f->running = flow;
    e->run(e);
    f->running = outer;
    int64_t took = time_now(f) - before;
    charge_time(f, flow, took > expected ? took : expected);
    flow_unref(f, flow);
}

static void leave_queue(struct flow_entry *e)
{
    struct flow *flow = e->flow;
    if (e->queue == NO_QUEUE)
        return;
    list_remove(&flow->queues[e->queue], e);
    if (e->queue < FLOW_CLASSES) {
        flow->waiting--;
        flow->flows->waiting--;
    }
    e->queue = NO_QUEUE;
}

/* A heavy entry holds memory from its first run on. */
static void begin_entry(struct flow_entry *e)
{
    if (e->has_begun)
        return;
    e->has_begun = true;
    e->flow->begun++;
    e->flow->flows->begun++;
}

/* The next entry of this user that can run, taken from its queue; NULL: there is none. */
static struct flow_entry *next_entry(struct flows *f, struct flow *flow)
{
    struct flow_entry *e = NULL;
    for (unsigned i = 0; e == NULL && i < QUEUES; i++) {
        unsigned queue = (flow->next_queue + i) % QUEUES;
        e = has_seat_for(f, flow, queue) ? flow->queues[queue].first : NULL;
    }
    if (e == NULL)
        return NULL;
    flow->next_queue = (uint8_t)((e->queue + 1U) % QUEUES);
    if (e->queue < FLOW_CLASSES)
        take_seat(e);
    if (e->is_heavy)
        begin_entry(e);
    leave_queue(e);
    return e;
}

/* One entry of each user, in a ring; at least one, so that there is progress even if turns are full. */
static void serve_ring(struct loop_work *w)
{
    struct flows *f = (struct flows *)((char *)w - offsetof(struct flows, work));
    bool has_run = false;
    f->is_work_queued = false;
    while (f->places[RING].first && (!has_run || f->is_flushing || *time_of_all(f) < turn_ns)) {
        struct flow *flow = f->places[RING].first;
        struct flow_entry *e = next_entry(f, flow);
        if (e) {
            move_flow(f, flow, RING); /* to the end */
            run_entry(f, e);
            has_run = true;
        } else {
            move_flow(f, flow, flow->waiting ? PARKED : NOWHERE);
        }
    }
    schedule(f);
}

void flows_flush(struct flows *f)
{
    f->is_flushing = true;
    while (f->places[PARKED].first)
        enter_ring(f, f->places[PARKED].first);
    if (!f->is_work_queued)
        return;
    loop_defer_cancel(f->options.loop, &f->work);
    serve_ring(&f->work);
}

/* ---- What requests call. ---- */

static void queue_start(struct flow_entry *e)
{
    e->queue = e->class;
    list_append(&e->flow->queues[e->class], e);
    e->flow->waiting++;
    e->flow->flows->waiting++;
    if (e->flow->place != PARKED || has_seat_for(e->flow->flows, e->flow, e->class))
        enter_ring(e->flow->flows, e->flow);
}

bool flow_start(struct flows *f, struct flow_entry *e, str user, enum flow_class class)
{
    assert(e->flow == NULL);
    struct flow *flow = flow_ref(f, user);
    if (flow->waiting >= WAITING_MAX && class != FLOW_FREE) {
        f->refused++;
        flow_unref(f, flow);
        return false;
    }
    e->flow = flow;
    e->class = (uint8_t) class;
    e->queue = NO_QUEUE;
    e->cost_ns = 0;
    /* A watch begins with next to no work, and what it reads then takes its turns: it never waits with its memory. */
    if (class == FLOW_LONG || (flow->waiting == 0 && has_time(f, flow) && has_seat_for(f, flow, class))) {
        take_seat(e);
        run_entry(f, e);
    } else {
        queue_start(e);
    }
    return true;
}

bool flow_can_begin(const struct flow_entry *request)
{
    const struct flow *flow = request->flow;
    if (flow == NULL || flow->begun == 0)
        return true;
    return flow->begun < BEGUN_OF_ONE && flow->flows->begun < BEGUN_MAX;
}

void flow_join(struct flow_entry *e, const struct flow_entry *request, bool has_begun)
{
    assert(e->flow == NULL && request->flow != NULL);
    e->flow = request->flow;
    e->flow->refs++;
    e->queue = NO_QUEUE;
    e->class = FLOW_FREE;
    e->is_heavy = true;
    e->has_begun = false;
    if (has_begun)
        begin_entry(e);
}

void flow_later(struct flow_entry *e)
{
    if (e->flow == NULL || e->queue != NO_QUEUE)
        return;
    struct flow *flow = e->flow;
    e->queue = e->is_heavy ? QUEUE_HEAVY : QUEUE_GOING;
    if (e->is_heavy && e->has_run)
        list_prepend(&flow->queues[QUEUE_HEAVY], e);
    else
        list_append(&flow->queues[e->queue], e);
    e->has_run = true;
    enter_ring(flow->flows, flow);
}

void flow_end(struct flow_entry *e)
{
    struct flow *flow = e->flow;
    if (flow == NULL)
        return;
    leave_queue(e);
    leave_seat(e);
    if (e->is_heavy && e->has_begun) {
        flow->begun--;
        flow->flows->begun--;
    }
    e->flow = NULL;
    flow_unref(flow->flows, flow);
}

/* ---- Life. ---- */

struct flows *flows_new(const struct flows_options *options)
{
    struct flows *f = xcalloc(1, sizeof *f);
    f->options = *options;
    if (f->options.seats[FLOW_READ] == 0)
        f->options.seats[FLOW_READ] = SEATS_READ;
    if (f->options.seats[FLOW_WRITE] == 0)
        f->options.seats[FLOW_WRITE] = SEATS_WRITE;
    f->work.fn = serve_ring;
    return f;
}

void flows_free(struct flows *f)
{
    if (f == NULL)
        return;
    while (f->places[IDLE].first)
        forget_oldest(f);
    assert(f->users.n == 0 && "requests end before the server does");
    if (f->is_work_queued)
        loop_defer_cancel(f->options.loop, &f->work);
    map_done(&f->users);
    free(f);
}

struct flows_stats flows_stats(const struct flows *f)
{
    return (struct flows_stats){
        .at_work = {f->seats[FLOW_READ], f->seats[FLOW_WRITE]},
        .users = f->users.n - f->places[IDLE].n,
        .waiting = f->waiting,
        .refused = f->refused,
    };
}
