/* SPDX-License-Identifier: Apache-2.0 */
#include "control/probes.h"

#include <stdlib.h>

enum { CONNECTIONS = 64, BODY_BYTES = 4096 };

struct probes {
    struct probes_options options;
    struct http_server *server;
};

static void answer(struct http_exchange *x, int status, str type, str body)
{
    const struct http_header headers[] = {{S("content-type"), type}, {S("x-content-type-options"), S("nosniff")}};
    http_answer(x, status, (struct http_headers){headers, 2}, str_eq(x->method, S("HEAD")) ? (str){0} : body);
}

static void answer_text(struct http_exchange *x, int status, str body)
{
    answer(x, status, S("text/plain; charset=utf-8"), body);
}

static void answer_ready(struct probes *p, struct http_exchange *x)
{
    str why = S("not ready");
    if (p->options.is_ready(p->options.ctx, &why))
        answer_text(x, 200, S("ok"));
    else
        answer_text(x, 503, why);
}

static void answer_metrics(struct probes *p, struct http_exchange *x)
{
    struct buf text = {.arena = &x->arena};
    p->options.metrics(p->options.ctx, &text);
    answer(x, 200, S("text/plain; version=0.0.4; charset=utf-8"), buf_str(&text));
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct probes *p = ctx;
    if (!str_eq(x->method, S("GET")) && !str_eq(x->method, S("HEAD")))
        answer_text(x, 405, S("only GET\n"));
    else if (str_eq(x->path, S("/healthz")) || str_eq(x->path, S("/livez")))
        answer_text(x, 200, S("ok")); /* the loop turns, or this would not be said */
    else if (str_eq(x->path, S("/readyz")))
        answer_ready(p, x);
    else if (str_eq(x->path, S("/metrics")))
        answer_metrics(p, x);
    else
        answer_text(x, 404, S("there is /healthz, /livez, /readyz and /metrics\n"));
}

int probes_open(const struct probes_options *options, struct probes **ret, struct err *err)
{
    struct probes *p = xcalloc(1, sizeof *p);
    p->options = *options;
    struct http_server_options server = {.host = options->host,
                                         .port = options->port,
                                         .limits = {.connections = CONNECTIONS, .body_bytes = BODY_BYTES},
                                         .handle = handle,
                                         .ctx = p};
    int code = http_server_new(options->loop, &server, &p->server, err);
    if (code < 0)
        free(p);
    else
        *ret = p;
    return code;
}

uint16_t probes_port(const struct probes *p)
{
    return http_server_port(p->server);
}

void probes_close(struct probes *p)
{
    if (!p)
        return;
    http_server_free(p->server);
    free(p);
}
