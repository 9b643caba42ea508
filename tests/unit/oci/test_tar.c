/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "maker.h"
#include "oci/tar.h"

/* What was read, as text: "file a/b 0644 5 hello" one line each. */
struct heard {
    struct buf text;
    bool refuses;
};

static int on_entry(void *ctx, const struct tar_entry *e, struct err *err)
{
    static const char *const types[] = {"file", "directory", "symlink", "link", "special"};
    struct heard *h = ctx;
    if (h->refuses)
        return err_set(err, ERR_FORBIDDEN, "not this one");
    buf_fmt(&h->text, "%s%s %s%.*s", h->text.n ? "\n" : "", types[e->type], e->is_absolute ? "abs:" : "", STR(e->path));
    if (e->type == TAR_FILE)
        buf_fmt(&h->text, " %llu:", (unsigned long long)e->size);
    if (e->type == TAR_SYMLINK || e->type == TAR_HARD_LINK)
        buf_fmt(&h->text, " -> %.*s", STR(e->link));
    return 0;
}

static int on_data(void *ctx, str piece, struct err *err)
{
    struct heard *h = ctx;
    buf_add_str(&h->text, piece);
    return 0;
}

static const struct tar_reader_ops ops = {on_entry, on_data};

static int read_in_pieces(struct arena *a, str archive, size_t piece, struct heard *ret, struct err *err)
{
    struct tar_reader *r = tar_reader_new(&ops, ret, 100);
    int code = 0;
    ret->text = (struct buf){.arena = a};
    while (code == 0 && archive.n) {
        code = tar_feed(r, str_upto(archive, piece), err);
        archive = str_from(archive, piece);
    }
    if (code == 0)
        code = tar_finish(r, err);
    tar_reader_free(r);
    return code;
}

/* The same, however it is cut. */
static void assert_reads(struct arena *a, const struct buf *archive, const char *want)
{
    static const size_t pieces[] = {1, 7, 511, 512, 513, 1 << 20};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        struct heard h = {0};
        struct err err;
        if (read_in_pieces(a, buf_str(archive), pieces[i], &h, &err) < 0)
            fail_msg("in pieces of %zu: %s", pieces[i], err.msg);
        buf_add_char(&h.text, '\0');
        assert_string_equal(h.text.p, want);
    }
}

static void assert_refuses(struct arena *a, const struct buf *archive, int code, const char *want)
{
    static const size_t pieces[] = {1, 512, 1 << 20};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        struct heard h = {0};
        struct err err = {0};
        assert_int_equal(read_in_pieces(a, buf_str(archive), pieces[i], &h, &err), code);
        assert_string_equal(err.msg, want);
    }
}

static void plain(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_entry(&t, "dir/", '5', (str){0});
    make_file(&t, "dir/file", "hello");
    make_file(&t, "empty", "");
    make_link(&t, "link", '2', "../dir/file");
    make_link(&t, "hard", '1', "dir/file");
    make_entry(&t, "null", '3', (str){0});
    make_entry(&t, "disk", '4', (str){0});
    make_entry(&t, "pipe", '6', (str){0});
    make_end(&t);
    make_zeros(&t, 10240);
    assert_reads(&a, &t,
                 "directory dir\nfile dir/file 5:hello\nfile empty 0:\nsymlink link -> ../dir/file\n"
                 "link hard -> dir/file\nspecial null\nspecial disk\nspecial pipe");
}

static void paths_are_cleaned(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_entry(&t, "./", '5', (str){0});
    make_file(&t, "./a//b/./c", "");
    make_file(&t, "/etc/x", "");
    make_file(&t, "..a/b..", "");
    make_end(&t);
    assert_reads(&a, &t, "directory \nfile a/b/c 0:\nfile abs:etc/x 0:\nfile ..a/b.. 0:");
}

static void one_block_of_zeros_will_do(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_file(&t, "a", "1");
    make_zeros(&t, 512);
    assert_reads(&a, &t, "file a 1:1");
}

static void old_archives(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_header(&t, &(struct made){.path = S("dir/"), .is_old = true});
    t.p[156] = '\0';
    make_sum(&t, 0);
    size_t at = t.n;
    make_header(&t, &(struct made){.path = S("dir/file"), .is_old = true});
    t.p[at + 156] = '\0';
    make_sum(&t, at);
    make_end(&t);
    assert_reads(&a, &t, "directory dir\nfile dir/file 0:");
}

static void prefix_of_ustar(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_file(&t, "file", "");
    memcpy(t.p + 345, "some/where", 10);
    make_sum(&t, 0);
    make_end(&t);
    assert_reads(&a, &t, "file some/where/file 0:");
    memcpy(t.p + 257, "ustar  ", 8); /* GNU keeps times there */
    make_sum(&t, 0);
    assert_reads(&a, &t, "file file 0:");
}

