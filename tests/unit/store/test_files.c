/* SPDX-License-Identifier: Apache-2.0 */
/* The directory and what may be wrong with it: taken, foreign, newer, cut, damaged. */
#include "lib/store_harness.h"

#include "store/store_record.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *path(struct harness *h, const char *name)
{
    return str_fmt(&h->arena, "%s/%s", h->dir, name).p;
}

static mode_t mode(const char *name)
{
    struct stat st;
    assert_int_equal(stat(name, &st), 0);
    return st.st_mode & 07777;
}

static int open_again(struct harness *h, struct err *err)
{
    struct store *s;
    int code = store_open(&h->options, &s, err);
    if (code == 0)
        store_close(s);
    return code;
}

/* Turns the bits of one byte of every place in the file where text stands; how many there are. */
static size_t damage(struct harness *h, const char *text, size_t at)
{
    const char *name = path(h, "data.mdb");
    FILE *f = fopen(name, "r+");
    struct stat st;
    size_t n = 0, len = strlen(text);
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    size_t size = (size_t)st.st_size;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, size, f), size);
    for (char *p = bytes; (p = memmem(p, (size_t)(bytes + size - p), text, len)) != NULL; p += len, n++)
        p[at] = (char)(p[at] ^ 0xff);
    rewind(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(bytes);
    return n;
}

static void expect_open_to_others(struct harness *h, const char *name, mode_t open, mode_t closed)
{
    struct err err;
    assert_int_equal(chmod(name, open), 0);
    assert_int_equal(open_again(h, &err), ERR_INVALID);
    const char *want =
        str_fmt(&h->arena, "%s is open to others (mode %04o)\nhint: if nobody else has used it, run \"chmod %o %s\"",
                name, (unsigned)open, (unsigned)closed, name)
            .p;
    assert_string_equal(err.msg, want);
    assert_int_equal(mode(name), open); /* it is not for us to say that nobody has looked */
    assert_int_equal(chmod(name, closed), 0);
    assert_int_equal(open_again(h, &err), 0);
}

static void only_the_owner_may_look(void **state)
{
    struct harness *h = *state;
    struct err err;
    harness_close(h);
    mode_t before = umask(0);
    h->options.dir = path(h, "made");
    harness_open(h);
    assert_int_equal(mode(h->options.dir), 0700);
    assert_int_equal(mode(path(h, "made/data.mdb")), 0600);
    assert_int_equal(mode(path(h, "made/lock.mdb")), 0600);
    assert_int_equal(mode(path(h, "made/lock")), 0600);
    harness_close(h);
    umask(before);
    static const char *const files[] = {"made/data.mdb", "made/lock.mdb", "made/lock"};
    for (size_t i = 0; i < COUNT(files); i++) {
        expect_open_to_others(h, path(h, files[i]), 0644, 0600);
        expect_open_to_others(h, path(h, files[i]), 0602, 0600);
        expect_open_to_others(h, path(h, files[i]), 0620, 0600);
    }
    expect_open_to_others(h, path(h, "made"), 0755, 0700);
    expect_open_to_others(h, path(h, "made"), 0710, 0700);
    assert_int_equal(rename(path(h, "made/data.mdb"), path(h, "elsewhere")), 0);
    assert_int_equal(symlink("../elsewhere", path(h, "made/data.mdb")), 0);
    assert_int_equal(open_again(h, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "made/data.mdb is not a regular file"));
    (void)unlink(path(h, "elsewhere"));
    (void)unlink(path(h, "made/data.mdb"));
    (void)unlink(path(h, "made/lock.mdb"));
    (void)unlink(path(h, "made/lock"));
    (void)rmdir(h->options.dir);
}

static void no_directory_no_store(void **state)
{
    struct harness *h = *state;
    struct err err;
    h->options.dir = path(h, "not/there");
    assert_int_equal(open_again(h, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "not/there: No such file or directory"));
    h->options.dir = path(h, "data.mdb");
    assert_int_equal(open_again(h, &err), ERR_IO);
}

