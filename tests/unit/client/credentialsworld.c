/* SPDX-License-Identifier: Apache-2.0 */
#include "credentialsworld.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- A world of its own for each test. ---- */

int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct err err;
    w->fake = (struct clock_fake){START_S * SECOND_NS, 5 * SECOND_NS};
    w->clock = clock_of_fake(&w->fake);
    assert_int_equal(loop_new_on(&w->clock, &w->loop, &err), 0);
    scratch_make(w->folder, "credentials-test");
    w->config = (struct client_config){.is_tls = true, .host = S("h"), .server_name = S("h"), .port = 1};
    w->config.server = S("https://h:1");
    w->config.user = S("u");
    w->config.cluster = S("c");
    w->env[0] = "PATH=/usr/bin:/bin";
    *state = w;
    return 0;
}

int tear_down(void **state)
{
    struct world *w = *state;
    credentials_free(w->c);
    loop_free(w->loop);
    scratch_remove(w->folder);
    arena_done(&w->arena);
    free(w);
    return 0;
}

str path_of(struct world *w, const char *name)
{
    return str_fmt(&w->arena, "%s/%s", w->folder, name);
}

void write_file(struct world *w, const char *name, str text)
{
    char *path = str_cstr(&w->arena, path_of(w, name));
    char *fresh = str_cstr(&w->arena, str_fmt(&w->arena, "%s.new", path));
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.n ? text.p : "", text.n), text.n);
    close(fd);
    assert_int_equal(rename(fresh, path), 0);
}

str read_file(struct world *w, const char *name)
{
    struct buf b = {.arena = &w->arena};
    int fd = open(str_cstr(&w->arena, path_of(w, name)), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return (str){0};
    for (ssize_t n = 1; n > 0; b.n += (size_t)n) {
        buf_grow(&b, 4096);
        n = read(fd, b.p + b.n, b.cap - b.n);
        assert_true(n >= 0);
    }
    close(fd);
    return buf_str(&b);
}

void remove_file(struct world *w, const char *name)
{
    assert_int_equal(unlink(str_cstr(&w->arena, path_of(w, name))), 0);
}

void begin(struct world *w)
{
    struct credentials_options options = {.clock = w->clock, .env = w->env};
    w->c = credentials_new(w->loop, &w->config, &options);
}

void begin_plugin(struct world *w, const char *script)
{
    write_file(w, "plugin", str_fmt(&w->arena, "#!/bin/sh\ncd '%s'\necho run >> runs\n%s\n", w->folder, script));
    w->exec.command = path_of(w, "plugin");
    w->exec.api_version = S("client.authentication.k8s.io/v1");
    w->config.exec = &w->exec;
    begin(w);
}

size_t runs(struct world *w)
{
    str text = read_file(w, "runs");
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

void pass(struct world *w, int64_t seconds)
{
    clock_fake_advance(&w->fake, seconds * SECOND_NS);
    loop_turn(w->loop, 0);
}

/* ---- Asking. ---- */

static void take(void *ctx, const struct credentials_now *now, const struct err *err)
{
    struct asked *a = ctx;
    a->times++;
    a->failed = err != NULL;
    assert_true((now == NULL) == (err != NULL));
    if (now == NULL) {
        if (err)
            a->err = *err;
        return;
    }
    struct buf b = {.arena = a->arena};
    for (size_t i = 0; i < now->headers.n; i++)
        buf_fmt(&b, "%.*s: %.*s\n", STR(now->headers.p[i].name), STR(now->headers.p[i].value));
    a->headers = buf_str(&b);
    a->tls = now->tls;
    a->serial = now->serial;
    assert_true(a->serial != 0);
}

void start(struct world *w, struct asked *a)
{
    *a = (struct asked){.arena = &w->arena};
    a->wait.done = take;
    a->wait.ctx = a;
    credentials_get(w->c, &a->wait);
}

void wait_for(struct world *w, struct asked *a)
{
    while (a->times == 0)
        loop_turn(w->loop, SECOND_NS / 10);
    assert_int_equal(a->times, 1);
}

struct asked ask(struct world *w)
{
    struct asked a;
    start(w, &a);
    wait_for(w, &a);
    a.wait = (struct credentials_wait){0};
    return a;
}

void check_headers(struct world *w, const char *want)
{
    struct asked a = ask(w);
    if (a.failed)
        fail_msg("%s", a.err.msg);
    assert_string_equal(str_cstr(&w->arena, a.headers), want);
}

void check_error(struct world *w, enum err_code code, const char *want)
{
    struct asked a = ask(w);
    struct buf text = {.arena = &w->arena};
    str rest = str_of(a.err.msg), folder = str_of(w->folder);
    assert_true(a.failed);
    for (ptrdiff_t at; (at = str_find(rest, folder)) >= 0; rest = str_from(rest, (size_t)at + folder.n))
        buf_fmt(&text, "%.*s$", STR(str_upto(rest, (size_t)at)));
    buf_add_str(&text, rest);
    assert_string_equal(str_cstr(&w->arena, buf_str(&text)), want);
    assert_int_equal(a.err.code, code);
}

struct keys make_keys(struct world *w, const char *name)
{
    struct keys_options options = {.name = name, .ends_in = 3600, .is_client = true};
    return keys_make(&w->arena, &options);
}

struct tls_context *tls_of(struct world *w)
{
    struct asked a = ask(w);
    if (a.failed)
        fail_msg("%s", a.err.msg);
    return tls_ref(a.tls);
}
