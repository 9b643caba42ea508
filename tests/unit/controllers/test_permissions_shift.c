/* SPDX-License-Identifier: Apache-2.0 */
/* Two pure parts of the controller of ClusterPermissions: how works become others without a grant being away (shift.h), and how a
 * visit's own writes are told from what others do (echo.h). */
#include "controllers/permissions/echo.h"
#include "controllers/permissions/shift.h"

#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- A hub in one struct: works by name, an agent that reports when it is told to. ---- */

enum { WORKS = 16 };

struct hub {
    struct arena a;
    struct json permission;
    struct json works[WORKS];
    size_t n;
    bool is_waiting; /* said the last plan */
    size_t writes;
};

static struct json parse(struct arena *a, str text)
{
    struct json tree;
    struct err err;
    if (json_decode(a, text, NULL, NULL, &tree, &err) < 0)
        fail_msg("%.*s: %s", STR(text), err.msg);
    return tree;
}

static struct hub *hub_new(void)
{
    struct hub *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->permission = parse(&h->a, S("{\"metadata\":{\"name\":\"p\",\"uid\":\"12345-6\"}}"));
    return h;
}

static void hub_free(struct hub *h)
{
    arena_done(&h->a);
    free(h);
}

/* "a" is the ClusterRole a; "a=5": with five bytes of rules; "a@x": a template with selector x. */
static struct json manifest(struct arena *a, str text)
{
    str name, rest, selector = {0};
    struct json m = json_obj(), meta = json_obj(), notes = json_obj(), rules = json_arr();
    uint64_t n = 1;
    if (str_cut(text, '=', &name, &rest))
        assert_true(str_to_uint64(rest, &n));
    if (str_cut(name, '@', &name, &selector))
        json_add(a, &notes, S(FLEET_ANNOTATION_SELECTOR), json_str(selector));
    char *filler = arena_alloc(a, n);
    memset(filler, 'x', n);
    json_push(a, &rules, json_str((str){filler, n}));
    json_add(a, &meta, S("name"), json_str(str_dup(a, name)));
    json_add(a, &meta, S("annotations"), notes);
    json_add(a, &m, S("apiVersion"), json_str(S("rbac.authorization.k8s.io/v1")));
    json_add(a, &m, S("kind"), json_str(selector.n ? S("Role") : S("ClusterRole")));
    json_add(a, &m, S("metadata"), meta);
    json_add(a, &m, S("rules"), rules);
    return m;
}

/* "a b|c": two parts. */
static struct permission_build want(struct hub *h, const char *text)
{
    struct permission_work *works = ARENA_ARRAY(&h->a, struct permission_work, WORKS);
    struct permission_build build = {.outcome = PERMISSION_BUILT, .works = works};
    str rest = str_of(text), part, one;
    for (bool more = rest.n > 0; more;) {
        struct json list = json_arr(), workload = json_obj();
        more = str_cut(rest, '|', &part, &rest);
        for (bool again = true; again;) {
            again = str_cut(part, ' ', &one, &part);
            json_push(&h->a, &list, manifest(&h->a, one));
        }
        struct permission_work *w = &works[build.n];
        w->name = permission_work_name(&h->a, &h->permission, build.n++);
        w->spec = json_obj();
        json_add(&h->a, &workload, S("manifests"), list);
        json_add(&h->a, &w->spec, S("workload"), workload);
    }
    return build;
}

static void store(struct hub *h, const struct shift_step *step)
{
    size_t at = 0;
    while (at < h->n && !str_eq(object_name(&h->works[at]), step->name))
        at++;
    int64_t generation = at < h->n ? object_generation(&h->works[at]) + 1 : 1;
    struct json work = json_obj(), meta = json_obj();
    json_add(&h->a, &meta, S("name"), json_str(step->name));
    json_add(&h->a, &meta, S("generation"), json_int(generation));
    json_add(&h->a, &work, S("metadata"), meta);
    json_add(&h->a, &work, S("spec"), step->spec);
    if (at < h->n && json_get(&h->works[at], S("status")))
        json_add(&h->a, &work, S("status"), *json_get(&h->works[at], S("status")));
    assert_true(at < WORKS);
    h->works[at] = work;
    h->n += at == h->n;
}

