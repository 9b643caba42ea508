/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: what an event costs when many see it, and what they cost while there is none. */
#include "rows.h"

#include "load.h"

enum { WATCHERS = 1000, STREAMS = 100, EVENTS = 20, ROUNDS = 5, IDLE = 5000 };

static const char path[] = "/api/v1/namespaces/watched/configmaps";
static const char watch[] = "/api/v1/namespaces/watched/configmaps?watch=1";

static void begin(struct server *s, const char *binary)
{
    struct arena scratch ARENA_SCOPE = {0};
    server_init(s, binary);
    server_start(s);
    struct links *l = links_open(s, 1, true);
    links_ask(l, &scratch,
              &(struct question){
                  .method = S("POST"),
                  .target = S("/api/v1/namespaces"),
                  .body = S("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"watched\"}}")});
    links_ask(l, &scratch,
              &(struct question){.method = S("POST"), .target = str_of(path), .body = sample_config_map(&scratch, 0)});
    links_close(l);
}

/* The same object without a resourceVersion, and a counter in it. */
static void change(struct links *l, size_t i)
{
    struct arena scratch ARENA_SCOPE = {0};
    str body =
        str_fmt(&scratch,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"settings-000000\"},\"data\":"
                "{\"mode\":\"production\",\"counter\":\"%zu\"}}",
                i);
    links_ask(
        l, &scratch,
        &(struct question){.method = S("PUT"), .target = str_fmt(&scratch, "%s/settings-000000", path), .body = body});
}

static void events(const char *binary)
{
    double cpu[ROUNDS];
    struct server s;
    begin(&s, binary);
    struct links *watchers = links_open(&s, WATCHERS / STREAMS, true), *writer = links_open(&s, 1, true);
    links_watch(watchers, str_of(watch), WATCHERS);
    for (size_t i = 0; i < ROUNDS; i++) {
        double start = server_cpu(&s);
        for (size_t j = 0; j < EVENTS; j++) {
            change(writer, i * EVENTS + j);
            links_watch_more(watchers, 1);
        }
        cpu[i] = (server_cpu(&s) - start) / EVENTS / WATCHERS * 1e6;
    }
    links_close(writer);
    links_close(watchers);
    server_done(&s);
    row_print("one event to 1,000 watchers, 100 on a connection, server CPU of each", bench_median(cpu, ROUNDS), "us",
              "(< 3)");
}

static void idle(const char *binary, size_t connections, bool is_h2, const char *what, const char *target)
{
    struct server s;
    begin(&s, binary);
    struct server_memory before = server_memory(&s);
    struct links *l = links_open(&s, connections, is_h2);
    links_watch(l, str_of(watch), IDLE);
    struct server_memory after = server_memory(&s);
    links_close(l);
    server_done(&s);
    row_print(what, (after.anon + after.file - before.anon - before.file) / IDLE / 1e3, "KB", target);
}

void rows_watches(const char *binary)
{
    events(binary);
    idle(binary, IDLE, false, "idle watch on its own HTTP/1.1 connection, resident", "(< 45)");
    idle(binary, IDLE, true, "idle watch on its own HTTP/2 connection, resident", "(< 45)");
    idle(binary, IDLE / STREAMS, true, "idle watch, 100 on one HTTP/2 connection, resident", "(< 2)");
}
