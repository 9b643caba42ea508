/* SPDX-License-Identifier: Apache-2.0 */
/* Watches things on a server over HTTPS, for https_test.py: watcher KUBECONFIG TARGET…
 *
 *   "TARGET {…}"                     an event of that watch, as it came
 *   "TARGET ended: STATUS TEXT"      it is over; it begins anew a moment later
 *   "connections=… waiting=… …"      when a line comes in; the end of the input is the end of the program */
#include "client/https.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct watcher {
    struct loop *loop;
    struct transport *transport;
    struct loop_fd in;
};

struct watch {
    struct watcher *w;
    str target;
    struct transport_call *call; /* NULL: until the timer */
    struct loop_timer again;
    struct buf line;
};

static void on_data(void *ctx, str bytes)
{
    struct watch *watch = ctx;
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] != '\n') {
            buf_add_char(&watch->line, bytes.p[i]);
            continue;
        }
        printf("%.*s %.*s\n", STR(watch->target), STR(buf_str(&watch->line)));
        watch->line.n = 0;
    }
    (void)fflush(stdout);
}

static void on_end(void *ctx, const struct client_answer *answer)
{
    struct watch *watch = ctx;
    watch->call = NULL;
    watch->line.n = 0;
    printf("%.*s ended: %d %s\n", STR(watch->target), answer->status, answer->err ? answer->err->msg : "");
    (void)fflush(stdout);
    loop_timer_set(watch->w->loop, &watch->again, 200000000);
}

static void begin(void *ctx)
{
    static const struct client_listener listener = {.data = on_data, .end = on_end};
    struct watch *watch = ctx;
    struct client_request r = {.method = S("GET"), .target = watch->target};
    watch->call = watch->w->transport->ops->start(watch->w->transport, &r, &listener, watch);
}

static void on_input(void *ctx, unsigned events)
{
    (void)events;
    struct watcher *w = ctx;
    char room[256];
    ssize_t n;
    while ((n = read(STDIN_FILENO, room, sizeof room)) > 0) {
        struct https_stats s = https_stats(w->transport);
        printf("connections=%zu calls=%zu waiting=%zu opened=%ju failed=%ju\n", s.connections, s.calls, s.waiting,
               (uintmax_t)s.opened, (uintmax_t)s.failed);
        (void)fflush(stdout);
    }
    if (n == 0)
        loop_stop(w->loop);
}

static int fail(const struct err *err)
{
    (void)fprintf(stderr, "watcher: %s\n", err->msg);
    return 1;
}

static int run(struct arena *a, int n, char **targets, const struct client_config *config)
{
    struct watcher w = {.in = {.fd = STDIN_FILENO, .fn = on_input, .ctx = &w}};
    static const char *const env[] = {NULL};
    struct https_options options = {
        .credentials = {.clock = clock_system, .env = env}, .random = random_system, .version = S("test")};
    struct err err;
    (void)fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    if (loop_new(&w.loop, &err) < 0 || https_new(w.loop, config, &options, &w.transport, &err) < 0 ||
        loop_fd_add(w.loop, &w.in, LOOP_READ, &err) < 0)
        return fail(&err);
    struct watch *watches = ARENA_ARRAY(a, struct watch, (size_t)n);
    for (int i = 0; i < n; i++) {
        watches[i] = (struct watch){.w = &w, .target = str_of(targets[i])};
        watches[i].again = (struct loop_timer){.fn = begin, .ctx = &watches[i]};
        begin(&watches[i]);
    }
    loop_run(w.loop);
    for (int i = 0; i < n; i++) {
        if (watches[i].call)
            w.transport->ops->cancel(w.transport, watches[i].call);
        loop_timer_cancel(w.loop, &watches[i].again);
        buf_done(&watches[i].line);
    }
    w.transport->ops->free(w.transport);
    loop_fd_remove(w.loop, &w.in);
    loop_free(w.loop);
    return 0;
}

int main(int argc, char **argv)
{
    struct arena a ARENA_SCOPE = {0};
    static const char *const env[] = {NULL};
    struct client_config config;
    struct err err;
    if (argc < 3)
        return 2;
    struct client_config_args args = {.kubeconfig = str_of(argv[1]), .env = env};
    if (client_config_load(&a, &args, &config, &err) < 0)
        return fail(&err);
    return run(&a, argc - 2, argv + 2, &config);
}