static void drop(struct hub *h, str name)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++) {
        if (!str_eq(object_name(&h->works[i]), name))
            h->works[kept++] = h->works[i];
    }
    h->n = kept;
}

static size_t bytes_of(struct hub *h, const struct json *spec)
{
    size_t bytes = 0;
    const struct json *list = json_dig(spec, "workload.manifests");
    json_each_item(list, m)
    {
        struct buf text = {.arena = &h->a};
        json_encode(&text, m, 0);
        bytes += text.n;
    }
    return bytes;
}

/* One visit. */
static void visit(struct hub *h, const char *wanted)
{
    struct permission_build build = want(h, wanted);
    struct json have[WORKS];
    memcpy(have, h->works, sizeof have);
    struct shift_plan plan = shift_plan(&h->a, &h->permission, have, h->n, &build);
    h->is_waiting = plan.is_waiting;
    h->writes = 0;
    for (size_t i = 0; i < plan.n; i++) {
        const struct shift_step *step = &plan.p[i];
        h->writes += step->action != SHIFT_KEEP;
        if (step->action == SHIFT_DELETE)
            drop(h, step->name);
        else if (step->action != SHIFT_KEEP)
            store(h, step);
        assert_true(step->action == SHIFT_DELETE || bytes_of(h, &step->spec) <= FLEET_WORK_BYTES);
    }
}

/* The agent reports all works, and all manifests but those named. */
static void report(struct hub *h, const char *failing)
{
    struct clock_fake time = {0};
    struct clock clock = clock_of_fake(&time);
    for (size_t i = 0; i < h->n; i++) {
        struct json *w = &h->works[i];
        struct json entries = json_arr(), result = json_obj();
        const struct json *list = json_dig(w, "spec.workload.manifests");
        int64_t ordinal = 0;
        json_each_item(list, m)
        {
            struct json entry = json_obj(), meta = json_obj(), conditions = json_arr();
            json_add(&h->a, &meta, S("ordinal"), json_int(ordinal++));
            bool is_bad = str_eq(object_name(m), str_of(failing));
            condition_set(
                &h->a, &conditions,
                &(struct condition){.type = S("Applied"), .status = is_bad ? S("False") : S("True"), .reason = S("X")},
                &clock);
            json_add(&h->a, &entry, S("resourceMeta"), meta);
            json_add(&h->a, &entry, S("conditions"), conditions);
            json_push(&h->a, &entries, entry);
        }
        json_add(&h->a, &result, S("manifests"), entries);
        json_remove(w, S("status"));
        condition_set(&h->a, conditions_of(&h->a, w),
                      &(struct condition){.type = S("Applied"),
                                          .status = S("True"),
                                          .reason = S("X"),
                                          .observed_generation = object_generation(w)},
                      &clock);
        json_add(&h->a, json_get_mut(w, S("status")), S("resourceStatus"), result);
    }
}

/* "p-12345: a b | p-12345-1: c" */
static void assert_works(struct hub *h, const char *wanted)
{
    struct buf text = {.arena = &h->a};
    for (size_t i = 0; i < h->n; i++) {
        const struct json *list = json_dig(&h->works[i], "spec.workload.manifests");
        buf_fmt(&text, "%s%.*s:", i ? " | " : "", STR(object_name(&h->works[i])));
        json_each_item(list, m)
        {
            size_t n = json_text(&json_get(m, S("rules"))->items[0]).n;
            str selector = object_annotation(m, S(FLEET_ANNOTATION_SELECTOR));
            buf_fmt(&text, " %.*s%s%.*s", STR(object_name(m)), selector.n ? "@" : "", STR(selector));
            if (n > 1)
                buf_fmt(&text, "=%zu", n);
        }
    }
    buf_add_char(&text, '\0');
    assert_string_equal(text.p ? text.p : "", wanted);
}

/* ---- Shifting. ---- */

static void one_part_is_simply_written(void **state)
{
    struct hub *h = hub_new();
    visit(h, "a b");
    assert_works(h, "p-12345: a b");
    visit(h, "a=2");
    assert_works(h, "p-12345: a=2");
    visit(h, "a=2");
    assert_int_equal(h->writes, 0);
    assert_false(h->is_waiting);
    visit(h, "");
    assert_int_equal(h->n, 0);
    hub_free(h);
}

