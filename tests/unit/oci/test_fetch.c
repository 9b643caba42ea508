/* SPDX-License-Identifier: Apache-2.0 */
/* The fetcher with children that are shell scripts: what they print, and how they end, is up to the test. */
#include "oci/oci_fetch.h"

#include "base/arena.h"
#include "oci/fetch_op.h"
#include "json/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ZEROES "0000000000000000000000000000000000000000000000000000000000000000"
#define ONES "1111111111111111111111111111111111111111111111111111111111111111"

static char root[64];
static struct fetcher *fetcher;
static struct clock_fake now;

static const char *path_of(struct arena *a, const char *name)
{
    return str_cstr(a, str_fmt(a, "%s/%s", root, name));
}

static void write_file(const char *name, str text, mode_t mode)
{
    struct arena a ARENA_SCOPE = {0};
    FILE *f = fopen(path_of(&a, name), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path_of(&a, name), mode), 0);
}

/* A child that counts itself, reads its request into $q and goes on as told. It has no environment, so no PATH. */
static void child_does(const char *what)
{
    struct arena a ARENA_SCOPE = {0};
    write_file("fetch",
               str_fmt(&a,
                       "#!/bin/sh\n"
                       "cd %s\n"
                       "echo run >> runs\n"
                       "read -r q\n"
                       "manifest() { echo \"{\\\"manifest\\\":{\\\"digest\\\":\\\"sha256:$1\\\"}}\"; }\n"
                       "text() { echo \"{\\\"path\\\":\\\"a\\\",\\\"text\\\":\\\"$1\\\"}\"; }\n"
                       "end() { echo \"{\\\"end\\\":{\\\"files\\\":$1}}\"; }\n"
                       "%s\n",
                       root, what),
               0700);
}

static size_t runs(void)
{
    struct arena a ARENA_SCOPE = {0};
    struct stat st;
    return stat(path_of(&a, "runs"), &st) < 0 ? 0 : (size_t)st.st_size / strlen("run\n");
}

static void start_with(struct fetcher_options o)
{
    struct arena a ARENA_SCOPE = {0};
    struct err err;
    o.program = o.program ? o.program : path_of(&a, "fetch");
    o.cache = path_of(&a, "cache");
    o.clock = clock_of_fake(&now);
    assert_int_equal(fetcher_new(&o, &fetcher, &err), 0);
}

static void start(void)
{
    start_with((struct fetcher_options){0});
}

struct outcome {
    int code;
    char digest[80];
    char text[4000]; /* all lines but the first, or the error */
    struct fetch_failure failure;
};

static void read_entry(struct fetch_entry *e, struct outcome *o)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    struct err err;
    str line, again;
    uint64_t offset;
    int code;
    for (int i = 0; (code = fetch_entry_next(e, &a, &line, &offset, &err)) > 0; i++) {
        assert_int_equal(fetch_entry_read(e, &a, offset, &again, &err), 0);
        assert_true(str_eq(line, again));
        if (i)
            buf_fmt(&b, "%.*s;", STR(line));
        else
            assert_true(str_has_prefix(line, S("{\"manifest\":{\"digest\":\"sha256:")));
    }
    assert_int_equal(code, 0);
    (void)snprintf(o->text, sizeof o->text, "%.*s", STR(buf_str(&b)));
}

static struct outcome pull_what(const struct fetch_request *request)
{
    struct arena a ARENA_SCOPE = {0};
    struct outcome o = {0};
    struct err err;
    struct fetch_result result;
    o.code = fetch_pull(fetcher, &a, request, &result, &o.failure, &err);
    if (o.code < 0) {
        (void)snprintf(o.text, sizeof o.text, "%s", err.msg);
        return o;
    }
    (void)snprintf(o.digest, sizeof o.digest, "%.*s", STR(result.digest));
    read_entry(result.entry, &o);
    fetch_entry_close(result.entry);
    return o;
}

static struct outcome pull_as(const char *reference, enum fetch_policy policy, const char *auth)
{
    str auths[] = {str_of(auth)};
    return pull_what(&(struct fetch_request){str_of(reference), policy, auths, auth ? 1 : 0, {0}, false});
}

