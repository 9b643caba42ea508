/* SPDX-License-Identifier: Apache-2.0 */
/* Two pure parts of the controller of ClusterPermissions: how works become others without a grant being away (shift.h), and how a
 * visit's own writes are told from what others do (echo.h). */
#include "controllers/permissions/permissions_own_writes.h"
#include "controllers/permissions/permissions_shift.h"

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
        json_add(a, &notes, S(FLEET_ANNOTATION_SELECTOR), json_str(str_dup(a, selector)));
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

static void add_entry(struct hub *h, struct json *entries, bool is_applied, bool is_there)
{
    struct clock_fake time = {0};
    struct clock clock = clock_of_fake(&time);
    struct json entry = json_obj(), meta = json_obj(), conditions = json_arr();
    json_add(&h->a, &meta, S("ordinal"), json_int((int64_t)json_len(entries)));
    condition_set(
        &h->a, &conditions,
        &(struct condition){.type = S("Applied"), .status = is_applied ? S("True") : S("False"), .reason = S("X")},
        &clock);
    condition_set(
        &h->a, &conditions,
        &(struct condition){.type = S("Available"), .status = is_there ? S("True") : S("False"), .reason = S("X")},
        &clock);
    json_add(&h->a, &entry, S("resourceMeta"), meta);
    json_add(&h->a, &entry, S("conditions"), conditions);
    json_push(&h->a, entries, entry);
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
        json_each_item(list, m)
        {
            bool is_bad = str_eq(object_name(m), str_of(failing));
            add_entry(h, &entries, !is_bad, !is_bad);
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

/* ---- Against a model: any wishes in any order, an agent that is late. ---- */

enum { NAMES = 12, PARTS = 4, FAILS = 7, TEMPLATES = 8 }; /* h never works; the last four are templates of one name */

struct object {
    size_t by[WORKS], n; /* works that deliver it, by the number in their names; the first leads */
    size_t content;      /* 0: there is none */
};

struct model {
    struct hub *hub;
    struct random_seeded chance;
    size_t wish[NAMES]; /* content; 0: not wanted */
    char text[512];     /* of the wish */
    struct object objects[NAMES];
    bool has_been[NAMES]; /* there, since it is wanted */
};

static uint32_t below(struct model *m, uint32_t n)
{
    struct random random = random_of_seed(&m->chance);
    return random_below(&random, n);
}

static void name_of(char *room, size_t room_n, size_t i, size_t content)
{
    if (i < TEMPLATES)
        (void)snprintf(room, room_n, "%c=%zu", (char)('a' + i), content);
    else
        (void)snprintf(room, room_n, "r@%c=%zu", (char)('a' + i), content);
}

static size_t index_of(const struct json *m)
{
    str selector = object_annotation(m, S(FLEET_ANNOTATION_SELECTOR));
    return (size_t)((selector.n ? selector : object_name(m)).p[0] - 'a');
}

static size_t number_of(const struct json *work)
{
    uint64_t n = 0;
    str name = object_name(work);
    (void)str_to_uint64(str_from(name, S("p-12345-").n), &n);
    assert_true(n < WORKS);
    return (size_t)n;
}

/* Any of them in any part; templates are never together. Parts are never empty, so they may have to be renumbered. */
static void wish(struct model *m)
{
    char parts[PARTS][256] = {{0}};
    size_t n_parts = 1 + below(m, PARTS);
    bool has_template[PARTS] = {0};
    for (size_t i = 0; i < NAMES; i++) {
        char one[32];
        size_t part = below(m, (uint32_t)n_parts);
        m->wish[i] = below(m, 3);
        if (i >= TEMPLATES && has_template[part])
            m->wish[i] = 0;
        m->has_been[i] = m->has_been[i] && m->wish[i];
        if (m->wish[i] == 0)
            continue;
        has_template[part] |= i >= TEMPLATES;
        name_of(one, sizeof one, i, m->wish[i]);
        size_t at = strlen(parts[part]);
        (void)snprintf(parts[part] + at, sizeof parts[part] - at, "%s%s", at ? " " : "", one);
    }
    m->text[0] = 0;
    for (size_t i = 0; i < n_parts; i++) {
        size_t at = strlen(m->text);
        if (parts[i][0])
            (void)snprintf(m->text + at, sizeof m->text - at, "%s%s", at ? "|" : "", parts[i]);
    }
}

static void let_go(struct object *o, size_t work)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (o->by[i] != work)
            o->by[kept++] = o->by[i];
    }
    o->n = kept;
    o->content = kept ? o->content : 0;
}

static bool is_by(const struct object *o, size_t work)
{
    for (size_t i = 0; i < o->n; i++) {
        if (o->by[i] == work)
            return true;
    }
    return false;
}

