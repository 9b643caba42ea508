/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_protocol.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MANIFEST "{\"manifest\":{\"digest\":\"sha256:" HEX "\",\"from\":\"store\",\"reference\":\"a/b:1\"}}\n"
#define APP "{\"path\":\".registry/app.yaml\",\"index\":0,\"document\":{\"a\":1}}\n"
#define MORE "{\"path\":\".registry/app.yaml\",\"index\":1,\"document\":[]}\n"
#define ICON "{\"path\":\".registry/icon.svg\",\"base64\":\"aa==\"}\n"
#define TEXT "{\"path\":\".registry/ui-schema.yaml\",\"text\":\"\"}\n"
#define END(n) "{\"end\":{\"files\":" #n "}}\n"

static int take(void *ctx, str line, struct err *err)
{
    (void)err;
    buf_add_str(ctx, line);
    return 0;
}

/* Everything a child printed, in pieces of so many bytes. */
static int read_all(str text, size_t piece, struct lines *l, struct buf *got, struct err *err)
{
    got->n = 0;
    lines_init(l, take, got);
    int code = 0;
    for (size_t at = 0; code == 0 && at < text.n; at += piece)
        code = lines_add(l, str_upto(str_from(text, at), piece), err);
    code = code < 0 ? code : lines_finish(l, err);
    lines_done(l);
    return code;
}

static void lines_are_taken_whole_in_pieces_of_any_size(void **state)
{
    struct lines l;
    struct buf got = {0};
    struct err err;
    str text = S(MANIFEST APP MORE ICON TEXT END(3));
    for (size_t piece = 1; piece <= text.n; piece++) {
        assert_int_equal(read_all(text, piece, &l, &got, &err), 0);
        assert_true(str_eq(buf_str(&got), S(APP MORE ICON TEXT)));
        assert_int_equal(l.state, LINES_END);
        assert_int_equal(l.lines, 4);
        assert_int_equal(l.bytes, got.n);
        assert_true(l.is_from_store && !l.is_known);
    }
    buf_done(&got);
}

static void what_makes_no_sense_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        MANIFEST,
        MANIFEST APP,
        APP,
        END(0),
        "garbage\n",
        "[]\n",
        "{\"manifest\":{}}\n" END(0),
        "{\"manifest\":{\"digest\":\"sha256:0\"}}\n" END(0),
        MANIFEST MANIFEST END(0),
        MANIFEST APP END(0),
        MANIFEST APP END(2),
        MANIFEST APP "{\"end\":{}}\n",
        MANIFEST APP "{\"end\":{\"files\":1,\"known\":true}}\n",
        MANIFEST END(0) APP,
        MANIFEST END(0) END(0),
        MANIFEST END(0) "x",
        MANIFEST "{\"path\":\"\",\"index\":0,\"document\":1}\n" END(1),
        MANIFEST "{\"path\":\"a\"}\n" END(1),
        MANIFEST "{\"path\":\"a\",\"document\":1}\n" END(1),
        MANIFEST "{\"path\":\"a\",\"index\":-1,\"document\":1}\n" END(1),
        MANIFEST "{\"path\":\"a\",\"index\":0,\"document\":1,\"text\":\"x\"}\n" END(1),
        MANIFEST "{\"path\":\"a\",\"text\":1}\n" END(1),
        MANIFEST "{\"path\":\"a\",\"text\":\"\xff\"}\n" END(1),
        "{\"error\":{\"reason\":\"Other\",\"message\":\"x\"}}\n",
        "{\"error\":{\"reason\":\"PullFailed\"}}\n",
        "{\"error\":{\"reason\":\"PullFailed\",\"message\":\"x\"}}\n" END(0),
    };
    struct lines l;
    struct buf got = {0};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err err;
        if (read_all(str_of(bad[i]), 7, &l, &got, &err) != ERR_BAD_REQUEST)
            fail_msg("was taken: %s", bad[i]);
        assert_true(str_has_prefix(str_of(err.msg), S("reeve-fetch printed ")));
    }
    buf_done(&got);
}

/* ---- Progress. ---- */

#define PROGRESS(at, of) \
    "{\"progress\":{\"step\":\"layers\",\"at\":" at ",\"of\":" of ",\"bytes\":77,\"bytesOf\":99}}\n"

