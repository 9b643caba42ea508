/* SPDX-License-Identifier: Apache-2.0 */
/* What an informer asks for, what it keeps, and what handlers may do. */
#include "scene.h"

#include "base/log.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_text(str got, const char *expected)
{
    if (!str_eq(got, str_of(expected)))
        fail_msg("got \"%.*s\", not \"%s\"", STR(got), expected);
}

/* "name name …" of a list, which ends here. */
static void assert_names(struct scene *w, struct items list, const char *expected)
{
    struct buf b = {.arena = &w->arena};
    for (size_t i = 0; i < list.n; i++)
        buf_fmt(&b, "%s%.*s", i ? " " : "", STR(item_name(list.p[i])));
    items_done(&list);
    assert_text(buf_str(&b), expected);
}

/* ---- What is asked for. ---- */

static void a_question_has_its_limits(void **state)
{
    struct scene w;
    scene_open_with(&w, &(struct informer_options){.namespace = S("shop"),
                                                   .label_selector = S("app in (a,b)"),
                                                   .field_selector = S("metadata.name=x")});
    assert_true(str_has_prefix(w.wire.calls->target, S("/api/v1/namespaces/shop/configmaps?")));
    scene_asked(&w, "labelSelector", "app%20in%20%28a%2Cb%29");
    scene_asked(&w, "fieldSelector", "metadata.name%3Dx");
    assert_text(w.wire.calls->accept, "");
    scene_end(&w, 422, "");
    scene_await(&w, 0);
    assert_true(str_has_prefix(w.wire.calls->target, S("/api/v1/namespaces/shop/configmaps?")));
    scene_asked(&w, "labelSelector", "app%20in%20%28a%2Cb%29");
    scene_end_page(&w, "10", "", "");
    scene_watches_from(&w, "10");
    scene_asked(&w, "labelSelector", "app%20in%20%28a%2Cb%29");
    scene_asked(&w, "fieldSelector", "metadata.name%3Dx");
    scene_close(&w);
}

