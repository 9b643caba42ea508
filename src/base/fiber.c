/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack, from high to low addresses:
 *
 *   struct fiber │ frames of fn … ▼                                   │ guard page
 *   one page       touched as far as fn needs it                        no access
 *
 * It is as large as that of the main thread usually is, so that no recursion that is fine there fails here. Only the pages
 * that were touched are memory. On x86-64 a switch saves the registers that a function call keeps; elsewhere ucontext does
 * it, at the cost of two system calls.
 */
#include "base/fiber.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/arena.h"

#ifndef __x86_64__
#include <ucontext.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define BASE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BASE_TSAN 1
#endif
#endif

#ifdef BASE_ASAN
#include <sanitizer/asan_interface.h>
#endif
#ifdef BASE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

enum {
    STACK_BYTES = 8 * 1024 * 1024,
    GUARD_BYTES = 64 * 1024,
    HEAD_BYTES = 4096,      /* struct fiber, at the top */
    KEPT_BYTES = 64 * 1024, /* memory of an idle stack that is not returned */
    KEPT_STACKS = 8,
    TRIM_USES = 64,
};

/* Where a stack is left, and what the sanitizers have to know about it. */
struct place {
#ifdef __x86_64__
    void *sp;
#else
    ucontext_t context;
#endif
    void *fake;         /* ASan: its frames beside the stack */
    const void *bottom; /* ASan: the stack itself */
    size_t size;
    void *tsan;
};

struct fiber {
    struct fiber_pool *pool;
    struct fiber *next;  /* in the pool */
    struct fiber *outer; /* the fiber that started or resumed this one; NULL: the thread itself */
    char *base;          /* of the mapping */
    void (*fn)(void *arg);
    void *arg;
    struct place own, caller;
    unsigned uses;
    bool is_over, has_yielded;
};

static_assert(sizeof(struct fiber) <= HEAD_BYTES, "the head of a stack has room for its fiber");

static __thread struct fiber *fiber_now;

/* ---- Switching. ---- */

#ifdef __x86_64__

/* Saves what a call keeps on the present stack, leaves its address in *save, and continues on the other one. */
__attribute__((naked, noinline, used)) static void switch_stack(void **save __attribute__((unused)),
                                                                void *to __attribute__((unused)))
{
    __asm__("pushq %rbp\n\t"
            "pushq %rbx\n\t"
            "pushq %r12\n\t"
            "pushq %r13\n\t"
            "pushq %r14\n\t"
            "pushq %r15\n\t"
            "movq %rsp, (%rdi)\n\t"
            "movq %rsi, %rsp\n\t"
            "popq %r15\n\t"
            "popq %r14\n\t"
            "popq %r13\n\t"
            "popq %r12\n\t"
            "popq %rbx\n\t"
            "popq %rbp\n\t"
            "ret");
}

static void switch_place(struct place *from, struct place *to)
{
    switch_stack(&from->sp, to->sp);
}

/* The first switch to it enters `entry` as if that had been called with an aligned stack. */
static void prepare_place(struct place *place, char *top, void (*entry)(void))
{
    void **sp = (void **)(void *)top;
    *--sp = NULL; /* where a return address would be: entry never returns */
    *--sp = (void *)(uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    place->sp = (void *)sp;
}

#else

static void switch_place(struct place *from, struct place *to)
{
    if (swapcontext(&from->context, &to->context) < 0)
        abort();
}

static void prepare_place(struct place *place, char *top, void (*entry)(void))
{
    if (getcontext(&place->context) < 0)
        abort();
    place->context.uc_stack.ss_sp = top - (STACK_BYTES - HEAD_BYTES - GUARD_BYTES);
    place->context.uc_stack.ss_size = STACK_BYTES - HEAD_BYTES - GUARD_BYTES;
    place->context.uc_link = NULL;
    makecontext(&place->context, entry, 0);
}

#endif

/* From one stack to another, and back when that one is left for this. is_last: there is no way back. */
static void leave(struct place *from, struct place *to, bool is_last)
{
#ifdef BASE_ASAN
    __sanitizer_start_switch_fiber(is_last ? NULL : &from->fake, to->bottom, to->size);
#else
    (void)is_last;
#endif
#ifdef BASE_TSAN
    from->tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    switch_place(from, to);
#ifdef BASE_ASAN
    __sanitizer_finish_switch_fiber(from->fake, &to->bottom, &to->size); /* a fiber may be resumed from elsewhere */
#endif
}

/* ---- Stacks. ---- */

static char *top_of(struct fiber *f)
{
    return (char *)f;
}

static struct fiber *stack_new(struct fiber_pool *pool)
{
    char *base =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED || mprotect(base, GUARD_BYTES, PROT_NONE) < 0)
        abort();
    struct fiber *f = (struct fiber *)(void *)(base + STACK_BYTES - HEAD_BYTES);
    f->base = base;
    f->pool = pool;
    f->own.bottom = base + GUARD_BYTES;
    f->own.size = STACK_BYTES - GUARD_BYTES - HEAD_BYTES;
#ifdef BASE_TSAN
    f->own.tsan = __tsan_create_fiber(0);
#endif
    return f;
}