static void a_directory_belongs_to_one_process(void **state)
{
    struct harness *h = *state;
    struct err err;
    char pid[32];
    (void)snprintf(pid, sizeof pid, "by process %ld", (long)getpid());
    put(h, "ns", "a", 0, "1");
    assert_int_equal(open_again(h, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.msg, pid));
    assert_non_null(strstr(err.msg, h->dir));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(open_again(h, &err) == ERR_CONFLICT && strstr(err.msg, pid) ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    put(h, "ns", "b", 0, "2"); /* the holder did not notice */
    harness_close(h);
    assert_int_equal(open_again(h, &err), 0);
    harness_open(h);
}

static void set_format(struct harness *h, uint32_t format)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi meta;
    MDB_val key = {6, (void *)"format"}, value = {sizeof format, &format};
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 3), 0);
    assert_int_equal(mdb_env_open(env, h->dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, "meta", 0, &meta), 0);
    assert_int_equal(mdb_put(txn, meta, &key, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void a_newer_format_is_refused(void **state)
{
    struct harness *h = *state;
    struct err err;
    put(h, "ns", "a", 0, "1");
    harness_close(h);
    set_format(h, STORE_FORMAT + 1);
    assert_int_equal(open_again(h, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "newer version"));
    set_format(h, STORE_FORMAT);
    harness_open(h);
    assert_int_equal(store_count(h->store, h->table), 1);
}

static uint32_t read_format(struct harness *h)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi meta;
    MDB_val key = {6, (void *)"format"}, value;
    uint32_t format;
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 3), 0);
    assert_int_equal(mdb_env_open(env, h->dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, "meta", 0, &meta), 0);
    assert_int_equal(mdb_get(txn, meta, &key, &value), 0);
    memcpy(&format, value.mv_data, sizeof format);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return format;
}

/* Opening writes nothing; the first commit does. */
static void an_older_format_is_taken_over(void **state)
{
    struct harness *h = *state;
    put(h, "ns", "a", 0, "1");
    harness_close(h);
    set_format(h, 1);
    harness_reopen(h);
    assert_int_equal(store_count(h->store, h->table), 1);
    harness_close(h);
    assert_int_equal(read_format(h), 1);
    harness_open(h);
    put(h, "ns", "b", 0, "2");
    harness_close(h);
    assert_int_equal(read_format(h), STORE_FORMAT);
    harness_open(h);
}