/* All 100 bytes of a name may be used; then there is no NUL. */
static void name_of_100_bytes(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    char name[101] = {0};
    memset(name, 'n', 100);
    make_file(&t, name, "");
    make_end(&t);
    assert_reads(&a, &t, str_cstr(&a, str_fmt(&a, "file %s 0:", name)));
}

static void long_names(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a}, name = {.arena = &a}, link = {.arena = &a};
    for (int i = 0; i < 100; i++)
        buf_fmt(&name, "%sdirectory", i ? "/" : ""), buf_fmt(&link, "../");
    buf_add_char(&name, '\0');
    buf_add_char(&link, '\0');
    make_meta(&t, 'K', buf_str(&link));
    make_meta(&t, 'L', buf_str(&name));
    make_link(&t, "directory/dir", '2', "../");
    make_file(&t, "short", "");
    make_end(&t);
    assert_reads(&a, &t, str_cstr(&a, str_fmt(&a, "symlink %s -> %s\nfile short 0:", name.p, link.p)));
}

static void pax(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a}, x = {.arena = &a};
    make_record(&x, "mtime", S("1700000000.123"));
    make_record(&x, "SCHILY.xattr.user.x", (str){"a\0b=c\n", 6});
    make_record(&x, "path", S("über/all"));
    make_record(&x, "size", S("5"));
    make_meta(&t, 'x', buf_str(&x));
    make_header(&t, &(struct made){.path = S("other"), .size = 0});
    buf_add_str(&t, S("hello"));
    make_zeros(&t, 507);
    make_file(&t, "next", "1");
    x.n = 0;
    make_record(&x, "linkpath", S("far/away"));
    make_meta(&t, 'x', buf_str(&x));
    make_link(&t, "l", '2', "near");
    make_end(&t);
    assert_reads(&a, &t, "file über/all 5:hello\nfile next 1:1\nsymlink l -> far/away");
}

/* An empty value takes back what was said. What is said for all entries may be a remark. */
static void pax_remarks(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a}, x = {.arena = &a};
    make_record(&x, "comment", S("made by hand"));
    make_meta(&t, 'g', buf_str(&x));
    x.n = 0;
    make_record(&x, "path", S("wrong"));
    make_record(&x, "path", S(""));
    make_meta(&t, 'x', buf_str(&x));
    make_file(&t, "right", "");
    make_end(&t);
    assert_reads(&a, &t, "file right 0:");
}

static void binary_size(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_file(&t, "a", "hello");
    memcpy(t.p + 124, "\x80\0\0\0\0\0\0\0\0\0\0\5", 12);
    make_sum(&t, 0);
    make_end(&t);
    assert_reads(&a, &t, "file a 5:hello");
    memcpy(t.p + 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
    make_sum(&t, 0);
    assert_refuses(&a, &t, ERR_INVALID, "the size of an entry of the archive is not a number");
    memcpy(t.p + 124, "\x80\0\0\0\x80\0\0\0\0\0\0\0", 12); /* 2^63 */
    make_sum(&t, 0);
    assert_refuses(&a, &t, ERR_INVALID, "the size of an entry of the archive is not a number");
}

static void links_have_no_data(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_header(&t, &(struct made){.path = S("hard"), .type = '1', .link = S("x"), .size = 1000});
    make_header(&t, &(struct made){.path = S("dir/"), .type = '5', .size = 1000});
    make_file(&t, "a", "1");
    make_end(&t);
    assert_reads(&a, &t, "link hard -> x\ndirectory dir\nfile a 1:1");
}

/* ---- Hostile. ---- */

static void paths_that_lead_out(void **state)
{
    static const char *const paths[] = {"../x", "a/../../x", "a/..", "..", "/../x", "./../x", "a/../b"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct buf t = {.arena = &a}, x = {.arena = &a};
        const char *want = str_cstr(&a, str_fmt(&a, "the path \"%s\" leads out of the archive", paths[i]));
        make_file(&t, paths[i], "");
        make_end(&t);
        assert_refuses(&a, &t, ERR_INVALID, want);
        t.n = 0;
        make_record(&x, "path", str_of(paths[i]));
        make_meta(&t, 'x', buf_str(&x));
        make_file(&t, "harmless", "");
        make_end(&t);
        assert_refuses(&a, &t, ERR_INVALID, want);
    }
}

static void nul_bytes(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a}, x = {.arena = &a};
    make_header(&t, &(struct made){.path = {"app.yaml\0.sh", 12}});
    make_end(&t);
    assert_refuses(&a, &t, ERR_INVALID, "a path in the archive has a NUL byte in it");
    t.n = 0;
    make_record(&x, "path", (str){"app.yaml\0.sh", 12});
    make_meta(&t, 'x', buf_str(&x));
    make_file(&t, "harmless", "");
    make_end(&t);
    assert_refuses(&a, &t, ERR_INVALID, "the path \"app.yaml\\x00.sh\" has a NUL byte in it");
    t.n = 0;
    make_meta(&t, 'L', (str){"app.yaml\0.sh\0", 13});
    make_file(&t, "harmless", "");
    make_end(&t);
    assert_refuses(&a, &t, ERR_INVALID, "the path \"app.yaml\\x00.sh\" has a NUL byte in it");
}

