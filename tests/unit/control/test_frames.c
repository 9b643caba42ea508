/* SPDX-License-Identifier: Apache-2.0 */
#include "control/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ADDED_A \
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}}"
#define TRICKY "{\"type\":\"ADDED\",\"object\":{\"x\":\"}{]\\\"\\\\\",\"y\":[[{}],\"\\u007d\"]}}"

static struct err err;

static void events_are_found_however_the_bytes_come(void **state)
{
    static const str stream = S_INIT(ADDED_A "\n" TRICKY "\r\n \t" TRICKY ADDED_A "\n\n");
    for (size_t step = 1; step <= stream.n; step++) {
        struct frames f = {0};
        static const char *const expected[] = {ADDED_A, TRICKY, TRICKY, ADDED_A};
        size_t found = 0;
        for (size_t at = 0; at < stream.n; at += step) {
            str piece = str_upto(str_from(stream, at), step), event;
            int code;
            while ((code = frames_next(&f, &piece, &event, &err)) > 0) {
                assert_true(found < 4);
                assert_true(str_eq(event, str_of(expected[found++])));
            }
            assert_int_equal(code, 0);
            assert_int_equal(piece.n, 0);
        }
        assert_int_equal(found, 4);
        assert_false(frames_is_torn(&f));
        frames_done(&f);
    }
}

static void what_is_no_event_is_refused(void **state)
{
    static const char *const streams[] = {"hello", "<html>", ADDED_A ",", ADDED_A "null", "[]", "}", "\"{}\""};
    for (size_t i = 0; i < COUNT(streams); i++) {
        struct frames f = {0};
        str piece = str_of(streams[i]), event;
        int code;
        while ((code = frames_next(&f, &piece, &event, &err)) > 0)
            ;
        assert_int_equal(code, ERR_BAD_REQUEST);
        frames_done(&f);
    }
}

static void an_event_that_is_not_over_is_torn(void **state)
{
    struct frames f = {0};
    str piece = S("{\"type\":\"ADDED\""), event;
    assert_int_equal(frames_next(&f, &piece, &event, &err), 0);
    assert_true(frames_is_torn(&f));
    frames_done(&f);
    assert_false(frames_is_torn(&f));
}

static void events_have_a_limit(void **state)
{
    static const str event = S_INIT(ADDED_A);
    for (size_t step = 1; step <= event.n; step += 13) {
        struct frames fits = {.limit = event.n}, over = {.limit = event.n - 1};
        int code = 0, worse = 0;
        str ret;
        for (size_t at = 0; at < event.n && worse >= 0; at += step) {
            str piece = str_upto(str_from(event, at), step), same = piece;
            code = frames_next(&fits, &piece, &ret, &err);
            worse = frames_next(&over, &same, &ret, &err);
        }
        assert_int_equal(code, 1);
        assert_int_equal(worse, ERR_TOO_LARGE);
        frames_done(&fits);
        frames_done(&over);
    }
}

static void events_say_what_happened(void **state)
{
    static const struct {
        const char *text, *version;
        enum frame_type type;
        bool is_initial_end;
    } rows[] = {
        {ADDED_A, "5", FRAME_ADDED, false},
        {"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"6\"}}}",
         "6", FRAME_MODIFIED, false},
        {"{\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\"}},\"type\":\"DELETED\"}",
         "7", FRAME_DELETED, false},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
         "\"676\",\"creationTimestamp\":null}}}",
         "676", FRAME_BOOKMARK, false},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\",\"annotations\":{\"k8s.io/"
         "initial-events-end\":\"true\"}}}}",
         "8", FRAME_BOOKMARK, true},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\",\"annotations\":{\"k8s.io/"
         "initial-events-end\":\"false\"}}}}",
         "8", FRAME_BOOKMARK, false},
        {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410}}", "", FRAME_ERROR,
         false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct frame frame;
        assert_int_equal(frame_decode(&a, str_of(rows[i].text), &frame, &err), 0);
        assert_int_equal(frame.type, rows[i].type);
        assert_true(str_eq(frame.version, str_of(rows[i].version)));
        assert_int_equal(frame.is_initial_end, rows[i].is_initial_end);
        assert_true(json_is_obj(&frame.object));
    }
}

static void events_that_say_nothing_are_refused(void **state)
{
    static const char *const rows[] = {
        "{}",
        "{\"type\":\"ADDED\"}",
        "{\"type\":\"ADDED\",\"object\":[]}",
        "{\"type\":\"added\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"5\"}}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"}}}",
        "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}}",
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":5}}}",
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}",
        "{\"type\":\"ADDED\",\"object\":{]}}",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct frame frame;
        err.code = 0;
        assert_int_equal(frame_decode(&a, str_of(rows[i]), &frame, &err), ERR_BAD_REQUEST);
        assert_int_equal(err.code, ERR_BAD_REQUEST);
    }
}

/* As kube-apiserver 1.32 writes them, and 1.17 did. */
static void some_failures_mean_that_the_revision_is_lost(void **state)
{
    static const struct {
        const char *status;
        bool is_lost;
    } rows[] = {
        {"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"message\":\"too old resource version: 1 (900)\",\"code\":410}",
         true},
        {"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Gone\",\"code\":410}", true},
        {"{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410}", true},
        {"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\",\"message\":\"Timeout: Too large resource version: 999, current: "
         "5\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large resource "
         "version\"}],\"retryAfterSeconds\":1},\"code\":504}",
         true},
        {"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\",\"message\":\"Too large resource version: 9, current: 5\","
         "\"code\":504}",
         true},
        {"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\",\"message\":\"etcd is slow\",\"code\":504}",
         false},
        {"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"InternalError\",\"message\":\"Too large resource version\",\"code\":500}",
         false},
        {"{\"status\":\"Success\"}", false},
        {"null", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct json status;
        assert_int_equal(json_decode(&a, str_of(rows[i].status), NULL, NULL, &status, &err), 0);
        assert_int_equal(frame_is_revision_lost(&status), rows[i].is_lost);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_found_however_the_bytes_come),
        cmocka_unit_test(what_is_no_event_is_refused),
        cmocka_unit_test(an_event_that_is_not_over_is_torn),
        cmocka_unit_test(events_have_a_limit),
        cmocka_unit_test(events_say_what_happened),
        cmocka_unit_test(events_that_say_nothing_are_refused),
        cmocka_unit_test(some_failures_mean_that_the_revision_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