static void stack_free(struct fiber *f)
{
#ifdef BASE_TSAN
    __tsan_destroy_fiber(f->own.tsan);
#endif
    (void)munmap(f->base, STACK_BYTES);
}

static struct fiber *take_stack(struct fiber_pool *pool)
{
    struct fiber *f = pool->idle;
    pool->n_busy++;
    if (!f)
        return stack_new(pool);
    pool->idle = f->next;
    pool->n_idle--;
    return f;
}

/* Most fibers end soon and touch little: their stacks are looked after now and then, those of the others at once. */
static void trim_stack(struct fiber *f)
{
    if (!f->has_yielded && ++f->uses % TRIM_USES)
        return;
    (void)madvise(f->base + GUARD_BYTES, STACK_BYTES - HEAD_BYTES - KEPT_BYTES - GUARD_BYTES, MADV_DONTNEED);
}

static void give_back(struct fiber *f)
{
    struct fiber_pool *pool = f->pool;
    pool->n_busy--;
#ifdef BASE_ASAN
    __asan_unpoison_memory_region(f->base + GUARD_BYTES,
                                  STACK_BYTES - GUARD_BYTES); /* its last frames never returned */
#endif
    if (pool->n_idle >= KEPT_STACKS) {
        stack_free(f);
        return;
    }
    trim_stack(f);
    f->next = pool->idle;
    pool->idle = f;
    pool->n_idle++;
}

void fiber_pool_done(struct fiber_pool *pool)
{
    assert(pool->n_busy == 0);
    while (pool->idle) {
        struct fiber *f = pool->idle;
        pool->idle = f->next;
        stack_free(f);
    }
    pool->n_idle = 0;
}

/* ---- Running. ---- */

static void enter_fiber(void)
{
    struct fiber *f = fiber_now;
#ifdef BASE_ASAN
    __sanitizer_finish_switch_fiber(NULL, &f->caller.bottom, &f->caller.size);
#endif
    f->fn(f->arg);
    f->is_over = true;
    leave(&f->own, &f->caller, true);
    abort(); /* an ended fiber is never resumed */
}

static bool run_fiber(struct fiber *f)
{
    f->outer = fiber_now;
    fiber_now = f;
    leave(&f->caller, &f->own, false);
    fiber_now = f->outer;
    if (!f->is_over)
        return true;
    give_back(f);
    return false;
}

struct fiber *fiber_start(struct fiber_pool *pool, void (*fn)(void *arg), void *arg)
{
    struct fiber *f = take_stack(pool);
    f->fn = fn;
    f->arg = arg;
    f->is_over = f->has_yielded = false;
    prepare_place(&f->own, top_of(f), enter_fiber);
    return run_fiber(f) ? f : NULL;
}

bool fiber_resume(struct fiber *f)
{
    return run_fiber(f);
}

void fiber_yield(void)
{
    struct fiber *f = fiber_now;
    assert(f && "only a fiber can yield");
    f->has_yielded = true;
    leave(&f->own, &f->caller, false);
}

bool fiber_is_inside(void)
{
    return fiber_now != NULL;
}