static void damage(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_file(&t, "a", "1");
    make_end(&t);
    t.p[3] = 'x';
    assert_refuses(&a, &t, ERR_INVALID, "the archive is damaged: the checksum of a header is wrong");
    t.p[3] = '\0';
    memcpy(t.p + 124, "0000000008 ", 11);
    make_sum(&t, 0);
    assert_refuses(&a, &t, ERR_INVALID, "the size of an entry of the archive is not a number");
}

/* Wherever it is cut. */
static void cut_off(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a}, x = {.arena = &a};
    make_record(&x, "path", S("there"));
    make_meta(&t, 'x', buf_str(&x));
    make_file(&t, "a", "hello");
    size_t whole = t.n;
    make_end(&t);
    for (size_t n = 0; n < whole + 512; n += n < 1030 || n > whole - 520 ? 1 : 13) {
        struct heard h = {0};
        struct err err;
        assert_int_equal(read_in_pieces(&a, (str){t.p, n}, 100, &h, &err), ERR_INVALID);
        assert_string_equal(err.msg, "the archive is cut off: it ends in the middle of an entry or without its end");
    }
}

static void lying_sizes(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_header(&t, &(struct made){.path = S("a"), .size = 077777777777});
    buf_add_str(&t, S("hello"));
    make_zeros(&t, 507);
    make_end(&t);
    assert_refuses(&a, &t, ERR_INVALID, "the archive is cut off: it ends in the middle of an entry or without its end");
    t.n = 0;
    make_header(&t, &(struct made){.path = S("a"), .size = 0}); /* less than there is */
    buf_add_str(&t, S("hello"));
    make_zeros(&t, 507);
    make_end(&t);
    assert_refuses(&a, &t, ERR_INVALID, "the archive is damaged: the checksum of a header is wrong");
}

static void something_behind_the_end(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    make_file(&t, "a", "1");
    make_end(&t);
    make_file(&t, "b", "2");
    assert_refuses(&a, &t, ERR_INVALID, "there is something behind the end of the archive");
    t.n = 0;
    make_zeros(&t, 512);
    make_file(&t, "b", "2");
    assert_refuses(&a, &t, ERR_INVALID, "there is something behind the end of the archive");
}

static void what_nobody_needs(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a}, x = {.arena = &a};
    make_entry(&t, "a", 'S', (str){0});
    assert_refuses(&a, &t, ERR_INVALID, "the archive has sparse files, which no package needs");
    t.n = 0;
    make_record(&x, "GNU.sparse.major", S("1"));
    make_meta(&t, 'x', buf_str(&x));
    assert_refuses(&a, &t, ERR_INVALID, "the archive has sparse files, which no package needs");
    t.n = 0;
    make_entry(&t, "a", 'Z', (str){0});
    assert_refuses(&a, &t, ERR_INVALID, "the archive has an entry of an unknown type (0x5a)");
    t.n = 0;
    make_entry(&t, "", '0', (str){0});
    assert_refuses(&a, &t, ERR_INVALID, "the archive has an entry without a name");
}

static void extended_headers_that_make_no_sense(void **state)
{
    static const char *const records[] = {
        "",        "x",      "5",       "0 a=b\n",  "3 \n",     "99999999999999999999 a=b\n",
        "7 a=b\n", "6 a=bc", "5 a=b\n", "-6 a=b\n", " 6 a=b\n", "6 a=b\n6"};
    for (size_t i = 1; i < COUNT(records); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct buf t = {.arena = &a};
        struct heard h = {0};
        struct err err;
        make_meta(&t, 'x', str_of(records[i]));
        make_file(&t, "a", "");
        make_end(&t);
        assert_int_equal(read_in_pieces(&a, buf_str(&t), 512, &h, &err), ERR_INVALID);
        if (str_find(str_of(err.msg), S("extended header has no")) < 0)
            fail_msg("%s: %s", records[i], err.msg);
    }
}