static void what_moves_is_there_before_it_leaves(void **state)
{
    struct hub *h = hub_new();
    visit(h, "a b c");
    report(h, "");
    visit(h, "x a|b c");
    assert_works(h, "p-12345: x a b c | p-12345-1: b c");
    assert_true(h->is_waiting);
    visit(h, "x a|b c"); /* no report yet */
    assert_int_equal(h->writes, 0);
    report(h, "");
    visit(h, "x a|b c");
    assert_works(h, "p-12345: x a | p-12345-1: b c");
    assert_false(h->is_waiting);
    hub_free(h);
}

static void a_part_goes_when_others_have_all_of_it(void **state)
{
    struct hub *h = hub_new();
    visit(h, "a b|c d");
    report(h, "");
    visit(h, "a c");
    assert_works(h, "p-12345: a c | p-12345-1: c");
    report(h, "");
    visit(h, "a c");
    assert_works(h, "p-12345: a c");
    hub_free(h);
}

static void a_report_of_an_older_generation_does_not_count(void **state)
{
    struct hub *h = hub_new();
    visit(h, "a|b");
    report(h, "");
    visit(h, "b|c"); /* b moves to a part that was reported, but not with b */
    assert_works(h, "p-12345: b | p-12345-1: c b");
    visit(h, "b|c");
    assert_int_equal(h->writes, 0);
    report(h, "");
    visit(h, "b|c");
    assert_works(h, "p-12345: b | p-12345-1: c");
    hub_free(h);
}

static void one_that_fails_does_not_hold_up_the_others(void **state)
{
    struct hub *h = hub_new();
    visit(h, "a b c");
    report(h, "c"); /* c never worked: nothing is lost */
    visit(h, "a|b c");
    report(h, "c");
    visit(h, "a|b c");
    assert_works(h, "p-12345: a | p-12345-1: b c");
    hub_free(h);
}

static void what_worked_stays_where_it_works(void **state)
{
    struct hub *h = hub_new();
    visit(h, "a b");
    report(h, "");
    visit(h, "a|b");
    struct json before = json_dup(&h->a, json_get(&h->works[0], S("status")));
    report(h, "b");
    json_set(&h->a, &h->works[0], S("status"), before); /* there it works as ever */
    visit(h, "a|b");
    assert_works(h, "p-12345: a b | p-12345-1: b");
    report(h, "");
    visit(h, "a|b");
    assert_works(h, "p-12345: a | p-12345-1: b");
    hub_free(h);
}

static void what_is_wanted_nowhere_leaves_at_once(void **state)
{
    struct hub *h = hub_new();
    visit(h, "a b c");
    report(h, "");
    visit(h, "x|b");
    assert_works(h, "p-12345: x b | p-12345-1: b");
    hub_free(h);
}

static void what_changes_while_it_moves_changes_afterwards(void **state)
{
    struct hub *h = hub_new();
    visit(h, "a b");
    report(h, "");
    visit(h, "a|b=9");
    assert_works(h, "p-12345: a b | p-12345-1: b");
    report(h, "");
    visit(h, "a|b=9");
    assert_works(h, "p-12345: a | p-12345-1: b");
    assert_true(h->is_waiting);
    visit(h, "a|b=9"); /* the works have changed: another visit */
    assert_works(h, "p-12345: a | p-12345-1: b=9");
    assert_false(h->is_waiting);
    hub_free(h);
}

/* Each is too large to be with the other, and they change places. */
static void parts_that_exchange_everything_use_a_spare_one(void **state)
{
    struct hub *h = hub_new();
    static const char before[] = "a=300000|b=300000", after[] = "b=300000|a=300000";
    visit(h, before);
    report(h, "");
    int rounds = 0;
    do {
        visit(h, after);
        for (const char *name = "ab"; *name; name++) { /* both are somewhere, and have been reported */
            bool is_there = false;
            for (size_t i = 0; i < h->n; i++) {
                const struct json *list = json_dig(&h->works[i], "spec.workload.manifests");
                json_each_item(list, m) is_there |= object_name(m).p[0] == *name;
            }
            assert_true(is_there);
        }
        report(h, "");
    } while (++rounds < 10 && (h->is_waiting || h->writes));
    assert_works(h, "p-12345: b=300000 | p-12345-1: a=300000");
    hub_free(h);
}

