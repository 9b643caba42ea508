/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void empty_arena_needs_no_memory(void **state)
{
    struct arena a = {0};
    assert_int_equal(arena_footprint(&a), 0);
    arena_reset(&a);
    arena_done(&a);
    arena_done(&a);
}

static void allocations_are_aligned_and_apart(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char *before = NULL;
    for (size_t i = 1; i < 3000; i += 7) {
        char *p = arena_alloc(&a, i);
        assert_int_equal((uintptr_t)p % 8, 0);
        memset(p, (int)(i & 0xff), i);
        if (before)
            assert_int_equal((unsigned char)*before, (i - 7) & 0xff);
        before = p;
    }
    for (size_t align = 1; align <= 16; align *= 2) {
        (void)arena_alloc_aligned(&a, 1, 1);
        assert_int_equal((uintptr_t)arena_alloc_aligned(&a, 3, align) % align, 0);
    }
}

static void large_allocation_gets_its_own_block(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    size_t size = (size_t)5 << 20;
    char *p = arena_alloc(&a, size);
    memset(p, 1, size);
    assert_true(arena_footprint(&a) >= size);
    memset(arena_alloc(&a, 10), 2, 10);
    assert_int_equal(p[size - 1], 1);
}

static void zeroed_memory_is_zero_after_reset_too(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    memset(arena_alloc(&a, 2000), 0xff, 2000);
    arena_reset(&a);
    const char *p = arena_zalloc(&a, 2000);
    for (size_t i = 0; i < 2000; i++)
        assert_int_equal(p[i], 0);
    const int *numbers = ARENA_ARRAY(&a, int, 10);
    assert_int_equal(numbers[9], 0);
}

static void newest_block_grows_in_place(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char *p = arena_alloc(&a, 16);
    memcpy(p, "0123456789abcdef", 16);
    assert_ptr_equal(arena_realloc(&a, p, 16, 64), p);
    assert_ptr_equal(arena_realloc(&a, p, 64, 8), p);
}

static void older_block_moves_when_it_grows(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char *p = arena_alloc(&a, 16);
    memcpy(p, "0123456789abcdef", 16);
    (void)arena_alloc(&a, 8);
    char *q = arena_realloc(&a, p, 16, 64);
    assert_ptr_not_equal(p, q);
    assert_memory_equal(q, "0123456789abcdef", 16);
}

static void block_moves_to_a_new_chunk_when_its_own_is_full(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char *p = arena_alloc(&a, 64);
    memset(p, 7, 64);
    char *q = arena_realloc(&a, p, 64, (size_t)3 << 20);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(q[i], 7);
    assert_non_null(arena_realloc(&a, NULL, 0, 10));
}

static void reset_keeps_the_largest_block(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    for (int i = 0; i < 100; i++)
        (void)arena_alloc(&a, 1000);
    (void)arena_alloc(&a, (size_t)1 << 21);
    (void)arena_alloc(&a, (size_t)1 << 20);
    size_t before = arena_footprint(&a);
    arena_reset(&a);
    size_t kept = arena_footprint(&a);
    assert_true(kept < before && kept >= (size_t)1 << 21);
    memset(arena_alloc(&a, (size_t)1 << 21), 1, (size_t)1 << 21);
    assert_int_equal(arena_footprint(&a), kept);
}

static void array_size_multiplies(void **state)
{
    assert_int_equal(arena_array_size(3, 5), 15);
    assert_int_equal(arena_array_size(0, SIZE_MAX), 0);
    assert_int_equal(arena_array_size(1, SIZE_MAX), SIZE_MAX);
}

static void begins_in_given_room(void **state)
{
    char room[64];
    struct arena a = ARENA_IN(room);
    char *first = arena_alloc(&a, 24), *second = arena_alloc(&a, 24);
    assert_true(first >= room && first + 24 <= second && second + 24 <= room + sizeof room);
    assert_int_equal(arena_footprint(&a), 0);
    memset(arena_alloc(&a, 1000), 'x', 1000); /* elsewhere */
    assert_true(arena_footprint(&a) >= 1000);
    arena_done(&a);
}

/* Thousands of small arenas that live for long must not cost a page each. */
static void begins_small(void **state)
{
    struct arena a = {0};
    arena_begin(&a, 64);
    assert_true(arena_footprint(&a) < 128);
    memset(arena_alloc(&a, 64), 1, 64);
    assert_true(arena_footprint(&a) < 128);
    memset(arena_alloc(&a, 100), 2, 100); /* more than there is room for */
    assert_true(arena_footprint(&a) < 1024);
    arena_done(&a);
    assert_int_equal(arena_footprint(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_arena_needs_no_memory),
        cmocka_unit_test(allocations_are_aligned_and_apart),
        cmocka_unit_test(large_allocation_gets_its_own_block),
        cmocka_unit_test(zeroed_memory_is_zero_after_reset_too),
        cmocka_unit_test(newest_block_grows_in_place),
        cmocka_unit_test(older_block_moves_when_it_grows),
        cmocka_unit_test(block_moves_to_a_new_chunk_when_its_own_is_full),
        cmocka_unit_test(reset_keeps_the_largest_block),
        cmocka_unit_test(array_size_multiplies),
        cmocka_unit_test(begins_in_given_room),
        cmocka_unit_test(begins_small),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
