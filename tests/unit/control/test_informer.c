/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define SOME "{\"name\":\"q\",\"uid\":\"u\",\"resourceVersion\":\"15\"}"

#define LIST(items) "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":" items "}"
#define SECRET "{\"kind\":\"Secret\",\"metadata\":" SOME "}"

/* ---- Lists. ---- */

static void a_list_comes_with_the_watch(void **state)
{
    struct scene w;
    scene_open(&w);
    assert_true(str_has_prefix(w.wire.calls->target, S("/api/v1/configmaps?")));
    scene_lists_by_watch(&w);
    scene_say(&w, "ADDED a/x u1 5");
    scene_say(&w, "ADDED a/y u2 7; ADDED b/x u3 6");
    scene_told(&w, "");
    assert_false(informer_is_synced(w.informer));
    scene_cached(&w, "");
    scene_say(&w, "END 10");
    scene_told(&w, "+a/x@5 +a/y@7 +b/x@6 . !");
    assert_true(informer_is_synced(w.informer));
    scene_say(&w, "MODIFIED a/x u1 11; DELETED a/y u2 12; ADDED c/z u4 13");
    scene_told(&w, "~a/x@11 -a/y@12 +c/z@13 .");
    scene_cached(&w, "a/x@11 b/x@6 c/z@13");
    assert_int_equal(w.wire.n_asked, 1);
    scene_close(&w);
}

/* The end of the list, and what happened since, in one piece; and what changed while the list was told. */
static void events_follow_the_list_in_one_piece(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_say(&w, "ADDED a/x u1 5; ADDED a/y u2 6; MODIFIED a/x u1 9; DELETED a/y u2 10; END 10; ADDED a/z u3 11");
    scene_told(&w, "+a/x@9 . ! +a/z@11 .");
    scene_cached(&w, "a/x@9 a/z@11");
    scene_end(&w, 0, "");
    scene_await(&w, 2 * SECOND);
    scene_watches_from(&w, "11");
    scene_close(&w);
}

static void an_empty_list_is_a_list(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_say(&w, "END 10");
    scene_told(&w, "!");
    assert_true(informer_is_synced(w.informer));
    scene_close(&w);
}

/* 1.31 without the feature: 422 "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled". */
static void a_server_may_refuse_to_list_in_a_watch(void **state)
{
    static const int codes[] = {400, 422};
    for (int i = 0; i < 2; i++) {
        struct scene w;
        scene_open(&w);
        scene_end(&w, codes[i], STATUS(422, "Invalid"));
        assert_int_equal(scene_await(&w, 0), 0);
        scene_lists(&w);
        scene_asked(&w, "limit", "500");
        scene_end_page(&w, "10", "", "a/x u1 5; a/y u2 7");
        scene_told(&w, "+a/x@5 +a/y@7 . !");
        scene_watches_from(&w, "10");
        scene_say(&w, "ADDED a/z u3 11");
        scene_told(&w, "+a/z@11 .");
        /* It is not asked again: it has said what it is. */
        informer_relist(w.informer);
        scene_await(&w, 0);
        scene_lists(&w);
        assert_int_equal(informer_stats(w.informer).failures, 0);
        scene_close(&w);
    }
}

/* RBAC may allow to list and not to watch; the next list tries again, for rights may have come. */
static void a_list_in_a_watch_may_be_forbidden(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_end(&w, 403, STATUS(403, "Forbidden"));
    scene_await(&w, 2 * SECOND);
    scene_lists(&w);
    scene_end_page(&w, "10", "", "a/x u1 5");
    scene_told(&w, "+a/x@5 . !");
    scene_watches_from(&w, "10");
    informer_relist(w.informer);
    scene_await(&w, 0);
    scene_lists_by_watch(&w);
    scene_close(&w);
}

/* An old server ignores what it does not know: events of all objects come, then bookmarks as ever, but no end. */
static void a_server_may_not_know_lists_in_a_watch(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_say(&w, "ADDED a/x u1 5; BOOKMARK 10");
    assert_int_equal(w.wire.n_calls, 0);
    scene_await(&w, 0);
    scene_lists(&w);
    scene_end_page(&w, "10", "", "a/x u1 5");
    scene_told(&w, "+a/x@5 . !");
    scene_close(&w);
}