static void see(void *ctx, const struct oci_progress *p)
{
    buf_fmt(ctx, "%d %llu/%llu %llu\n", p->step, (unsigned long long)p->at, (unsigned long long)p->of,
            (unsigned long long)p->bytes);
}

static int read_watched(const char *text, struct buf *got, struct err *err)
{
    struct lines l;
    got->n = 0;
    lines_init(&l, take, got);
    l.progress = see;
    int code = lines_add(&l, str_of(text), err);
    code = code < 0 ? code : lines_finish(&l, err);
    lines_done(&l);
    return code;
}

static void progress_is_told_before_all_else(void **state)
{
    static const char *const bad[] = {
        PROGRESS("3", "2") MANIFEST END(0),
        PROGRESS("-1", "2") MANIFEST END(0),
        PROGRESS("\"1\"", "2") MANIFEST END(0),
        MANIFEST PROGRESS("1", "2") END(0),
        "{\"progress\":{\"step\":\"lies\",\"at\":1,\"of\":2,\"bytes\":3,\"bytesOf\":3}}\n" MANIFEST END(0),
        "{\"progress\":true}\n" MANIFEST END(0),
    };
    struct buf got = {0};
    struct lines l;
    struct err err;
    assert_int_equal(read_watched(PROGRESS("0", "2") PROGRESS("2", "2") MANIFEST END(0), &got, &err), 0);
    assert_true(str_eq(buf_str(&got), S("1 0/2 77\n1 2/2 77\n")));
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (read_watched(bad[i], &got, &err) != ERR_BAD_REQUEST)
            fail_msg("was taken: %s", bad[i]);
    }
    /* Who did not ask for it gets none. */
    assert_int_equal(read_all(S(PROGRESS("0", "2") MANIFEST END(0)), 7, &l, &got, &err), ERR_BAD_REQUEST);
    buf_done(&got);
}

static void errors_of_the_child_are_answers(void **state)
{
    struct lines l;
    struct buf got = {0};
    struct err err;
    str text =
        S(MANIFEST APP
          "{\"error\":{\"reason\":\"InvalidPackage\",\"retry\":false,\"message\":\"a\\u001b[31m\\u009bb\\n\"}}\n");
    assert_int_equal(read_all(text, 1000, &l, &got, &err), 0);
    assert_int_equal(l.state, LINES_ERROR);
    assert_int_equal(l.failure.reason, FETCH_INVALID_PACKAGE);
    assert_false(l.failure.may_pass);
    assert_int_equal(l.error.code, ERR_INVALID);
    assert_string_equal(l.error.msg, "a [31m b ");
    text = S("{\"error\":{\"reason\":\"PullFailed\",\"retry\":true,\"message\":\"x\"}}\n");
    assert_int_equal(read_all(text, 1000, &l, &got, &err), 0);
    assert_int_equal(l.failure.reason, FETCH_PULL_FAILED);
    assert_true(l.failure.may_pass);
    buf_done(&got);
}

static void lines_that_do_not_end_are_cut_off(void **state)
{
    struct lines l;
    struct buf got = {0};
    struct err err;
    str piece = {calloc(1, 1 << 20), 1 << 20};
    int code = 0, pieces = 0;
    lines_init(&l, take, &got);
    while (code == 0 && pieces++ < 1000)
        code = lines_add(&l, piece, &err);
    assert_int_equal(code, ERR_TOO_LARGE);
    assert_int_equal(pieces, FETCH_MAX_LINE / (1 << 20) + 1);
    lines_done(&l);
    free((char *)(uintptr_t)piece.p);
    buf_done(&got);
}

static void so_are_lines_without_number(void **state)
{
    struct lines l;
    struct buf got = {0};
    struct err err;
    lines_init(&l, take, &got);
    assert_int_equal(lines_add(&l, S(MANIFEST), &err), 0);
    for (int i = 0; i < FETCH_MAX_LINES; i++)
        assert_int_equal(lines_add(&l, S(TEXT), &err), 0);
    assert_int_equal(lines_add(&l, S(TEXT), &err), ERR_TOO_LARGE);
    lines_done(&l);
    buf_done(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_taken_whole_in_pieces_of_any_size),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(progress_is_told_before_all_else),
        cmocka_unit_test(errors_of_the_child_are_answers),
        cmocka_unit_test(lines_that_do_not_end_are_cut_off),
        cmocka_unit_test(so_are_lines_without_number),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
