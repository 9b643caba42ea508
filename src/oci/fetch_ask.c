/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_ask.h"

#include "oci/child.h"
#include "oci/lines.h"
#include "oci/request.h"
#include "json/json.h"

enum { HAVE_MAX = 1000 };

/* What the child says, on its way into the cache. */
struct answer {
    const struct fetch_ask *ask;
    struct lines lines;
    struct fetch_writer *writer; /* NULL: there was no line yet that is to be kept */
};

/* ---- Out. ---- */

static void write_request(const struct fetch_ask *ask, bool say_what_we_have, struct buf *input)
{
    const struct fetcher_options *o = ask->options;
    struct oci_request r = {
        .op = OCI_PULL,
        .policy = ask->is_in_store ? FETCH_NEVER : ask->request->policy,
        .reference = ask->request->reference,
        .store = str_of(o->store),
        .ca_file = str_of(o->ca_file),
        .timeout_ns = o->timeout_ns,
    };
    fetch_digests have = {0};
    if (say_what_we_have)
        fetch_cache_list(ask->cache, ask->arena, ask->repository, HAVE_MAX, &have);
    for (size_t i = 0; i < ask->request->n_auths; i++)
        *vec_push(ask->arena, &r.auths) = ask->request->auths[i];
    for (size_t i = 0; i < o->n_mirrors; i++)
        *vec_push(ask->arena, &r.mirrors) = o->mirrors[i];
    for (size_t i = 0; i < o->n_ports; i++)
        *vec_push(ask->arena, &r.ports) = o->ports[i];
    for (size_t i = 0; i < have.n; i++)
        *vec_push(ask->arena, &r.have) = have.p[i];
    oci_request_encode(input, &r);
}

/* ---- In. ---- */

/* The first line is our own: the child does not decide under which name it is kept. */
static int begin_entry(struct answer *it, struct err *err)
{
    struct arena *a = it->ask->arena;
    struct buf line = {.arena = a};
    if (fetch_writer_open(it->ask->cache, &it->writer, err) < 0)
        return err->code;
    buf_fmt(&line, "{\"manifest\":{\"digest\":\"%.*s\",\"reference\":", STR(oci_digest_format(a, &it->lines.digest)));
    json_encode_str(&line, it->ask->ref.text);
    buf_add_str(&line, S("}}\n"));
    return fetch_writer_add(it->writer, buf_str(&line), err);
}

static int take_line(void *ctx, str line, struct err *err)
{
    struct answer *it = ctx;
    if (it->writer == NULL && begin_entry(it, err) < 0)
        return err->code;
    return fetch_writer_add(it->writer, line, err);
}

static int take_output(void *ctx, str piece, struct err *err)
{
    struct answer *it = ctx;
    return lines_add(&it->lines, piece, err);
}

/* ---- Both. ---- */

int fetch_broken(struct fetch_failure *failure, struct err *err)
{
    *failure = (struct fetch_failure){.reason = FETCH_PULL_FAILED, .may_pass = true};
    if (err->code == ERR_GONE)
        *failure = (struct fetch_failure){.reason = FETCH_STOPPED, .may_pass = false};
    else
        err->code = err->code == ERR_INVALID ? ERR_INVALID : ERR_UNAVAILABLE;
    return err->code;
}

static int run_child(struct answer *it, bool say_what_we_have, struct fetch_failure *failure, struct err *err)
{
    const struct fetcher_options *o = it->ask->options;
    struct buf input = {0};
    const char *program = o->program ? o->program : child_find(it->ask->arena, "reeve-fetch");
    if (program == NULL) { /* it may come any time */
        err_set(err, ERR_UNAVAILABLE, "reeve-fetch is not installed: it belongs beside reeve");
        return fetch_broken(failure, err);
    }
    write_request(it->ask, say_what_we_have, &input);
    const struct child child = {
        .program = program,
        .input = buf_str(&input),
        .timeout_ns = o->timeout_ns + o->timeout_ns / 8, /* it ends by itself before, and says why */
        .stop = it->ask->stop,
        .take = take_output,
        .ctx = it,
    };
    int code =
        input.n > OCI_REQUEST_MAX ? err_set(err, ERR_INVALID, "pull secrets are too large") : child_run(&child, err);
    explicit_bzero(input.p, input.cap); /* credentials */
    buf_done(&input);
    if (it->lines.state == LINES_ERROR && code != ERR_GONE) {
        *failure = it->lines.failure;
        *err = it->lines.error;
        return err->code;
    }
    if (code == 0)
        code = lines_finish(&it->lines, err);
    return code < 0 ? fetch_broken(failure, err) : 0;
}

/* All was said, and belongs into the cache unless it is there. */
static int keep(struct answer *it, struct fetch_entry **ret, struct err *err)
{
    const struct fetch_ask *ask = it->ask;
    const struct oci_digest *digest = &it->lines.digest;
    if (ask->ref.digest.n && !str_eq(ask->ref.digest, oci_digest_format(ask->arena, digest)))
        return err_set(err, ERR_UNAVAILABLE, "reeve-fetch brought another digest than it was sent for");
    if (it->lines.is_known)
        return 0;
    if (it->writer == NULL && begin_entry(it, err) < 0)
        return err->code;
    return fetch_writer_commit(it->writer, ask->repository, digest, ret, err);
}

int fetch_ask(const struct fetch_ask *ask, bool say_what_we_have, struct oci_digest *ret_digest,
              struct fetch_entry **ret_entry, struct fetch_failure *failure, struct err *err)
{
    struct answer it = {.ask = ask};
    *ret_entry = NULL;
    lines_init(&it.lines, take_line, &it);
    int code = run_child(&it, say_what_we_have, failure, err);
    if (code == 0 && keep(&it, ret_entry, err) < 0)
        code = fetch_broken(failure, err);
    *ret_digest = it.lines.digest;
    fetch_writer_free(it.writer);
    lines_done(&it.lines);
    return code;
}
