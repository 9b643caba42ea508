/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn:
 *
 *     epoll_wait ► descriptors ► posted work ► timers ► deferred work ┐
 *         ▲                                                           │
 *         └───────────────────────────────────────────────────────────┘
 *
 * Timers are a binary heap of {when, timer}. A timer that is moved to a later time, as those of busy connections are with
 * every request, keeps its place: when its old time comes, it is sorted in again. Posted work is a stack that other
 * threads push to without a lock; the loop takes it as a whole and turns it around. Who pushes onto an empty stack rings
 * the eventfd.
 */
#include "net/loop.h"
#include "base/arena.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS_MAX = 256 };

struct heap_entry {
    int64_t when; /* at most timer->at */
    struct loop_timer *timer;
};

struct loop {
    int epoll, bell;
    struct clock clock;
    bool is_real; /* the clock moves by itself, and as the kernel's does */
    int64_t now;
    struct epoll_event events[EVENTS_MAX];
    struct heap_entry *heap; /* heap[1] is the first to fire; heap[0] is not used */
    uint32_t n_heap, cap_heap;
    struct loop_work *deferred, **deferred_end;
    _Atomic(struct loop_work *) posted;
    struct loop_work *arrived, **arrived_end; /* posted, taken from there, not yet served */
    atomic_bool is_stopped;
};

int loop_new_on(const struct clock *clock, struct loop **ret, struct err *err)
{
    struct loop *l = xcalloc(1, sizeof *l);
    l->deferred_end = &l->deferred;
    l->arrived_end = &l->arrived;
    l->clock = *clock;
    l->is_real = clock->mono_ns == clock_system.mono_ns;
    l->now = clock_mono_ns(clock);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL}; /* rings again without being read */
    if (l->epoll < 0 || l->bell < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->bell, &e) < 0) {
        err_set(err, ERR_IO, "make an event loop: %m");
        loop_free(l);
        return ERR_IO;
    }
    *ret = l;
    return 0;
}

int loop_new(struct loop **ret, struct err *err)
{
    return loop_new_on(&clock_system, ret, err);
}

void loop_free(struct loop *l)
{
    if (l == NULL)
        return;
    if (l->bell >= 0)
        (void)close(l->bell);
    if (l->epoll >= 0)
        (void)close(l->epoll);
    free(l->heap);
    free(l);
}

int64_t loop_now(const struct loop *l)
{
    return l->now;
}

/* ---- Descriptors. ---- */

int loop_fd_add(struct loop *l, struct loop_fd *f, unsigned events, struct err *err)
{
    assert(!f->is_added);
    struct epoll_event e = {.events = EPOLLET | EPOLLRDHUP, .data.ptr = f};
    if (events & LOOP_READ)
        e.events |= EPOLLIN;
    if (events & LOOP_WRITE)
        e.events |= EPOLLOUT;
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, f->fd, &e) < 0)
        return err_set(err, ERR_IO, "watch a descriptor: %m");
    f->is_added = true;
    f->place = 0;
    return 0;
}

void loop_fd_remove(struct loop *l, struct loop_fd *f)
{
    if (!f->is_added)
        return;
    (void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, f->fd, NULL);
    if (f->place)
        l->events[f->place - 1].data.ptr = NULL;
    f->place = 0;
    f->is_added = false;
}