static void a_list_in_a_watch_must_not_stop(void **state)
{
    struct scene w;
    scene_open(&w);
    for (int i = 0; i < 10; i++) { /* slow, but it goes on */
        scene_pass(&w, 29 * SECOND);
        scene_say(&w, "ADDED a/x u1 5");
    }
    assert_int_equal(w.wire.n_asked, 1);
    scene_pass(&w, 31 * SECOND);
    assert_int_equal(w.wire.n_calls, 0);
    scene_await(&w, 2 * SECOND);
    scene_lists(&w);
    scene_close(&w);
}

/* Neither a cut nor an end in the middle is a list: nothing is told of it. */
static void a_list_in_a_watch_may_be_cut_off(void **state)
{
    static const int codes[] = {0, 200};
    for (int i = 0; i < 2; i++) {
        struct scene w;
        scene_open(&w);
        scene_say(&w, "ADDED a/x u1 5; ADDED a/gone u9 6");
        scene_end(&w, codes[i], "");
        scene_told(&w, "");
        scene_await(&w, 2 * SECOND);
        scene_lists(&w);
        scene_end_page(&w, "10", "", "a/x u1 5");
        scene_told(&w, "+a/x@5 . !");
        scene_close(&w);
    }
}

static void a_list_comes_in_pages(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_end(&w, 422, "");
    scene_await(&w, 0);
    scene_asked(&w, "continue", NULL);
    scene_end_page(&w, "10", "t1/%26", "a/x u1 5");
    scene_lists(&w);
    scene_asked(&w, "limit", "500");
    scene_asked(&w, "continue", "t1%2F%2526");
    scene_end_page(&w, "10", "t2", "a/y u2 6");
    scene_asked(&w, "continue", "t2");
    scene_told(&w, "");
    scene_end_page(&w, "10", "", "a/z u3 7");
    scene_told(&w, "+a/x@5 +a/y@6 +a/z@7 . !");
    scene_watches_from(&w, "10");
    scene_close(&w);
}

/* Pages should be of one revision. Should they not be, no change between them may be missed: that is what the watch tells. */
static void a_list_is_as_old_as_its_first_page(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_end(&w, 422, "");
    scene_await(&w, 0);
    scene_end_page(&w, "10", "t1", "a/x u1 5");
    scene_end_page(&w, "14", "", "a/y u2 13");
    scene_told(&w, "+a/x@5 +a/y@13 . !");
    scene_watches_from(&w, "10");
    scene_say(&w, "MODIFIED a/x u1 11; ADDED a/y u2 12; MODIFIED a/y u2 13");
    scene_told(&w, "~a/x@11 .");
    scene_cached(&w, "a/x@11 a/y@13");
    scene_close(&w);
}

/* Pages of a revision that is gone by now: the list begins again and comes whole. */
static void a_page_may_come_too_late(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_end(&w, 422, "");
    scene_await(&w, 0);
    scene_end_page(&w, "10", "t1", "a/x u1 5; a/gone u9 6");
    scene_end(&w, 410, EXPIRED);
    scene_await(&w, SECOND);
    scene_lists(&w);
    scene_asked(&w, "continue", NULL);
    scene_asked(&w, "limit", NULL);
    scene_end_page(&w, "20", "", "a/x u1 5; a/y u2 15");
    scene_told(&w, "+a/x@5 +a/y@15 . !");
    scene_watches_from(&w, "20");
    scene_close(&w);
}

static void a_list_that_goes_in_circles_is_left(void **state)
{
    struct scene w;
    scene_open(&w);
    scene_end(&w, 422, "");
    scene_await(&w, 0);
    scene_end_page(&w, "10", "t1", "a/x u1 5");
    scene_end_page(&w, "10", "t1", "a/x u1 5");
    assert_int_equal(w.wire.n_calls, 0);
    assert_int_equal(informer_stats(w.informer).failures, 1);
    scene_close(&w);
}

