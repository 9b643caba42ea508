/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of ClusterPermissions on a fake server, where what nobody could give needs approval. */
#include "hub.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Approval. ---- */

#define STAMP "'reeve.dev/requested-by':'{\\\"user\\\":\\\"jane\\\",\\\"groups\\\":[\\\"dev\\\"]}'"
#define REVIEW(allowed) \
    "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"status\":{\"allowed\":" allowed "}}"

static void answer_reviews(struct world *w, const char *body)
{
    fake_heal(w->fake);
    hub_fault(w,
              (struct fake_fault){
                  .type = FAKE_ANSWER, .method = S("POST"), .prefix = S(REVIEWS), .status = 201, .body = str_of(body)});
}

static void who_holds_it_needs_no_approval(void **state)
{
    struct world *w = *state;
    struct json work;
    answer_reviews(w, REVIEW("true"));
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP "}", PLAIN);
    hub_settle(w);
    assert_true(hub_find(w, WORK("one-one00"), &work));
    hub_assert_str(hub_condition(w, "one", "Approved", "status"), "True");
    size_t n;
    const struct fake_request *log = fake_log(w->fake, &n);
    bool has_asked = false;
    for (size_t i = 0; i < n; i++)
        has_asked |= str_find(log[i].body, S("\"user\":\"jane\",\"groups\":[\"dev\"]")) >= 0;
    assert_true(has_asked);
    /* Once is enough for one generation. */
    answer_reviews(w, REVIEW("false"));
    fake_log_clear(w->fake);
    fake_remove(w->fake, WORK("one-one00"));
    hub_settle(w);
    assert_true(hub_find(w, WORK("one-one00"), &work));
    assert_int_equal(fake_count(w->fake, "POST", REVIEWS), 0);
}

static void who_does_not_waits_for_approval(void **state)
{
    struct world *w = *state;
    struct json work;
    answer_reviews(w, REVIEW("false"));
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP "}", PLAIN);
    hub_settle(w);
    assert_false(hub_find(w, WORK("one-one00"), &work));
    hub_assert_str(hub_condition(w, "one", "Approved", "status"), "False");
    hub_put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP ",'reeve.dev/approved-generation':'2'}", PLAIN);
    hub_settle(w);
    assert_false(hub_find(w, WORK("one-one00"), &work));
    hub_put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP ",'reeve.dev/approved-generation':'1'}", PLAIN);
    hub_settle(w);
    assert_true(hub_find(w, WORK("one-one00"), &work));
    hub_assert_str(hub_condition(w, "one", "Approved", "status"), "True");
    /* What changes later waits again, and what was approved stays meanwhile. */
    hub_put_permission(w, "one", GENERATION(2) ",'annotations':{" STAMP ",'reeve.dev/approved-generation':'1'}",
                       ROLE("delete") "," BINDING);
    hub_settle(w);
    hub_assert_str(hub_verb_of(w, WORK("one-one00")), "get");
    hub_assert_str(hub_condition(w, "one", "Approved", "status"), "False");
    /* Who gains the rights meanwhile needs nobody any more. */
    answer_reviews(w, REVIEW("true"));
    clock_fake_advance(&w->time, 301 * SECOND);
    hub_settle(w);
    hub_assert_str(hub_verb_of(w, WORK("one-one00")), "delete");
}

static void nobody_knows_who_asked(void **state)
{
    struct world *w = *state;
    struct json work;
    answer_reviews(w, REVIEW("true"));
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_put_permission(w, "two", GENERATION(1) ",'annotations':{'reeve.dev/requested-by':'jane'}", PLAIN);
    hub_settle(w);
    assert_false(hub_find(w, WORK("one-one00"), &work));
    assert_false(hub_find(w, WORK("two-two00"), &work));
    assert_int_equal(fake_count(w->fake, "POST", REVIEWS), 0);
}

static void reviews_that_fail_let_nothing_through(void **state)
{
    struct world *w = *state;
    struct json work;
    hub_fault(w, (struct fake_fault){.type = FAKE_ANSWER, .method = S("POST"), .prefix = S(REVIEWS), .status = 500});
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP "}", PLAIN);
    hub_pass(w, 2);
    assert_false(hub_find(w, WORK("one-one00"), &work));
    answer_reviews(w, REVIEW("true"));
    hub_pass(w, 10);
    assert_true(hub_find(w, WORK("one-one00"), &work));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hub_set_up_strict, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(who_holds_it_needs_no_approval),
        TEST(who_does_not_waits_for_approval),
        TEST(nobody_knows_who_asked),
        TEST(reviews_that_fail_let_nothing_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