static unsigned events_of(uint32_t e)
{
    unsigned events = 0;
    if (e & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        events |= LOOP_READ;
    if (e & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        events |= LOOP_WRITE;
    if (e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        events |= LOOP_HANGUP;
    return events;
}

static void serve_descriptors(struct loop *l, int n)
{
    for (int i = 0; i < n; i++) {
        struct loop_fd *f = l->events[i].data.ptr;
        if (f) /* else the eventfd: posted work is served in any case */
            f->place = (uint32_t)i + 1;
    }
    for (int i = 0; i < n; i++) {
        struct loop_fd *f = l->events[i].data.ptr;
        if (f == NULL)
            continue;
        f->place = 0;
        f->fn(f->ctx, events_of(l->events[i].events));
    }
}

/* ---- Timers. ---- */

static void put(struct loop *l, uint32_t i, struct heap_entry e)
{
    l->heap[i] = e;
    e.timer->place = i;
}

static void sift_up(struct loop *l, uint32_t i, struct heap_entry e)
{
    for (; i > 1 && l->heap[i / 2].when > e.when; i /= 2)
        put(l, i, l->heap[i / 2]);
    put(l, i, e);
}

static void sift_down(struct loop *l, uint32_t i, struct heap_entry e)
{
    for (;;) {
        uint32_t child = i * 2;
        if (child > l->n_heap)
            break;
        if (child < l->n_heap && l->heap[child + 1].when < l->heap[child].when)
            child++;
        if (l->heap[child].when >= e.when)
            break;
        put(l, i, l->heap[child]);
        i = child;
    }
    put(l, i, e);
}

static void heap_grow(struct loop *l)
{
    uint32_t cap = l->cap_heap ? l->cap_heap * 2 : 64;
    struct heap_entry *heap = cap > l->cap_heap ? realloc(l->heap, cap * sizeof *heap) : NULL;
    if (heap == NULL)
        abort();
    l->heap = heap;
    l->cap_heap = cap;
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ns)
{
    if (delay_ns < 1) /* a timer never fires in the turn that set it, so that no turn is endless */
        delay_ns = 1;
    if (__builtin_add_overflow(l->now, delay_ns, &t->at))
        t->at = INT64_MAX;
    if (t->place) {
        if (t->at < l->heap[t->place].when)
            sift_up(l, t->place, (struct heap_entry){t->at, t});
        return;
    }
    if (l->n_heap + 1 >= l->cap_heap)
        heap_grow(l);
    sift_up(l, ++l->n_heap, (struct heap_entry){t->at, t});
}

void loop_timer_cancel(struct loop *l, struct loop_timer *t)
{
    uint32_t i = t->place;
    if (i == 0)
        return;
    t->place = 0;
    struct heap_entry last = l->heap[l->n_heap--];
    if (last.timer == t)
        return;
    if (i > 1 && l->heap[i / 2].when > last.when)
        sift_up(l, i, last);
    else
        sift_down(l, i, last);
}

static void serve_timers(struct loop *l)
{
    while (l->n_heap > 0 && l->heap[1].when <= l->now) {
        struct loop_timer *t = l->heap[1].timer;
        if (t->at > l->heap[1].when) {
            sift_down(l, 1, (struct heap_entry){t->at, t});
            continue;
        }
        loop_timer_cancel(l, t);
        t->fn(t->ctx);
    }
}

/* ---- Work. ---- */

static void ring(struct loop *l)
{
    static const uint64_t one = 1;
    while (write(l->bell, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void loop_post(struct loop *l, struct loop_work *w)
{
    struct loop_work *head = atomic_load_explicit(&l->posted, memory_order_relaxed);
    do
        w->next = head;
    while (!atomic_compare_exchange_weak_explicit(&l->posted, &head, w, memory_order_release, memory_order_relaxed));
    if (head == NULL)
        ring(l);
}

/* Moves what others posted to the end of what has arrived, in the order of the calls. */
static void receive(struct loop *l)
{
    struct loop_work *newest = atomic_exchange_explicit(&l->posted, NULL, memory_order_acquire), *first = NULL;
    struct loop_work *last = newest;
    if (newest == NULL)
        return;
    while (newest) {
        struct loop_work *older = newest->next;
        newest->next = first;
        first = newest;
        newest = older;
    }
    *l->arrived_end = first;
    l->arrived_end = &last->next;
}

static void serve_posted(struct loop *l)
{
    receive(l);
    while (l->arrived) {
        struct loop_work *w = l->arrived;
        l->arrived = w->next;
        if (l->arrived == NULL)
            l->arrived_end = &l->arrived;
        w->fn(w);
    }
}

/* Takes w out of a queue, if it is in it. */
static void unlink_work(struct loop_work **head, struct loop_work ***end, const struct loop_work *w)
{
    for (struct loop_work **at = head; *at; at = &(*at)->next) {
        if (*at != w)
            continue;
        *at = w->next;
        if (*end == &w->next)
            *end = at;
        return;
    }
}

void loop_post_cancel(struct loop *l, struct loop_work *w)
{
    receive(l);
    unlink_work(&l->arrived, &l->arrived_end, w);
}

void loop_defer(struct loop *l, struct loop_work *w)
{
    w->next = NULL;
    *l->deferred_end = w;
    l->deferred_end = &w->next;
}

void loop_defer_cancel(struct loop *l, struct loop_work *w)
{
    unlink_work(&l->deferred, &l->deferred_end, w);
}

/* Takes them off one by one, so that one may cancel another; stops where the queue ended when it began. */
static void serve_deferred(struct loop *l)
{
    struct loop_work mark = {0};
    loop_defer(l, &mark);
    for (struct loop_work *w = l->deferred; w && w != &mark; w = l->deferred) {
        l->deferred = w->next;
        w->fn(w);
    }
    loop_defer_cancel(l, &mark);
}

/* ---- Turns. ---- */

/* In milliseconds, rounded up so that a timer is due when the kernel comes back; -1 for ever. */
static int wait_ms(const struct loop *l, int64_t wait_ns)
{
    if (l->deferred || l->arrived || atomic_load_explicit(&l->posted, memory_order_relaxed))
        return 0;
    if (l->n_heap > 0) {
        int64_t now = clock_mono_ns(&l->clock);
        int64_t timer_ns = l->heap[1].when > now ? l->heap[1].when - now : 0;
        if (timer_ns == 0 || (l->is_real && (wait_ns < 0 || timer_ns < wait_ns)))
            wait_ns = timer_ns;
    }
    if (wait_ns < 0)
        return -1;
    int64_t ms = wait_ns / 1000000 + (wait_ns % 1000000 != 0);
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

void loop_turn(struct loop *l, int64_t wait_ns)
{
    int n = epoll_wait(l->epoll, l->events, EVENTS_MAX, wait_ms(l, wait_ns));
    l->now = clock_mono_ns(&l->clock);
    serve_descriptors(l, n < 0 ? 0 : n); /* EINTR: a turn without events */
    serve_posted(l);
    serve_timers(l);
    serve_deferred(l);
}

void loop_run(struct loop *l)
{
    while (!atomic_exchange_explicit(&l->is_stopped, false, memory_order_acquire))
        loop_turn(l, -1);
}

void loop_stop(struct loop *l)
{
    atomic_store_explicit(&l->is_stopped, true, memory_order_release);
    ring(l);
}