/* As somebody who has more to do than to wait. */
static struct outcome pull_at_once(const char *reference, const char *tenant)
{
    return pull_what(
        &(struct fetch_request){.reference = str_of(reference), .tenant = str_of(tenant), .is_at_once = true});
}

static struct outcome pull(const char *reference)
{
    return pull_as(reference, FETCH_IF_NOT_PRESENT, NULL);
}

static void good(struct outcome o, const char *digest, const char *text)
{
    if (o.code < 0)
        fail_msg("%s", o.text);
    assert_string_equal(o.digest, digest);
    assert_string_equal(o.text, text);
}

static void bad(struct outcome o, enum fetch_reason reason, bool may_pass, const char *text)
{
    if (o.code == 0)
        fail_msg("it went well: %s", o.text);
    assert_string_equal(o.text, text);
    assert_int_equal(o.failure.reason, reason);
    assert_int_equal(o.failure.may_pass, may_pass);
}

/* The only entry of the cache, in a. */
static const char *entry_file(struct arena *a)
{
    const char *found = NULL;
    DIR *d = opendir(path_of(a, "cache"));
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (str_has_suffix(str_of(e->d_name), S(".jsonl"))) {
            assert_null(found);
            found = str_cstr(a, str_fmt(a, "%s/cache/%s", root, e->d_name));
        } else {
            assert_true(e->d_name[0] == '.'); /* nothing is left behind */
        }
    }
    closedir(d);
    return found;
}

/* ---- Pulling. ---- */