static void pages_that_are_too_large_are_asked_for_in_parts(void **state)
{
    static const char *const limits[] = {"500", "100", "20", "4", "1"};
    struct scene w;
    scene_open(&w);
    scene_end(&w, 422, "");
    scene_await(&w, 0);
    size_t much = (size_t)65 * 1024 * 1024;
    char *spaces = malloc(much);
    assert_non_null(spaces);
    memset(spaces, ' ', much);
    for (int i = 0; i < 5; i++) {
        scene_asked(&w, "limit", limits[i]);
        wire_send(w.wire.calls, (str){spaces, much});
        assert_int_equal(w.wire.n_calls, 0);
        scene_await(&w, 2 * SECOND);
    }
    scene_asked(&w, "limit", "1");
    assert_int_equal(informer_stats(w.informer).failures, 1); /* the last one */
    free(spaces);
    scene_close(&w);
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const bodies[] = {
        "",
        "<html>",
        "[]",
        "{\"metadata\":{},\"items\":[]}",
        "{\"kind\":\"ConfigMap\",\"metadata\":" SOME "}",
        LIST("{}"),
        LIST("[1]"),
        LIST("[{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}]"),
        LIST("[" SECRET "]"),
    };
    struct scene w;
    scene_open(&w);
    scene_end(&w, 422, "");
    scene_await(&w, 0);
    for (size_t i = 0; i < COUNT(bodies); i++) {
        scene_end(&w, 200, bodies[i]);
        assert_int_equal(informer_stats(w.informer).failures, i + 1);
        assert_true(scene_await(&w, 31 * SECOND) >= 800 * MS);
        scene_lists(&w);
    }
    scene_told(&w, "");
    scene_end_page(&w, "10", "", "");
    scene_told(&w, "!");
    scene_close(&w);
}

/* ---- Watches that end. ---- */

static void a_watch_goes_on_where_it_was_cut_off(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    scene_say(&w, "MODIFIED a/x u1 12");
    scene_end(&w, 0, "");
    assert_true(scene_await(&w, 2 * SECOND) >= 800 * MS);
    scene_watches_from(&w, "12");
    scene_say(&w, "ADDED a/y u2 14");
    scene_told(&w, "~a/x@12 . +a/y@14 .");
    scene_close(&w);
}

static void bookmarks_move_the_revision_on(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    scene_say(&w, "BOOKMARK 400");
    scene_told(&w, "");
    scene_pass(&w, 60 * SECOND);
    scene_end(&w, 200, "");
    assert_true(scene_await(&w, SECOND) <= 20 * MS);
    scene_watches_from(&w, "400");
    scene_close(&w);
}

/* The half of an event is nothing, and the other half does not come with the next watch. */
static void a_watch_may_be_cut_in_the_middle_of_an_event(void **state)
{
    static const int codes[] = {0, 200};
    for (int i = 0; i < 2; i++) {
        struct scene w;
        scene_open_synced(&w, "ADDED a/x u1 5");
        str both = scene_lines(&w, "MODIFIED a/x u1 12; MODIFIED a/x u1 13");
        wire_send(w.wire.calls, str_upto(both, both.n * 3 / 4));
        scene_told(&w, "~a/x@12 .");
        scene_end(&w, codes[i], "");
        assert_true(scene_await(&w, 2 * SECOND) >= 800 * MS);
        scene_watches_from(&w, "12");
        scene_say(&w, "MODIFIED a/x u1 13");
        scene_told(&w, "~a/x@13 .");
        scene_close(&w);
    }
}

static void an_event_may_come_byte_by_byte(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    str both = scene_lines(&w, "MODIFIED a/x u1 12; DELETED a/x u1 13");
    for (size_t i = 0; i < both.n; i++)
        wire_send(w.wire.calls, (str){both.p + i, 1});
    scene_told(&w, "~a/x@12 . -a/x@13 .");
    scene_close(&w);
}

/* Once it may be an accident on the way: the watch goes on. Twice from the same revision it is not: a list gets past it. */
static void what_cannot_be_read_is_as_good_as_a_cut(void **state)
{
    static const char *const garbage[] = {
        "HTTP/1.1 500",
        "{\"type\":\"ADDED\",\"object\":{]}",
        "{\"type\":\"RENAMED\",\"object\":{}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"q\"}}}",
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"metadata\":" SOME "}}",
        "{\"type\":\"ERROR\",\"object\":" STATUS(500, "InternalError") "}",
        "{\"type\":\"ERROR\",\"object\":{}}",
    };
    for (size_t i = 0; i < COUNT(garbage); i++) {
        struct scene w;
        scene_open_synced(&w, "ADDED a/x u1 5");
        scene_say(&w, "MODIFIED a/x u1 12");
        wire_send(w.wire.calls, str_of(garbage[i]));
        assert_int_equal(w.wire.n_calls, 0); /* hung up */
        assert_true(scene_await(&w, 31 * SECOND) >= 800 * MS);
        scene_watches_from(&w, "12");
        wire_send(w.wire.calls, str_of(garbage[i]));
        assert_true(scene_await(&w, 31 * SECOND) >= 1600 * MS);
        scene_lists_by_watch(&w);
        assert_int_equal(informer_stats(w.informer).failures, 2);
        scene_told(&w, "~a/x@12 .");
        scene_close(&w);
    }
}