static void sizes_of_pax_that_make_no_sense(void **state)
{
    static const char *const sizes[] = {"-1", "x", "0x10", "1.5", "9223372036854775808", "99999999999999999999"};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct buf t = {.arena = &a}, x = {.arena = &a};
        make_record(&x, "size", str_of(sizes[i]));
        make_meta(&t, 'x', buf_str(&x));
        assert_refuses(&a, &t, ERR_INVALID, "the size of an entry of the archive is not a number");
    }
}

static void extended_headers_that_deceive(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a}, x = {.arena = &a};
    make_record(&x, "path", S("b"));
    make_meta(&t, 'g', buf_str(&x));
    assert_refuses(&a, &t, ERR_INVALID, "the archive has one path for all entries");
    t.n = 0;
    make_meta(&t, 'x', buf_str(&x));
    make_meta(&t, 'L', (str){"c\0", 2});
    assert_refuses(&a, &t, ERR_INVALID, "the archive gives one entry two names");
    t.n = 0;
    make_meta(&t, 'x', buf_str(&x));
    make_end(&t);
    assert_refuses(&a, &t, ERR_INVALID, "the archive ends behind an extended header");
    t.n = 0;
    for (int i = 0; i < 9; i++)
        make_meta(&t, 'x', buf_str(&x));
    assert_refuses(&a, &t, ERR_INVALID, "the archive has more than 8 extended headers for one entry");
}

static void limits(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a}, x = {.arena = &a}, path = {.arena = &a};
    struct heard h = {0};
    struct err err;
    for (int i = 0; i < 4096; i++)
        buf_add_char(&path, 'p');
    make_record(&x, "path", buf_str(&path));
    make_meta(&t, 'x', buf_str(&x));
    make_file(&t, "a", "");
    make_end(&t);
    assert_int_equal(read_in_pieces(&a, buf_str(&t), 512, &h, &err), 0);
    t.n = x.n = 0;
    buf_add_char(&path, 'p');
    make_record(&x, "path", buf_str(&path));
    make_meta(&t, 'x', buf_str(&x));
    assert_int_equal(read_in_pieces(&a, buf_str(&t), 512, &h, &err), ERR_TOO_LARGE);
    t.n = 0;
    make_header(&t, &(struct made){.path = S("x"), .type = 'x', .size = TAR_PAX_MAX + 1});
    assert_refuses(&a, &t, ERR_TOO_LARGE, "the archive has an extended header of more than 1048576 bytes");
    t.n = 0;
    make_header(&t, &(struct made){.path = S("x"), .type = 'L', .size = 10000});
    assert_refuses(&a, &t, ERR_TOO_LARGE, "the archive has an extended header of more than 4608 bytes");
    t.n = 0;
    for (int i = 0; i < 101; i++)
        make_file(&t, "a", "");
    assert_refuses(&a, &t, ERR_TOO_LARGE, "there are more than 100 entries");
}

/* An error is for good, and comes from whoever listens, too. */
static void given_up(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf t = {.arena = &a};
    struct heard h = {.text = {.arena = &a}, .refuses = true};
    struct err err;
    struct tar_reader *r = tar_reader_new(&ops, &h, 100);
    make_file(&t, "a", "1");
    make_end(&t);
    assert_int_equal(tar_feed(r, buf_str(&t), &err), ERR_FORBIDDEN);
    assert_string_equal(err.msg, "not this one");
    h.refuses = false;
    assert_int_equal(tar_feed(r, buf_str(&t), &err), ERR_FORBIDDEN);
    assert_int_equal(tar_finish(r, &err), ERR_FORBIDDEN);
    assert_int_equal(h.text.n, 0);
    tar_reader_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(paths_are_cleaned),
        cmocka_unit_test(one_block_of_zeros_will_do),
        cmocka_unit_test(old_archives),
        cmocka_unit_test(prefix_of_ustar),
        cmocka_unit_test(name_of_100_bytes),
        cmocka_unit_test(long_names),
        cmocka_unit_test(pax),
        cmocka_unit_test(pax_remarks),
        cmocka_unit_test(binary_size),
        cmocka_unit_test(links_have_no_data),
        cmocka_unit_test(paths_that_lead_out),
        cmocka_unit_test(nul_bytes),
        cmocka_unit_test(damage),
        cmocka_unit_test(cut_off),
        cmocka_unit_test(lying_sizes),
        cmocka_unit_test(something_behind_the_end),
        cmocka_unit_test(what_nobody_needs),
        cmocka_unit_test(extended_headers_that_make_no_sense),
        cmocka_unit_test(sizes_of_pax_that_make_no_sense),
        cmocka_unit_test(extended_headers_that_deceive),
        cmocka_unit_test(limits),
        cmocka_unit_test(given_up),
    };
    return cmocka_run_group_tests_name("tar", tests, NULL, NULL);
}