static void what_a_child_brings_is_kept(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct stat st;
    child_does("manifest " ONES "; text x; text y; end 2");
    start();
    good(pull("acme/x:1"), "sha256:" ONES, "{\"path\":\"a\",\"text\":\"x\"};{\"path\":\"a\",\"text\":\"y\"};");
    good(pull("acme/x:1"), "sha256:" ONES, "{\"path\":\"a\",\"text\":\"x\"};{\"path\":\"a\",\"text\":\"y\"};");
    good(pull("docker.io/acme/x:1"), "sha256:" ONES,
         "{\"path\":\"a\",\"text\":\"x\"};{\"path\":\"a\",\"text\":\"y\"};");
    assert_int_equal(runs(), 1);
    assert_int_equal(stat(entry_file(&a), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(path_of(&a, "cache"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void a_package_may_have_nothing_in_it(void **state)
{
    child_does("manifest " ONES "; end 0");
    start();
    good(pull("acme/x:1"), "sha256:" ONES, "");
}

static void lines_may_be_longer_than_any_window(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct err err;
    struct fetch_result result;
    child_does("manifest " ONES
               "; text x; x=xxxxxxxxxxxxxxxx; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do x=$x$x; done;"
               "text $x; text y; end 3");
    start();
    const struct fetch_request request = {.reference = S("acme/x:1")};
    assert_int_equal(fetch_pull(fetcher, &a, &request, &result, NULL, &err), 0);
    for (int again = 0; again < 2; again++) {
        static const size_t sizes[] = {0, 1, 16 << 16, 1};
        str line, same;
        uint64_t offset;
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(fetch_entry_next(result.entry, &a, &line, &offset, &err), 1);
            assert_true(i == 0 || line.n == strlen("{\"path\":\"a\",\"text\":\"\"}") + sizes[i]);
            assert_int_equal(fetch_entry_read(result.entry, &a, offset, &same, &err), 0);
            assert_true(str_eq(line, same));
        }
        assert_int_equal(fetch_entry_next(result.entry, &a, &line, &offset, &err), 0);
        fetch_entry_rewind(result.entry);
    }
    fetch_entry_close(result.entry);
}

static void always_asks_each_time(void **state)
{
    child_does("case $q in *\\\"have\\\":*sha256:" ONES "*) manifest " ONES
               "; echo '{\"end\":{\"files\":0,\"known\":true}}';;"
               "*) manifest " ONES "; text x; end 1;; esac");
    start();
    for (size_t i = 1; i <= 3; i++) {
        good(pull_as("acme/x:1", FETCH_ALWAYS, NULL), "sha256:" ONES, "{\"path\":\"a\",\"text\":\"x\"};");
        assert_int_equal(runs(), i);
    }
    /* Other repositories, the same digest: what was said of one does not count for another. */
    good(pull_as("acme/y:1", FETCH_ALWAYS, NULL), "sha256:" ONES, "{\"path\":\"a\",\"text\":\"x\"};");
}

static void answers_are_for_those_who_asked(void **state)
{
    child_does("manifest " ONES "; text x; end 1");
    start();
    for (size_t i = 1; i <= 2; i++) {
        (void)pull_as("acme/x:1", FETCH_IF_NOT_PRESENT, NULL);
        (void)pull_as("acme/x:1", FETCH_IF_NOT_PRESENT, "{}");
        (void)pull_as("acme/x:1", FETCH_IF_NOT_PRESENT, "{\"auths\":{}}");
        (void)pull_as("acme/x:1", FETCH_NEVER, NULL);
        (void)pull_as("acme/x:2", FETCH_IF_NOT_PRESENT, NULL);
        assert_int_equal(runs(), 5);
    }
}

static void answers_stand_for_a_while(void **state)
{
    child_does("manifest " ONES "; text x; end 1");
    start_with((struct fetcher_options){.remember_ns = 1000});
    (void)pull("acme/x:1");
    clock_fake_advance(&now, 999);
    (void)pull("acme/x:1");
    assert_int_equal(runs(), 1);
    clock_fake_advance(&now, 1);
    (void)pull("acme/x:1");
    assert_int_equal(runs(), 2);
}

/* ---- Children that fail. ---- */

static void children_that_break_say_so(void **state)
{
    static const struct {
        const char *script, *text;
    } rows[] = {
        {"exit 3", "reeve-fetch failed with exit code 3"},
        {"echo 'a b\033c' >&2; exit 3", "reeve-fetch failed with exit code 3: a b c "},
        {"manifest " ONES "; text x; end 1; kill -9 $$", "reeve-fetch was ended by signal 9"},
        {"kill -31 $$", "reeve-fetch tried something that is forbidden to it, and was killed"},
        {"echo garbage", "reeve-fetch printed a line that is no JSON object"},
        {"manifest " ONES "; text x", "reeve-fetch printed no end"},
        {"manifest " ONES "; text x; end 2", "reeve-fetch printed an end that does not fit what came before"},
        {"manifest " ONES "; echo '{\"end\":{\"files\":0,\"known\":true}}'", "reeve-fetch brought nothing"},
    };
    start();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena a ARENA_SCOPE = {0};
        child_does(rows[i].script);
        bad(pull("acme/x:1"), FETCH_PULL_FAILED, true, rows[i].text);
        assert_null(entry_file(&a));
    }
}

static void errors_come_with_their_reason(void **state)
{
    start();
    child_does("manifest " ONES
               "; text x; echo '{\"error\":{\"reason\":\"InvalidPackage\",\"retry\":false,\"message\":\"m\"}}'");
    bad(pull("acme/x:1"), FETCH_INVALID_PACKAGE, false, "m");
    child_does("echo '{\"error\":{\"reason\":\"PullFailed\",\"retry\":true,\"message\":\"n\"}}'");
    bad(pull("acme/x:1"), FETCH_PULL_FAILED, true, "n");
    bad(pull("acme/X:1"), FETCH_PULL_FAILED, false, pull("acme/X:1").text);
}

static void a_missing_program_is_named(void **state)
{
    start_with((struct fetcher_options){.program = "/nowhere/reeve-fetch"});
    bad(pull("acme/x:1"), FETCH_PULL_FAILED, true, "run /nowhere/reeve-fetch: No such file or directory");
}

static void children_that_hang_are_ended(void **state)
{
    child_does("while :; do :; done");
    start_with((struct fetcher_options){.timeout_ns = 50000000});
    bad(pull("acme/x:1"), FETCH_PULL_FAILED, true, "reeve-fetch took longer than 0 seconds");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void the_digest_asked_for_is_the_one_that_counts(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    child_does("manifest " ONES "; text x; end 1");
    start();
    bad(pull("acme/x@sha256:" ZEROES), FETCH_PULL_FAILED, true,
        "reeve-fetch brought another digest than it was sent for");
    assert_null(entry_file(&a));
    good(pull("acme/x@sha256:" ONES), "sha256:" ONES, "{\"path\":\"a\",\"text\":\"x\"};");
}

/* ---- Many at once. ---- */

struct asker {
    pthread_t thread;
    const char *reference;
    struct outcome outcome;
};

static void *ask(void *ctx)
{
    struct asker *asker = ctx;
    asker->outcome = pull(asker->reference);
    return NULL;
}

static void begin(struct asker *asker, const char *reference)
{
    asker->reference = reference;
    assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

static struct outcome await(struct asker *asker)
{
    assert_int_equal(pthread_join(asker->thread, NULL), 0);
    return asker->outcome;
}

/* Woken by whatever is written in the folder: there the children count themselves. */
static void wait_for_runs(size_t n)
{
    char events[4096];
    int fd = inotify_init1(IN_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(inotify_add_watch(fd, root, IN_MODIFY) >= 0);
    while (runs() < n)
        assert_true(read(fd, events, sizeof events) > 0);
    assert_int_equal(close(fd), 0);
}

/* Children wait for a line from a pipe; each takes one. */
static int gate = -1;

static void make_gate(void)
{
    struct arena a ARENA_SCOPE = {0};
    assert_int_equal(mkfifo(path_of(&a, "gate"), 0600), 0);
    gate = open(path_of(&a, "gate"), O_RDWR | O_CLOEXEC);
    assert_true(gate >= 0);
}

static void open_gate(size_t times)
{
    while (times--)
        assert_int_equal(write(gate, "\n", 1), 1);
}

static void equal_questions_are_asked_once(void **state)
{
    struct asker askers[10];
    make_gate();
    child_does("read -r x < gate; manifest " ONES "; text x; end 1");
    start();
    for (size_t i = 0; i < 10; i++)
        begin(&askers[i], "acme/x:1");
    open_gate(1);
    for (size_t i = 0; i < 10; i++)
        good(await(&askers[i]), "sha256:" ONES, "{\"path\":\"a\",\"text\":\"x\"};");
    assert_int_equal(runs(), 1);
}

static void so_are_those_that_fail(void **state)
{
    struct asker first, second;
    make_gate();
    child_does("read -r x < gate; exit 3");
    start();
    begin(&first, "acme/x:1");
    wait_for_runs(1);
    begin(&second, "acme/x:1");
    open_gate(2); /* one each, should the second come after the first had gone */
    bad(await(&first), FETCH_PULL_FAILED, true, "reeve-fetch failed with exit code 3");
    bad(await(&second), FETCH_PULL_FAILED, true, "reeve-fetch failed with exit code 3");
}

/* Two of four may be for one host; the third waits while another host is served. */
static void a_registry_that_hangs_delays_nobody_else(void **state)
{
    static const char *const slow[] = {"slow.example/x:1", "slow.example/x:2", "slow.example/x:3"};
    struct asker askers[3];
    make_gate();
    child_does("case $q in *slow.example*) read -r x < gate;; esac; manifest " ONES "; text x; end 1");
    start_with((struct fetcher_options){.max_children = 4, .max_per_host = 2});
    for (size_t i = 0; i < 3; i++)
        begin(&askers[i], slow[i]);
    wait_for_runs(2);
    for (int i = 0; i < 10; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "quick.example/x:%d", i);
        assert_int_equal(pull(name).code, 0);
    }
    assert_int_equal(runs(), 12);
    open_gate(3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(await(&askers[i]).code, 0);
    assert_int_equal(runs(), 13);
}

/* Neither for a place nor for the answer that another waits for already. */
static void who_does_not_wait_is_told_to_come_again(void **state)
{
    struct asker first;
    make_gate();
    child_does("case $q in *slow.example*) read -r x < gate;; esac; manifest " ONES "; text x; end 1");
    start_with((struct fetcher_options){.max_children = 4, .max_per_host = 1, .max_per_tenant = 1});
    begin(&first, "slow.example/x:1");
    wait_for_runs(1);
    bad(pull_at_once("slow.example/x:1", "a"), FETCH_BUSY, true, "others are pulled first");
    bad(pull_at_once("slow.example/x:2", "a"), FETCH_BUSY, true, "others are pulled first");
    assert_int_equal(pull_at_once("quick.example/x:1", "a").code, 0);
    open_gate(1);
    assert_int_equal(await(&first).code, 0);
    assert_int_equal(pull_at_once("slow.example/x:1", "a").code, 0); /* from memory */
    assert_int_equal(runs(), 2);
    fetcher_stop(fetcher);
    bad(pull_at_once("slow.example/x:3", "a"), FETCH_STOPPED, false, "stopped");
}

static void stopping_ends_all_that_is_under_way(void **state)
{
    struct asker askers[4];
    make_gate();
    child_does("read -r x < gate");
    start_with((struct fetcher_options){.max_children = 2, .max_per_host = 2});
    begin(&askers[0], "a.example/x:1");
    begin(&askers[1], "a.example/x:2");
    begin(&askers[2], "a.example/x:3"); /* waits for one of these */
    begin(&askers[3], "a.example/x:1"); /* waits for the first */
    wait_for_runs(2);
    fetcher_stop(fetcher);
    for (size_t i = 0; i < 4; i++)
        bad(await(&askers[i]), FETCH_STOPPED, false, "stopped");
    bad(pull("a.example/x:4"), FETCH_STOPPED, false, "stopped");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, and none was left to others */
    assert_int_equal(errno, ECHILD);
    assert_int_equal(runs(), 2);
}

/* ---- The cache. ---- */

static int open_again(const char *reference, const char *digest)
{
    struct fetch_entry *e = NULL;
    struct err err;
    int code = fetch_open(fetcher, str_of(reference), str_of(digest), &e, &err);
    fetch_entry_close(e);
    return code;
}

static void entries_are_found_by_repository_and_digest(void **state)
{
    child_does("manifest " ONES "; text x; end 1");
    start();
    (void)pull("acme/x:1");
    assert_int_equal(open_again("acme/x:2", "sha256:" ONES), 0);
    assert_int_equal(open_again("docker.io/acme/x", "sha256:" ONES), 0);
    assert_int_equal(open_again("acme/y:1", "sha256:" ONES), ERR_NOT_FOUND);
    assert_int_equal(open_again("acme/x:1", "sha256:" ZEROES), ERR_NOT_FOUND);
    assert_int_equal(open_again("acme/x:1", "sha256:../.."), ERR_INVALID);
    fetcher_free(fetcher);
    start(); /* after a restart too */
    assert_int_equal(open_again("acme/x:1", "sha256:" ONES), 0);
    assert_int_equal(runs(), 1);
}

static void damage(const char *how)
{
    struct arena a ARENA_SCOPE = {0};
    const char *file = entry_file(&a);
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    int fd = open(file, O_RDWR);
    assert_true(fd >= 0);
    if (strcmp(how, "cut") == 0)
        assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
    else if (strcmp(how, "half") == 0)
        assert_int_equal(ftruncate(fd, st.st_size / 2), 0);
    else if (strcmp(how, "empty") == 0)
        assert_int_equal(ftruncate(fd, 0), 0);
    else if (strcmp(how, "more") == 0)
        assert_int_equal(pwrite(fd, "{}\n", 3, st.st_size), 3);
    else
        assert_int_equal(pwrite(fd, "z", 1, st.st_size / 3), 1);
    close(fd);
}

static void damaged_entries_are_fetched_again(void **state)
{
    static const char *const ways[] = {"cut", "half", "empty", "more", "changed"};
    child_does("manifest " ONES "; text x; text y; text z; end 3");
    start();
    (void)pull("acme/x:1");
    for (size_t i = 0; i < COUNT(ways); i++) {
        damage(ways[i]);
        if (open_again("acme/x:1", "sha256:" ONES) != ERR_NOT_FOUND)
            fail_msg("%s: nobody noticed", ways[i]);
        (void)pull("acme/x:1");
        damage(ways[i]);
        assert_int_equal(pull("acme/x:1").code, 0);
        assert_int_equal(open_again("acme/x:1", "sha256:" ONES), 0);
    }
    assert_int_equal(runs(), 11);
}

static void links_are_no_entries(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    child_does("manifest " ONES "; text x; end 1");
    start();
    (void)pull("acme/x:1");
    const char *file = entry_file(&a), *elsewhere = path_of(&a, "elsewhere");
    assert_int_equal(rename(file, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, file), 0);
    assert_int_equal(open_again("acme/x:1", "sha256:" ONES), ERR_NOT_FOUND);
}

/* Names are digests of the digits i. */
static void digest_name(char to[80], int i)
{
    (void)snprintf(to, 80, "sha256:%064d", i);
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
    char digest[80], name[40];
    child_does("q=${q#*/x:}; n=${q%%\\\"*}; x=xxxxxxxxxxxxxxxx; for i in 1 2 3 4 5 6; do x=$x$x; done;"
               "manifest 000000000000000000000000000000000000000000000000000000000000000$n; text $x; end 1");
    start_with((struct fetcher_options){.cache_bytes = 5600}); /* four of them */
    for (int i = 1; i <= 4; i++) {
        (void)snprintf(name, sizeof name, "acme/x:%d", i);
        assert_int_equal(pull(name).code, 0);
    }
    digest_name(digest, 1);
    assert_int_equal(open_again("acme/x", digest), 0); /* used */
    assert_int_equal(pull("acme/x:5").code, 0);
    for (int i = 1; i <= 5; i++) {
        digest_name(digest, i);
        assert_int_equal(open_again("acme/x", digest), i == 2 ? ERR_NOT_FOUND : 0);
    }
    good(pull("acme/x:2"), "sha256:0000000000000000000000000000000000000000000000000000000000000002",
         pull("acme/x:1").text);
}

static void what_writers_left_behind_is_swept_away(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    assert_int_equal(mkdir(path_of(&a, "cache"), 0755), 0);
    write_file("cache/7.tmp", S("x"), 0600);
    child_does("manifest " ONES "; text x; end 1");
    start();
    assert_int_equal(access(path_of(&a, "cache/7.tmp"), F_OK), -1);
    assert_int_equal(pull("acme/x:1").code, 0);
    assert_non_null(entry_file(&a));
}

/* ---- The world. ---- */

static int set_up(void **state)
{
    (void)snprintf(root, sizeof root, "/tmp/reeve-fetch-XXXXXX");
    now = (struct clock_fake){0};
    fetcher = NULL;
    return mkdtemp(root) ? 0 : -1;
}

static void remove_all(const char *path)
{
    struct arena a ARENA_SCOPE = {0};
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *child = str_cstr(&a, str_fmt(&a, "%s/%s", path, e->d_name));
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlink(child) < 0)
            remove_all(child);
    }
    if (d)
        closedir(d);
    (void)rmdir(path);
}

static int tear_down(void **state)
{
    if (fetcher)
        fetcher_stop(fetcher);
    if (gate >= 0)
        close(gate);
    gate = -1;
    fetcher_free(fetcher);
    remove_all(root);
    return 0;
}

/* ---- Somebody at a terminal: no cache. ---- */

static struct outcome open_along(const struct fetch_reader *reader, struct fetch_lines *lines)
{
    struct arena a ARENA_SCOPE = {0};
    struct outcome o = {0};
    struct err err;
    struct oci_request request = {
        .op = OCI_OPEN, .reference = S("acme/wp"), .directory = S("/srv"), .timeout_ns = INT64_C(60000000000)};
    o.code = fetch_op_lines(path_of(&a, "fetch"), &request, reader, lines, &o.failure, &err);
    if (o.code < 0) {
        (void)snprintf(o.text, sizeof o.text, "%s", err.msg);
        return o;
    }
    (void)snprintf(o.digest, sizeof o.digest, "%.*s", STR(oci_digest_format(&a, &lines->digest)));
    read_entry(lines->entry, &o);
    fetch_entry_close(lines->entry);
    return o;
}

static struct outcome open_directory(struct fetch_lines *lines)
{
    return open_along(NULL, lines);
}

static void lines_without_a_cache(void **state)
{
    struct fetch_lines lines;
    child_does("echo '{\"manifest\":{\"digest\":\"sha256:" ONES "\",\"size\":77}}'; text one; text two; end 2");
    struct outcome o = open_directory(&lines);
    assert_int_equal(o.code, 0);
    assert_string_equal(o.digest, "sha256:" ONES);
    assert_string_equal(o.text, "{\"path\":\"a\",\"text\":\"one\"};{\"path\":\"a\",\"text\":\"two\"};");
    assert_int_equal(lines.size, 77);
    child_does("manifest " ONES "; end 0");
    o = open_directory(&lines);
    assert_int_equal(o.code, 0);
    assert_string_equal(o.text, "");
    child_does("manifest " ONES "; text one; exit 3");
    o = open_directory(&lines);
    assert_int_equal(o.code, ERR_UNAVAILABLE);
    child_does("echo '{\"error\":{\"reason\":\"InvalidPackage\",\"message\":\"a is a link\"}}'");
    o = open_directory(&lines);
    assert_int_equal(o.code, ERR_INVALID);
    assert_string_equal(o.text, "a is a link");
}

/* Writes down what it is shown; the line that says "stop" it does not like. */
static int read_along(void *ctx, uint64_t offset, str line, const struct json *object, struct err *err)
{
    struct buf *seen = ctx;
    assert_int_equal(offset, seen->n);
    buf_fmt(seen, "%.*s\n", STR(line));
    return str_eq(json_get_text(object, S("text")), S("stop")) ? err_set(err, ERR_IO, "not that") : 0;
}

static void lines_are_read_along(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf seen = {.arena = &a};
    const struct fetch_reader reader = {read_along, &seen};
    struct fetch_lines lines;
    str both = S("{\"path\":\"a\",\"text\":\"one\"}\n{\"path\":\"a\",\"text\":\"two\"}\n");
    child_does("manifest " ONES "; text one; text two; end 2");
    struct outcome o = open_along(&reader, &lines);
    assert_int_equal(o.code, 0);
    assert_true(str_has_prefix(buf_str(&seen), S("{\"manifest\":{\"digest\":\"sha256:" ONES "\"")));
    assert_true(str_has_suffix(buf_str(&seen), both));

    /* Whatever was read, it is no package without its end. */
    static const char *const lies[] = {"manifest " ONES "; text one; text two",
                                       "manifest " ONES "; text one; text two; end 1",
                                       "manifest " ONES "; text one; text two; end 2; exit 3"};
    for (size_t i = 0; i < COUNT(lies); i++) {
        seen.n = 0;
        child_does(lies[i]);
        o = open_along(&reader, &lines);
        assert_true(o.code < 0);
        assert_true(str_has_suffix(buf_str(&seen), both));
    }

    seen.n = 0;
    child_does("manifest " ONES "; text stop; text two; end 2");
    o = open_along(&reader, &lines);
    assert_int_equal(o.code, ERR_IO);
    assert_string_equal(o.text, "not that");
    assert_true(str_has_suffix(buf_str(&seen), S("stop\"}\n")));

    seen.n = 0;
    child_does("manifest " ONES "; end 0");
    o = open_along(&reader, &lines);
    assert_int_equal(o.code, 0);
    assert_true(str_has_prefix(buf_str(&seen), S("{\"manifest\":")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_child_brings_is_kept),
        TEST(a_package_may_have_nothing_in_it),
        TEST(lines_may_be_longer_than_any_window),
        TEST(always_asks_each_time),
        TEST(answers_are_for_those_who_asked),
        TEST(answers_stand_for_a_while),
        TEST(children_that_break_say_so),
        TEST(errors_come_with_their_reason),
        TEST(a_missing_program_is_named),
        TEST(children_that_hang_are_ended),
        TEST(the_digest_asked_for_is_the_one_that_counts),
        TEST(equal_questions_are_asked_once),
        TEST(so_are_those_that_fail),
        TEST(a_registry_that_hangs_delays_nobody_else),
        TEST(who_does_not_wait_is_told_to_come_again),
        TEST(stopping_ends_all_that_is_under_way),
        TEST(entries_are_found_by_repository_and_digest),
        TEST(damaged_entries_are_fetched_again),
        TEST(links_are_no_entries),
        TEST(what_was_not_used_for_longest_goes_first),
        TEST(what_writers_left_behind_is_swept_away),
        TEST(lines_without_a_cache),
        TEST(lines_are_read_along),
    };
    return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