static void whoever_gets_on_is_not_stuck(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    static const char *const versions[] = {"11", "12", "13", "14"};
    for (size_t i = 0; i < COUNT(versions); i++) {
        scene_say(&w, str_cstr(&w.arena, str_fmt(&w.arena, "MODIFIED a/x u1 %s", versions[i])));
        wire_send(w.wire.calls, S("garbage"));
        scene_await(&w, 31 * SECOND);
        scene_watches_from(&w, versions[i]);
    }
    scene_close(&w);
}

static void an_event_that_is_too_large_leads_to_a_list(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    size_t much = (size_t)1024 * 1024;
    char *text = malloc(much);
    assert_non_null(text);
    memset(text, 'a', much);
    wire_send(w.wire.calls, S("{\"type\":\""));
    for (int i = 0; i < 40 && w.wire.n_calls; i++)
        wire_send(w.wire.calls, (str){text, much});
    free(text);
    assert_int_equal(w.wire.n_calls, 0);
    assert_true(scene_await(&w, 2 * SECOND) >= 800 * MS);
    scene_lists_by_watch(&w);
    scene_close(&w);
}

static void an_end_in_peace_is_followed_at_once(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    for (int i = 0; i < 5; i++) {
        scene_pass(&w, 300 * SECOND);
        scene_end(&w, 200, "");
        int64_t waited = scene_await(&w, SECOND);
        assert_true(waited >= 10 * MS && waited <= 20 * MS);
        scene_watches_from(&w, "10");
    }
    assert_int_equal(informer_stats(w.informer).failures, 0);
    scene_close(&w);
}

static void ends_that_follow_each_other_come_slower_and_slower(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    int64_t sum = 0;
    for (int i = 0; i < 12; i++) {
        scene_end(&w, 200, "");
        sum += scene_await(&w, 31 * SECOND);
    }
    assert_true(sum > 20 * SECOND); /* 10 + 20 + 40 + … ms */
    scene_pass(&w, 2 * SECOND);
    scene_end(&w, 200, "");
    assert_true(scene_await(&w, SECOND) <= 20 * MS);
    scene_close(&w);
}

/* ---- A server in trouble. ---- */

static void failures_come_slower_and_slower(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    int64_t least = 800 * MS;
    for (int i = 0; i < 10; i++) {
        scene_end(&w, i % 3 ? 0 : 500, STATUS(500, "InternalError"));
        int64_t waited = scene_await(&w, 31 * SECOND);
        assert_true(waited >= least && waited <= 2 * least);
        scene_watches_from(&w, "10"); /* the revision is as good as ever */
        least = least * 2 > 15 * SECOND ? 15 * SECOND : least * 2;
    }
    assert_int_equal(informer_stats(w.informer).failures, 10);
    scene_pass(&w, 11 * SECOND); /* it is well again */
    scene_end(&w, 0, "");
    assert_true(scene_await(&w, 31 * SECOND) <= 1600 * MS);
    scene_close(&w);
}

/* A server that lists well and never lets a watch live long: lists do not make it well. */
static void lists_in_between_do_not_quicken_the_pace(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    size_t asked = w.wire.n_asked;
    int64_t waited = 0;
    while (waited < 300 * SECOND) {
        scene_end(&w, 404, STATUS(404, "NotFound"));
        waited += scene_await(&w, 31 * SECOND);
        scene_lists_by_watch(&w);
        scene_say(&w, "ADDED a/x u1 5; END 10");
    }
    assert_true(w.wire.n_asked - asked < 25);
    scene_close(&w);
}