/* The server may not know how to send metadata alone; then objects come whole, and are not kept so. */
static void metadata_is_all_that_is_kept(void **state)
{
    struct scene w;
    scene_open_with(&w, &(struct informer_options){.metadata_only = true});
    assert_text(w.wire.calls->accept, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    scene_end(&w, 422, "");
    scene_await(&w, 0);
    assert_text(w.wire.calls->accept,
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
    scene_end_page(&w, "10", "", "a/whole u1 5");
    wire_send(w.wire.calls,
              S("{\"type\":\"ADDED\",\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/"
                "v1\",\"metadata\":{\"name\":\"part\",\"namespace\":\"a\",\"uid\":\"u2\",\"resourceVersion\":"
                "\"11\"}}}"));
    scene_told(&w, "+a/whole@5 . ! +a/part@11 ."); /* the scene looks at kind and apiVersion */
    struct items all ITEMS_SCOPE = informer_list(w.informer, (str){0});
    assert_text(item_text(all.p[0]), "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"part\","
                                     "\"namespace\":\"a\",\"uid\":\"u2\",\"resourceVersion\":\"11\"}}");
    assert_text(item_text(all.p[1]), "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"whole\","
                                     "\"namespace\":\"a\",\"uid\":\"u1\",\"resourceVersion\":\"5\"}}");
    scene_close(&w);
}

static void keys_are_all_that_is_kept(void **state)
{
    struct scene w;
    scene_open_with(&w, &(struct informer_options){.keys_only = true});
    scene_say(&w, "ADDED a/x u1 5; ADDED a/y u2 6; END 10; MODIFIED a/x u1 11");
    scene_told(&w, "+a/x@5 +a/y@6 . ! ~a/x@11 ."); /* with their trees: the scene looks at them */
    assert_int_equal(informer_stats(w.informer).text, 0);
    struct arena a ARENA_SCOPE = {0};
    struct json tree;
    assert_false(informer_read(w.informer, &a, S("a"), S("x"), &tree));
    scene_say(&w, "DELETED a/x u1 12");
    scene_told(&w, "-a/x@12 ."); /* the event has the last of it */
    informer_relist(w.informer);
    scene_await(&w, 0);
    scene_say(&w, "END 20");
    scene_told(&w, "-a/y@? ."); /* nobody has */
    scene_close(&w);
}

static void labels_and_owners_lead_to_objects(void **state)
{
    static const str labels[] = {S_INIT("app"), S_INIT("tier")};
    struct scene w;
    scene_open_with(&w, &(struct informer_options){.labels = labels, .n_labels = 2, .by_owner = true});
    static const char row[] =
        "{\"type\":\"%s\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"a\",\"uid\":\"%s\",\"resourceVersion\":\"%d\",\"labels\":{\"app\":\"%s\"},\"ownerReferences\":[{\"uid\":\"%s\"}]}}}";
    wire_send(w.wire.calls, str_fmt(&w.arena, row, "ADDED", "x", "u1", 5, "till", "o1"));
    wire_send(w.wire.calls, str_fmt(&w.arena, row, "ADDED", "y", "u2", 6, "till", "o2"));
    scene_say(&w, "END 10");
    assert_names(&w, informer_by_label(w.informer, S("app"), S("till")), "x y");
    assert_names(&w, informer_by_label(w.informer, S("app"), S("til")), "");
    assert_names(&w, informer_by_label(w.informer, S("tier"), S("till")), "");
    assert_names(&w, informer_by_owner(w.informer, S("o1")), "x");
    wire_send(w.wire.calls, str_fmt(&w.arena, row, "MODIFIED", "x", "u1", 11, "shop", "o2"));
    assert_names(&w, informer_by_label(w.informer, S("app"), S("till")), "y");
    assert_names(&w, informer_by_label(w.informer, S("app"), S("shop")), "x");
    assert_names(&w, informer_by_owner(w.informer, S("o1")), "");
    assert_names(&w, informer_by_owner(w.informer, S("o2")), "x y");
    wire_send(w.wire.calls, str_fmt(&w.arena, row, "DELETED", "y", "u2", 12, "till", "o2"));
    assert_names(&w, informer_by_owner(w.informer, S("o2")), "x");
    assert_names(&w, informer_list(w.informer, S("a")), "x");
    assert_names(&w, informer_list(w.informer, S("b")), "");
    scene_close(&w);
}

/* ---- Handlers. ---- */

static void who_comes_late_is_told_everything(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_say(&w, "ADDED a/x u1 5");
    informer_add_handler(w.informer, &w.handler);
    scene_told(&w, "");
    scene_say(&w, "END 10");
    scene_told(&w, "+a/x@5 +a/x@5 . . ! !");
    informer_add_handler(w.informer, &w.handler);
    scene_told(&w, "+a/x@5 . !");
    scene_say(&w, "DELETED a/x u1 11");
    scene_told(&w, "-a/x@11 -a/x@11 -a/x@11 . . .");
    informer_add_handler(w.informer, &w.handler);
    scene_told(&w, "!");
    scene_close(&w);
}

/* Does something when it is told of a change, once. */
struct meddler {
    struct scene *w;
    void (*act)(struct meddler *m);
    size_t n;
};

static void on_meddle(void *ctx, const struct informer_change *change)
{
    struct meddler *m = ctx;
    if (m->n++ == 0)
        m->act(m);
}

static void act_stop(struct meddler *m)
{
    informer_stop(m->w->informer);
}

static void act_restart(struct meddler *m)
{
    informer_stop(m->w->informer);
    informer_start(m->w->informer);
}

static void act_start(struct meddler *m)
{
    informer_start(m->w->informer);
}

static void act_relist(struct meddler *m)
{
    informer_relist(m->w->informer);
}

static void act_add(struct meddler *m)
{
    informer_add_handler(m->w->informer, &m->w->handler);
}

static struct meddler meddle(struct scene *w, void (*act)(struct meddler *m))
{
    return (struct meddler){.w = w, .act = act};
}

/* In the middle of events that came together: what was told stays told, the rest comes again with the next watch. */
static void a_handler_may_stop_the_watch(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    struct meddler m = meddle(&w, act_stop);
    m.n = 1;
    informer_add_handler(w.informer, &(struct informer_handler){.changed = on_meddle, .ctx = &m});
    m.n = 0;
    scene_say(&w, "MODIFIED a/x u1 11; MODIFIED a/x u1 12");
    scene_told(&w, "~a/x@11 .");
    assert_int_equal(w.wire.n_calls, 0);
    informer_start(w.informer);
    scene_await(&w, 0);
    scene_watches_from(&w, "10"); /* 11 was not finished when it was stopped: it comes again, and is no news */
    scene_say(&w, "MODIFIED a/x u1 11; MODIFIED a/x u1 12");
    scene_told(&w, "~a/x@12 .");
    scene_close(&w);
}

static void a_handler_may_do_all_this_while_a_list_is_told(void **state)
{
    static const struct {
        void (*act)(struct meddler *m);
        const char *told;
        bool is_open, lists;
    } rows[] = {
        {act_stop, "+a/x@5 +a/y@6 . !", false, false},
        {act_restart, "+a/x@5 +a/y@6 . !", true, false},
        {act_start, "+a/x@5 +a/y@6 . !", true, false},
        {act_relist, "+a/x@5 +a/y@6 . !", true, true},
        {act_add, "+a/x@5 +a/x@5 . +a/y@6 +a/y@6 . . ! !", true, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (int pages = 0; pages < 2; pages++) {
            struct scene w;
            scene_open(&w);
            struct meddler m = meddle(&w, rows[i].act);
            informer_add_handler(w.informer, &(struct informer_handler){.changed = on_meddle, .ctx = &m});
            if (pages) {
                scene_end(&w, 422, "");
                scene_await(&w, 0);
                scene_end_page(&w, "10", "", "a/x u1 5; a/y u2 6");
            } else {
                scene_say(&w, "ADDED a/x u1 5; ADDED a/y u2 6; END 10");
            }
            loop_turn(w.loop, 0);
            scene_told(&w, rows[i].told);
            assert_int_equal(w.wire.n_calls, rows[i].is_open);
            if (rows[i].lists && pages)
                scene_lists(&w);
            else if (rows[i].lists)
                scene_lists_by_watch(&w);
            else if (rows[i].is_open && (pages || rows[i].act == act_restart))
                scene_watches_from(&w, "10");
            scene_close(&w);
        }
    }
}

static void a_stopped_informer_keeps_its_copies_and_goes_on(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    informer_start(w.informer); /* it runs already */
    loop_turn(w.loop, 0);
    assert_int_equal(w.wire.n_asked, 1);
    informer_stop(w.informer);
    scene_pass(&w, 3600 * SECOND);
    assert_int_equal(w.wire.n_asked, 1);
    scene_cached(&w, "a/x@5");
    assert_true(informer_is_synced(w.informer));
    informer_start(w.informer);
    scene_await(&w, 0);
    scene_watches_from(&w, "10");
    scene_say(&w, "MODIFIED a/x u1 11");
    scene_told(&w, "~a/x@11 .");
    scene_close(&w);
}

static void a_list_that_was_stopped_begins_anew(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_say(&w, "ADDED a/x u1 5; ADDED a/y u2 6");
    informer_stop(w.informer);
    informer_start(w.informer);
    scene_await(&w, 0);
    scene_lists_by_watch(&w);
    scene_say(&w, "ADDED a/y u2 6; END 10");
    scene_told(&w, "+a/y@6 . !");
    scene_close(&w);
}

/* The list at work may have been made before the reason to ask for one. */
static void a_list_asked_for_during_a_list_comes_after_it(void **state)
{
    for (int pages = 0; pages < 2; pages++) {
        struct scene w;
        scene_open(&w);
        if (pages) {
            scene_end(&w, 422, "");
            scene_await(&w, 0);
        }
        informer_relist(w.informer);
        informer_relist(w.informer);
        if (pages)
            scene_end_page(&w, "10", "", "a/x u1 5");
        else
            scene_say(&w, "ADDED a/x u1 5; END 10");
        scene_told(&w, "+a/x@5 . !");
        scene_await(&w, 0);
        if (pages) {
            scene_lists(&w);
            scene_end_page(&w, "12", "", "a/x u1 11");
            scene_watches_from(&w, "12");
        } else {
            scene_lists_by_watch(&w);
            scene_say(&w, "ADDED a/x u1 11; END 12");
        }
        scene_told(&w, "~a/x@11 .");
        loop_turn(w.loop, 0);
        scene_say(&w, "ADDED a/y u2 13"); /* this is a watch, not a third list */
        scene_told(&w, "+a/y@13 .");
        scene_close(&w);
    }
}

/* A server in trouble is not asked sooner. */
static void a_list_asked_for_while_waiting_waits_too(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    scene_end(&w, 0, "");
    informer_relist(w.informer);
    assert_true(scene_await(&w, 2 * SECOND) >= 800 * MS);
    scene_lists_by_watch(&w);
    scene_close(&w);
}

/* ---- What it says of itself. ---- */

static void on_log(void *ctx, str text)
{
    struct buf *b = ctx;
    buf_add_str(b, text);
}

static void trouble_is_logged_once(void **state)
{
    struct scene w;
    struct buf text = {0};
    struct clock_fake time = {0};
    struct log log = {.level = LOG_INFO, .clock = clock_of_fake(&time), .write = on_log, .ctx = &text};
    scene_open_with(&w, &(struct informer_options){.log = &log});
    scene_say(&w, "ADDED a/x u1 5; END 10");
    scene_end(&w, 200, "");
    scene_await(&w, SECOND);
    wire_send(w.wire.calls, S("{\"type\":\"ERROR\",\"object\":" EXPIRED "}"));
    scene_await(&w, SECOND);
    assert_int_equal(text.n, 0); /* all that is the way of things */
    scene_end(&w, 500, STATUS(500, "InternalError"));
    assert_true(str_find(buf_str(&text), S("level=warn msg=\"list failed\" resource=configmaps")) >= 0);
    text.n = 0;
    scene_await(&w, 2 * SECOND);
    scene_end_page(&w, "10", "", "");
    scene_end(&w, 0, "");
    assert_true(str_find(buf_str(&text), S("msg=\"watch failed\"")) >= 0);
    assert_true(str_find(buf_str(&text), S("error=\"connection lost\" retry_ms=")) >= 0);
    struct informer_stats stats = informer_stats(w.informer);
    assert_int_equal(stats.lists, 3);
    assert_int_equal(stats.watches, 2);
    assert_int_equal(stats.failures, 2);
    assert_int_equal(stats.events, 1);
    buf_done(&text);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_has_its_limits),
        cmocka_unit_test(metadata_is_all_that_is_kept),
        cmocka_unit_test(keys_are_all_that_is_kept),
        cmocka_unit_test(labels_and_owners_lead_to_objects),
        cmocka_unit_test(who_comes_late_is_told_everything),
        cmocka_unit_test(a_handler_may_stop_the_watch),
        cmocka_unit_test(a_handler_may_do_all_this_while_a_list_is_told),
        cmocka_unit_test(a_stopped_informer_keeps_its_copies_and_goes_on),
        cmocka_unit_test(a_list_that_was_stopped_begins_anew),
        cmocka_unit_test(a_list_asked_for_during_a_list_comes_after_it),
        cmocka_unit_test(a_list_asked_for_while_waiting_waits_too),
        cmocka_unit_test(trouble_is_logged_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
