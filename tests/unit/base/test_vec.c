/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct pair {
    int a, b;
};

static void elements_stay_in_order(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    VEC(struct pair) v = {0};
    for (int i = 0; i < 1000; i++)
        *vec_push(&a, &v) = (struct pair){i, -i};
    assert_int_equal(v.n, 1000);
    int i = 0;
    vec_each(&v, it)
    {
        assert_int_equal(it->a, i);
        assert_int_equal(it->b, -i);
        i++;
    }
    assert_int_equal(i, 1000);
}

static void two_vectors_share_an_arena(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    VEC(int) odd = {0};
    VEC(int) even = {0};
    for (int i = 0; i < 1000; i++) {
        if (i % 2)
            *vec_push(&a, &odd) = i;
        else
            *vec_push(&a, &even) = i;
    }
    for (size_t i = 0; i < 500; i++) {
        assert_int_equal(odd.p[i], 2 * i + 1);
        assert_int_equal(even.p[i], 2 * i);
    }
}

static void empty_vector_has_no_elements(void **state)
{
    VEC(int) v = {0};
    vec_each(&v, it) fail_msg("there is %d", *it);
    assert_int_equal(v.n, 0);
}

static void constant_vector_can_be_walked(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct list {
        VEC(int) v;
    } list = {0};
    *vec_push(&a, &list.v) = 7;
    const struct list *view = &list;
    vec_each(&view->v, it) assert_int_equal(*it, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_stay_in_order),
        cmocka_unit_test(two_vectors_share_an_arena),
        cmocka_unit_test(empty_vector_has_no_elements),
        cmocka_unit_test(constant_vector_can_be_walked),
    };
    return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}