/* A kind that the server does not have is looked for, and found when it comes. */
static void a_kind_may_come_late(void **state)
{
    struct scene w;
    scene_open(&w);
    assert_false(informer_is_unserved(w.informer));
    for (int i = 0; i < 12; i++) {
        scene_end(&w, 404, STATUS(404, "NotFound"));
        assert_true(informer_is_unserved(w.informer));
        assert_true(scene_await(&w, 31 * SECOND) <= 30 * SECOND);
    }
    scene_end(&w, 403, STATUS(403, "Forbidden"));
    assert_false(informer_is_unserved(w.informer)); /* it is there */
    scene_await(&w, 31 * SECOND);
    scene_end(&w, 404, STATUS(404, "NotFound"));
    scene_await(&w, 31 * SECOND);
    scene_end(&w, 0, "");
    assert_true(informer_is_unserved(w.informer)); /* as far as anybody knows */
    scene_await(&w, 31 * SECOND);
    scene_lists(&w);
    scene_end_page(&w, "10", "", "a/x u1 5");
    assert_true(informer_is_synced(w.informer));
    assert_false(informer_is_unserved(w.informer));
    scene_close(&w);
}

static void a_server_says_when_to_come_back(void **state)
{
    struct scene w;
    scene_open(&w);
    wire_end(w.wire.calls, 429, str_of(STATUS(429, "TooManyRequests")), 7);
    assert_int_equal(scene_await(&w, 8 * SECOND), 7 * SECOND);
    scene_lists_by_watch(&w); /* it is busy, not unable */
    scene_say(&w, "ADDED a/x u1 5; END 10");
    scene_end(&w, 0, "");
    scene_await(&w, 31 * SECOND);
    wire_end(w.wire.calls, 429, str_of(STATUS(429, "TooManyRequests")), 100);
    assert_int_equal(scene_await(&w, 101 * SECOND), 100 * SECOND);
    scene_watches_from(&w, "10");
    wire_end(w.wire.calls, 429, (str){0}, 100000000);
    assert_int_equal(scene_await(&w, 301 * SECOND), 300 * SECOND);
    scene_watches_from(&w, "10");
    scene_close(&w);
}

static void rights_that_are_missing_do_not_cost_the_revision(void **state)
{
    static const int codes[] = {401, 403, 503};
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    for (int i = 0; i < 3; i++) {
        scene_end(&w, codes[i], "no");
        assert_true(scene_await(&w, 31 * SECOND) >= 800 * MS);
        scene_watches_from(&w, "10");
    }
    scene_close(&w);
}

/* ---- Revisions that are lost. ---- */

#define TOO_LARGE                                                                                                   \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\",\"message\":\"Timeout: Too large resource " \
    "version: 10, current: 3\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too " \
    "large resource version\"}],\"retryAfterSeconds\":1},\"code\":504}"

static void a_lost_revision_leads_to_a_list(void **state)
{
    static const struct {
        bool is_event;
        int status;
        const char *body;
        int64_t most;
    } rows[] = {
        {true, 0, "{\"type\":\"ERROR\",\"object\":" EXPIRED "}", 20 * MS},
        {false, 410, EXPIRED, 20 * MS},
        {false, 410, "gone", 20 * MS},
        {false, 504, TOO_LARGE, 20 * MS},
        {true, 0, "{\"type\":\"ERROR\",\"object\":" TOO_LARGE "}", 1000 * MS},
        {false, 400, STATUS(400, "BadRequest"), 1600 * MS},
        {false, 404, STATUS(404, "NotFound"), 1600 * MS},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct scene w;
        scene_open_synced(&w, "ADDED a/same u1 5; ADDED a/changed u2 6; ADDED a/gone u3 7; ADDED a/other u4 8");
        scene_end(&w, 0, "");
        scene_await(&w, 2 * SECOND);
        scene_pass(&w, 11 * SECOND);
        if (rows[i].is_event)
            wire_send(w.wire.calls, str_of(rows[i].body));
        else
            scene_end(&w, rows[i].status, rows[i].body);
        assert_true(scene_await(&w, 3 * SECOND) <= rows[i].most);
        scene_lists_by_watch(&w);
        scene_say(&w, "ADDED a/changed u2 15; ADDED a/new u5 17");
        scene_cached(&w, "a/changed@6 a/gone@7 a/other@8 a/same@5"); /* as it was */
        scene_told(&w, "");
        scene_say(&w, "ADDED a/other u6 16; ADDED a/same u1 5; END 20");
        scene_told(&w, "-a/gone@7 -a/other@8 ~a/changed@15 +a/new@17 +a/other@16 .");
        scene_cached(&w, "a/changed@15 a/new@17 a/other@16 a/same@5");
        scene_close(&w);
    }
}

