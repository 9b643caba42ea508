/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/server.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/client.h"

static const str masters[] = {S_INIT("system:masters")};
const struct authz_identity server_admin = {.user = S_INIT("admin"), .groups = {masters, 1}};

static void require(bool is_done, const struct err *err)
{
    if (is_done)
        return;
    fprintf(stderr, "cannot open a server: %s\n", err->msg);
    abort();
}

static void discard_line(void *ctx, str line)
{
    (void)ctx, (void)line;
}

static void on_ready(void *ctx, const struct err *err)
{
    require(err == NULL, err);
    ((struct server *)ctx)->is_ready = true;
}

void server_open(struct server *s, uint64_t seed, int64_t keep_ns)
{
    struct err err;
    *s = (struct server){.time.wall = INT64_C(1767323045) * 1000000000, .chance.state = seed};
    s->log = (struct log){.level = LOG_ERROR, .clock = clock_of_fake(&s->time), .write = discard_line};
    scratch_make(s->dir, "reeve-server");
    require(loop_new(&s->loop, &err) == 0, &err);
    struct api_options options = {
        .loop = s->loop,
        .data_dir = s->dir,
        .clock = clock_of_fake(&s->time),
        .random = random_of_seed(&s->chance),
        .log = &s->log,
        .address = S("127.0.0.1:6443"),
        .keep_ns = keep_ns,
    };
    require(api_open(&options, on_ready, s, &s->api, &err) == 0, &err);
    while (!s->is_ready)
        loop_turn(s->loop, -1);
}

void server_close(struct server *s)
{
    if (s->api)
        api_close(s->api);
    loop_free(s->loop);
    scratch_remove(s->dir);
}

struct client *server_client(struct server *s, struct transport *t)
{
    return client_new(&(struct client_options){.loop = s->loop, .transport = t, .random = random_of_seed(&s->chance)});
}