/* What the first of its works wants counts; others may share. */
static bool deliver(struct object *o, size_t work, size_t content)
{
    bool leads = o->n == 0 || o->by[0] == work;
    if (!leads && o->content != content)
        return false;
    o->content = content;
    if (!is_by(o, work))
        o->by[o->n++] = work;
    return true;
}

/* The agent carries one work out. */
static void carry_out(struct model *m, struct json *work)
{
    struct hub *h = m->hub;
    size_t number = number_of(work);
    struct json entries = json_arr(), result = json_obj();
    const struct json *list = json_dig(work, "spec.workload.manifests");
    bool is_listed[NAMES] = {0};
    struct clock_fake time = {0};
    struct clock clock = clock_of_fake(&time);
    json_each_item(list, one)
    {
        size_t i = index_of(one), content = json_text(&json_get(one, S("rules"))->items[0]).n;
        struct object *o = &m->objects[i];
        bool is_fine = i != FAILS && deliver(o, number, content);
        is_listed[i] = true;
        add_entry(h, &entries, is_fine, o->content > 0);
    }
    for (size_t i = 0; i < NAMES; i++) {
        if (!is_listed[i])
            let_go(&m->objects[i], number);
    }
    json_add(&h->a, &result, S("manifests"), entries);
    json_remove(work, S("status"));
    condition_set(&h->a, conditions_of(&h->a, work),
                  &(struct condition){.type = S("Applied"),
                                      .status = S("False"), /* h fails nearly everywhere */
                                      .reason = S("X"),
                                      .observed_generation = object_generation(work)},
                  &clock);
    json_add(&h->a, json_get_mut(work, S("status")), S("resourceStatus"), result);
}

/* By a work that still says so: what was taken away and is wanted again may be away, if the agent is late. */
static bool is_meant(const struct model *m, size_t i)
{
    for (size_t w = 0; w < m->hub->n; w++) {
        const struct json *list = json_dig(&m->hub->works[w], "spec.workload.manifests");
        json_each_item(list, one)
        {
            if (index_of(one) == i && is_by(&m->objects[i], number_of(&m->hub->works[w])))
                return true;
        }
    }
    return false;
}

/* Of the works that are there, and those that are gone, some are looked at; all: each of them. */
static void run_agent(struct model *m, bool all)
{
    bool is_there[WORKS] = {0};
    for (size_t i = 0; i < m->hub->n; i++)
        is_there[number_of(&m->hub->works[i])] = true;
    size_t first = below(m, WORKS);
    for (size_t k = 0; k < WORKS; k++) {
        size_t number = (first + k) % WORKS;
        if (!all && below(m, 2))
            continue;
        for (size_t i = 0; i < m->hub->n; i++) {
            if (number_of(&m->hub->works[i]) == number)
                carry_out(m, &m->hub->works[i]);
        }
        for (size_t i = 0; !is_there[number] && i < NAMES; i++)
            let_go(&m->objects[i], number);
        for (size_t i = 0; i < NAMES; i++) {
            m->has_been[i] |= m->wish[i] && is_meant(m, i);
            if (m->has_been[i] && !m->objects[i].content)
                fail_msg("%c was away while %s was wanted", (char)('a' + i), m->text);
        }
    }
}

static void assert_delivered(struct model *m)
{
    for (size_t i = 0; i < NAMES; i++) {
        size_t want = i == FAILS ? 0 : m->wish[i];
        if (m->objects[i].content != want)
            fail_msg("%c is %zu and not %zu, with %s", (char)('a' + i), m->objects[i].content, want, m->text);
    }
}

static void nothing_is_ever_away(void **state)
{
    enum { RUNS = 400, WISHES = 6, ROUNDS = 40 };
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct model m = {.hub = hub_new(), .chance = {.state = seed}};
        for (int n = 0; n < WISHES; n++) {
            wish(&m);
            for (uint32_t looks = below(&m, 4); looks; looks--) {
                visit(m.hub, m.text);
                run_agent(&m, false);
            }
        }
        int round = 0;
        do {
            visit(m.hub, m.text);
            run_agent(&m, true);
        } while (++round < ROUNDS && (m.hub->writes || m.hub->is_waiting));
        if (round == ROUNDS)
            fail_msg("seed %llu: it never comes to an end: %s", (unsigned long long)seed, m.text);
        run_agent(&m, true); /* what was in the way of something may have gone behind it */
        assert_delivered(&m);
        hub_free(m.hub);
    }
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
        cmocka_unit_test(nothing_is_ever_away),
        cmocka_unit_test(own_writes_are_no_news),
        cmocka_unit_test(others_writes_are),
        cmocka_unit_test(the_next_visit_starts_anew),
        cmocka_unit_test(too_much_at_once_is_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