/* A server whose revisions are always lost is not asked as fast as it can answer. */
static void revisions_lost_again_and_again_come_slower(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5");
    size_t asked = w.wire.n_asked;
    int64_t waited = 0;
    while (waited < 60 * SECOND) {
        wire_send(w.wire.calls, S("{\"type\":\"ERROR\",\"object\":" EXPIRED "}"));
        waited += scene_await(&w, 31 * SECOND);
        scene_say(&w, "ADDED a/x u1 5; END 10");
    }
    assert_true(w.wire.n_asked - asked < 25);
    scene_close(&w);
}

/* The server was restored from a copy. It takes a watch from its future, and says nothing but where it is. */
static void a_bookmark_from_the_past_leads_to_a_list(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 8");
    scene_say(&w, "BOOKMARK 10");
    assert_int_equal(w.wire.n_calls, 1);
    scene_say(&w, "BOOKMARK 9");
    assert_int_equal(w.wire.n_calls, 0);
    assert_true(scene_await(&w, SECOND) <= 20 * MS);
    scene_lists_by_watch(&w);
    scene_say(&w, "ADDED a/x u1 7; END 9");
    scene_told(&w, "~a/x@7 .");
    scene_say(&w, "MODIFIED a/x u1 10");
    scene_told(&w, "~a/x@10 .");
    scene_close(&w);
}

/* kube-apiserver answers 500 to a watch from a version that it cannot read. Whatever it is that it does not like about this one,
 * a list gives another. */
static void a_revision_that_is_always_refused_leads_to_a_list(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 8");
    for (int i = 0; i < 5; i++) {
        if (i) /* the first one is that of the list */
            scene_watches_from(&w, "10");
        scene_end(&w, 500, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":500}");
        scene_await(&w, 31 * SECOND);
    }
    scene_lists_by_watch(&w);
    scene_say(&w, "ADDED a/x u1 8; END 11");
    scene_end(&w, 500, "");
    scene_await(&w, 31 * SECOND);
    scene_watches_from(&w, "11");
    scene_close(&w);
}

static void a_list_that_is_void_is_forgotten(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 5; ADDED a/y u2 6");
    informer_relist(w.informer);
    scene_await(&w, 0);
    scene_say(&w, "ADDED a/half u7 11");
    scene_end(&w, 0, "");
    scene_await(&w, 2 * SECOND);
    scene_lists(&w);
    scene_cached(&w, "a/x@5 a/y@6");
    scene_end_page(&w, "30", "", "a/y u2 6; a/z u3 29");
    scene_told(&w, "-a/x@5 +a/z@29 .");
    scene_watches_from(&w, "30");
    scene_close(&w);
}

/* Another server of the same cluster, restored from a copy: what the list says holds, though its numbers are smaller. */
static void a_list_may_go_back_in_time(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 8");
    informer_relist(w.informer);
    scene_await(&w, 0);
    scene_say(&w, "ADDED a/x u1 3; END 4");
    scene_told(&w, "~a/x@3 .");
    scene_end(&w, 0, "");
    scene_await(&w, 2 * SECOND);
    scene_watches_from(&w, "4");
    scene_close(&w);
}

/* A connection that was lost may lead to a server that was restored meanwhile, and is past our revision again. */
static void a_wary_one_lists_after_a_lost_connection(void **state)
{
    struct scene w;
    scene_open_with(&w, &(struct informer_options){.lists_anew = true});
    scene_say(&w, "ADDED a/x u1 8; ADDED a/y u2 9; END 10");
    scene_told(&w, "+a/x@8 +a/y@9 . !");
    scene_end(&w, 0, "");
    scene_await(&w, 31 * SECOND);
    scene_lists_by_watch(&w);
    scene_say(&w, "ADDED a/x u1 8; ADDED a/z u3 11; END 12");
    scene_told(&w, "-a/y@9 +a/z@11 .");
    /* One that ends in peace is followed by another from there. */
    scene_end(&w, 200, "");
    scene_await(&w, 31 * SECOND);
    scene_watches_from(&w, "12");
    /* As long as nobody answers, it is a list that is tried. */
    scene_end(&w, 0, "");
    scene_await(&w, 31 * SECOND);
    scene_lists_by_watch(&w);
    scene_end(&w, 0, "");
    scene_await(&w, 31 * SECOND);
    scene_lists_by_watch(&w);
    scene_close(&w);
}

/* ---- Events that are not news. ---- */