static void foreign_files_are_refused(void **state)
{
    struct harness *h = *state;
    struct err err;
    harness_close(h);
    FILE *f = fopen(path(h, "data.mdb"), "w");
    assert_non_null(f);
    for (size_t i = 0; i < 1000; i++)
        assert_true(fputs("this is not a store\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(open_again(h, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "holds no store"));
}

static void a_file_that_was_cut_is_refused(void **state)
{
    struct harness *h = *state;
    struct err err;
    char *value = calloc(1, 100001);
    memset(value, 'v', 100000);
    put(h, "ns", "a", 0, value);
    free(value);
    harness_close(h);
    assert_int_equal(truncate(path(h, "data.mdb"), 50000), 0);
    assert_int_equal(open_again(h, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "was cut"));
}

static void a_damaged_value_harms_nothing_else(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct err err;
    rev a = put(h, "ns", "a", 0, "first value"), b = put(h, "ns", "b", 0, "second value");
    put(h, "ns", "c", 0, "third value");
    harness_close(h);
    assert_true(damage(h, "second value", 3) > 0);
    harness_open(h);
    assert_int_equal(store_get(h->store, h->table, S("ns"), S("b"), &item, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "damaged"));
    assert_int_equal(store_get(h->store, h->table, S("ns"), S("a"), &item, &err), 0);
    struct store_list *l = store_list_open(h->store, &(struct store_range){.table = h->table, .all_namespaces = true});
    assert_int_equal(store_list_next(l, &item, &err), 1);
    assert_int_equal(store_list_next(l, &item, &err), ERR_IO);
    assert_str(item.name, "b");
    assert_int_equal(store_list_rest(l, &err), 1);
    assert_int_equal(store_list_next(l, &item, &err), 1);
    assert_str(item.name, "c");
    assert_int_equal(store_list_next(l, &item, &err), 0);
    store_list_close(l);
    l = store_list_open(h->store, &(struct store_range){.table = h->table, .all_namespaces = true, .keys_only = true});
    for (size_t i = 0; i < 3; i++) /* who wants no values does not meet them */
        assert_int_equal(store_list_next(l, &item, &err), 1);
    store_list_close(l);
    struct store_log *log;
    struct store_event event;
    assert_int_equal(store_log_open(h->store, 1, &log, &err), 0);
    store_log_only(log, store_table(h->store, S("others")));
    assert_int_equal(store_log_next(log, &event, &err), 0);
    store_log_close(log);
    assert_int_equal(store_log_open(h->store, a, &log, &err), 0);
    assert_int_equal(store_log_next(log, &event, &err), ERR_IO);
    assert_int_equal(store_log_next(log, &event, &err), 1);
    assert_str(event.name, "c");
    store_log_close(log);
    put(h, "ns", "b", b, "whole again"); /* it can be replaced… */
    assert_int_equal(store_get(h->store, h->table, S("ns"), S("b"), &item, &err), 0);
    assert_str(item.value, "whole again");
    put(h, "ns", "a", a, "other");
}

static void a_damaged_head_is_noticed(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct store_event event;
    struct store_log *log;
    struct err err;
    rev r = put(h, "damaged", "x", 0, "value");
    put(h, "ns", "a", 0, "other");
    harness_close(h);
    assert_true(damage(h, "damagedx", 7) > 0); /* the name in the record; in the index it is "damaged/x" */
    harness_open(h);
    assert_int_equal(store_get(h->store, h->table, S("damaged"), S("x"), &item, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "the record of revision 2 is damaged"));
    assert_int_equal(store_log_open(h->store, r - 1, &log, &err), 0);
    assert_int_equal(store_log_next(log, &event, &err), ERR_IO);
    assert_int_equal(store_log_next(log, &event, &err), 1);
    assert_str(event.name, "a");
    store_log_close(log);
}

static void a_damaged_index_entry_fails_its_own_writes(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct err err;
    struct outcome bad, good;
    rev a = put(h, "ns", "first-name", 0, "1");
    put(h, "ns", "other-name", 0, "2");
    harness_close(h);
    assert_true(damage(h, "ns/first-name", sizeof "ns/first-name" - 1) > 0); /* the byte behind: of the entry */
    harness_open(h);
    assert_int_equal(store_get(h->store, h->table, S("ns"), S("first-name"), &item, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "first-name is damaged"));
    struct store_change c = {.table = h->table, .namespace = S("ns"), .name = S("first-name"), .expect = a};
    struct store_change d = {.table = h->table, .namespace = S("ns"), .name = S("other-name"), .expect = a + 1};
    harness_hold(h);
    harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1}, &bad);
    harness_submit(h, &(struct store_write){.changes = &d, .n_changes = 1}, &good);
    harness_release(h);
    harness_settle(h);
    assert_int_equal(bad.result.code, ERR_IO);
    assert_non_null(strstr(bad.message, "damaged"));
    assert_int_equal(good.result.code, 0);
}

/* Compaction meets a record it cannot read and goes on behind it. */
static void a_damaged_record_does_not_stop_compaction(void **state)
{
    struct harness *h = *state;
    put(h, "ns", "b", put(h, "ns", "b", 0, "b1"), "b2");
    put(h, "damaged", "x", put(h, "damaged", "x", 0, "x1"), "x2");
    rev c = put(h, "ns", "c", put(h, "ns", "c", 0, "c1"), "c2");
    harness_close(h);
    assert_true(damage(h, "damagedx", 0) > 0);
    harness_open(h);
    for (size_t i = 0; i < 3; i++) {
        clock_fake_advance(&h->clock, INT64_C(301) * 1000000000);
        put(h, "ns", (char[]){(char)('0' + i), 0}, 0, "later");
    }
    assert_true(store_oldest(h->store) >= c);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, harness_set_up, harness_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(only_the_owner_may_look),
        TEST(no_directory_no_store),
        TEST(a_directory_belongs_to_one_process),
        TEST(a_newer_format_is_refused),
        TEST(an_older_format_is_taken_over),
        TEST(foreign_files_are_refused),
        TEST(a_file_that_was_cut_is_refused),
        TEST(a_damaged_value_harms_nothing_else),
        TEST(a_damaged_head_is_noticed),
        TEST(a_damaged_index_entry_fails_its_own_writes),
        TEST(a_damaged_record_does_not_stop_compaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