static void templates_of_one_name_never_meet(void **state)
{
    struct hub *h = hub_new();
    visit(h, "r@x|r@y");
    report(h, "");
    for (int i = 0; i < 8; i++) {
        visit(h, "r@y|r@x");
        for (size_t k = 0; k < h->n; k++)
            assert_int_equal(json_len(json_dig(&h->works[k], "spec.workload.manifests")), 1);
        report(h, "");
    }
    assert_works(h, "p-12345: r@y | p-12345-1: r@x");
    hub_free(h);
}

/* ---- Echoes. ---- */

#define NS S("cluster1"), S("one")

static void own_writes_are_no_news(void **state)
{
    struct echoes *e = echoes_new();
    echo_begin(e, NS);
    assert_false(echo_hear(e, NS, S("w"), S("10"))); /* before the answer is known */
    echo_wrote(e, NS, S("w"), S("10"));
    echo_wrote(e, NS, S(""), S("11"));
    assert_false(echo_end(e, NS));
    assert_false(echo_hear(e, NS, S(""), S("9")));
    assert_false(echo_hear(e, NS, S(""), S("11")));
    assert_true(echo_hear(e, NS, S(""), S("12")));
    assert_true(echo_hear(e, NS, S("w"), S("13")));
    echoes_free(e);
}

static void others_writes_are(void **state)
{
    struct echoes *e = echoes_new();
    echo_begin(e, NS);
    assert_false(echo_hear(e, NS, S("w"), S("12"))); /* during the visit, and after its own write */
    echo_wrote(e, NS, S("w"), S("10"));
    assert_true(echo_end(e, NS));
    echo_begin(e, NS);
    assert_false(echo_hear(e, NS, S("v"), S("13"))); /* of what it did not write */
    assert_true(echo_end(e, NS));
    echo_begin(e, NS);
    echo_wrote(e, NS, S("w"), S("20"));
    assert_false(echo_end(e, NS));
    assert_true(echo_hear(e, NS, S("w"), S("21"))); /* the watch skipped its own */
    assert_true(echo_hear(e, S("cluster1"), S("two"), S("w"), S("20")));
    echoes_free(e);
}

/* What one visit wrote, the next may not have seen in its cache. */
static void the_next_visit_starts_anew(void **state)
{
    struct echoes *e = echoes_new();
    echo_begin(e, NS);
    echo_wrote(e, NS, S("w"), S("10"));
    assert_false(echo_end(e, NS));
    echo_begin(e, NS);
    assert_false(echo_end(e, NS));
    assert_true(echo_hear(e, NS, S("w"), S("10")));
    echoes_free(e);
}

static void too_much_at_once_is_news(void **state)
{
    struct echoes *e = echoes_new();
    echo_begin(e, NS);
    echo_wrote(e, NS, S("w"), S("100"));
    for (int i = 0; i < 100; i++)
        assert_false(echo_hear(e, NS, S("w"), S("50")));
    assert_true(echo_end(e, NS));
    echo_begin(e, NS);
    echo_wrote(e, NS, S("w"), S("100"));
    assert_false(echo_end(e, NS));
    echo_forget(e, NS);
    assert_true(echo_hear(e, NS, S("w"), S("100")));
    echoes_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_part_is_simply_written),
        cmocka_unit_test(what_moves_is_there_before_it_leaves),
        cmocka_unit_test(a_part_goes_when_others_have_all_of_it),
        cmocka_unit_test(a_report_of_an_older_generation_does_not_count),
        cmocka_unit_test(one_that_fails_does_not_hold_up_the_others),
        cmocka_unit_test(what_worked_stays_where_it_works),
        cmocka_unit_test(what_is_wanted_nowhere_leaves_at_once),
        cmocka_unit_test(what_changes_while_it_moves_changes_afterwards),
        cmocka_unit_test(parts_that_exchange_everything_use_a_spare_one),
        cmocka_unit_test(templates_of_one_name_never_meet),
        cmocka_unit_test(own_writes_are_no_news),
        cmocka_unit_test(others_writes_are),
        cmocka_unit_test(the_next_visit_starts_anew),
        cmocka_unit_test(too_much_at_once_is_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