static void stale_events_change_nothing(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 9; ADDED a/y u2 10");
    scene_say(&w, "ADDED a/x u1 9; MODIFIED a/x u1 8; DELETED a/y u2 7; DELETED a/y u0 7; ADDED a/y u0 6");
    scene_told(&w, "");
    scene_cached(&w, "a/x@9 a/y@10");
    scene_end(&w, 0, "");
    scene_await(&w, 2 * SECOND);
    scene_watches_from(&w, "10"); /* nor does the revision go back */
    scene_close(&w);
}

static void events_need_not_fit_what_is_known(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 9; ADDED a/y u2 10");
    scene_say(&w, "MODIFIED a/z u3 11");
    scene_told(&w, "+a/z@11 .");
    scene_say(&w, "ADDED a/z u3 12");
    scene_told(&w, "~a/z@12 .");
    scene_say(&w, "DELETED a/never u9 13");
    scene_told(&w, "");
    scene_say(&w, "ADDED a/x u7 14"); /* its end was not told */
    scene_told(&w, "-a/x@9 +a/x@14 .");
    scene_say(&w, "DELETED a/y u8 15"); /* neither was that of the one before */
    scene_told(&w, "-a/y@10 .");
    scene_cached(&w, "a/x@14 a/z@12");
    scene_close(&w);
}

static void versions_need_not_be_numbers(void **state)
{
    struct scene w;
    scene_open_synced(&w, "ADDED a/x u1 one");
    scene_say(&w, "MODIFIED a/x u1 two; MODIFIED a/x u1 two; MODIFIED a/x u1 again");
    scene_told(&w, "~a/x@two ~a/x@again .");
    scene_end(&w, 0, "");
    scene_await(&w, 2 * SECOND);
    scene_watches_from(&w, "again");
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_comes_with_the_watch),
        cmocka_unit_test(events_follow_the_list_in_one_piece),
        cmocka_unit_test(an_empty_list_is_a_list),
        cmocka_unit_test(a_server_may_refuse_to_list_in_a_watch),
        cmocka_unit_test(a_list_in_a_watch_may_be_forbidden),
        cmocka_unit_test(a_server_may_not_know_lists_in_a_watch),
        cmocka_unit_test(a_list_in_a_watch_must_not_stop),
        cmocka_unit_test(a_list_in_a_watch_may_be_cut_off),
        cmocka_unit_test(a_list_comes_in_pages),
        cmocka_unit_test(a_list_is_as_old_as_its_first_page),
        cmocka_unit_test(a_page_may_come_too_late),
        cmocka_unit_test(a_list_that_goes_in_circles_is_left),
        cmocka_unit_test(pages_that_are_too_large_are_asked_for_in_parts),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(a_watch_goes_on_where_it_was_cut_off),
        cmocka_unit_test(bookmarks_move_the_revision_on),
        cmocka_unit_test(a_watch_may_be_cut_in_the_middle_of_an_event),
        cmocka_unit_test(an_event_may_come_byte_by_byte),
        cmocka_unit_test(what_cannot_be_read_is_as_good_as_a_cut),
        cmocka_unit_test(whoever_gets_on_is_not_stuck),
        cmocka_unit_test(an_event_that_is_too_large_leads_to_a_list),
        cmocka_unit_test(an_end_in_peace_is_followed_at_once),
        cmocka_unit_test(ends_that_follow_each_other_come_slower_and_slower),
        cmocka_unit_test(failures_come_slower_and_slower),
        cmocka_unit_test(lists_in_between_do_not_quicken_the_pace),
        cmocka_unit_test(a_kind_may_come_late),
        cmocka_unit_test(a_server_says_when_to_come_back),
        cmocka_unit_test(rights_that_are_missing_do_not_cost_the_revision),
        cmocka_unit_test(a_lost_revision_leads_to_a_list),
        cmocka_unit_test(revisions_lost_again_and_again_come_slower),
        cmocka_unit_test(a_bookmark_from_the_past_leads_to_a_list),
        cmocka_unit_test(a_revision_that_is_always_refused_leads_to_a_list),
        cmocka_unit_test(a_list_that_is_void_is_forgotten),
        cmocka_unit_test(a_list_may_go_back_in_time),
        cmocka_unit_test(a_wary_one_lists_after_a_lost_connection),
        cmocka_unit_test(stale_events_change_nothing),
        cmocka_unit_test(events_need_not_fit_what_is_known),
        cmocka_unit_test(versions_need_not_be_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
