/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_op.h"
#include "oci/child.h"
#include "oci/fetch_internal.h"
#include "oci/fetch_protocol.h"
#include "json/json.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

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

static int take_answer(void *ctx, str piece, struct err *err)
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
        .take = take_answer,
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
static int keep_answer(struct answer *it, struct fetch_entry **ret, struct err *err)
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
    if (code == 0 && keep_answer(&it, ret_entry, err) < 0)
        code = fetch_broken(failure, err);
    *ret_digest = it.lines.digest;
    fetch_writer_free(it.writer);
    lines_done(&it.lines);
    return code;
}

static int take_output(void *ctx, str piece, struct err *err)
{
    return lines_add(ctx, piece, err);
}

static int run(const char *program, const struct oci_request *request, struct lines *lines, int stop,
               struct fetch_failure *failure, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf input = {0};
    *failure = (struct fetch_failure){.reason = FETCH_PULL_FAILED, .may_pass = true};
    program = program ? program : child_find(&scratch, "reeve-fetch");
    if (program == NULL)
        return err_set(err, ERR_UNAVAILABLE, "reeve-fetch is not installed: it belongs beside reeve");
    oci_request_encode(&input, request);
    const struct child child = {.program = program,
                                .input = buf_str(&input),
                                .timeout_ns = request->timeout_ns + request->timeout_ns / 8,
                                .stop = stop,
                                .take = take_output,
                                .ctx = lines};
    int code = child_run(&child, err);
    explicit_bzero(input.p, input.cap); /* credentials */
    buf_done(&input);
    if (lines->state == LINES_ERROR) {
        *failure = lines->failure;
        *err = lines->error;
        return err->code = failure->refusal ? failure->refusal : err->code;
    }
    return code < 0 ? code : lines_finish(lines, err);
}

/* ---- Only the digest. ---- */

static int pass_over(void *ctx, str line, struct err *err)
{
    (void)ctx;
    (void)line;
    (void)err;
    return 0;
}

int fetch_op(const char *program, const struct oci_request *request, const struct fetch_watch *watch,
             struct oci_digest *ret, struct fetch_failure *failure, struct err *err)
{
    struct lines lines;
    struct oci_request telling = *request;
    telling.tells = watch != NULL;
    lines_init(&lines, pass_over, watch ? watch->ctx : NULL);
    lines.progress = watch ? watch->moved : NULL;
    int code = run(program, &telling, &lines, watch ? watch->stop : -1, failure, err);
    *ret = lines.digest;
    lines_done(&lines);
    return code;
}

/* ---- All lines, in a file that is nowhere. ---- */

struct keeping {
    const struct oci_request *request;
    const struct fetch_reader *reader; /* or NULL */
    struct lines lines;
    int fd;
    uint64_t size; /* bytes written */
};

static int show(struct keeping *k, str line, const struct json *object, struct err *err)
{
    line.n--; /* the newline */
    return k->reader ? k->reader->take(k->reader->ctx, k->size, line, object, err) : 0;
}

static int write_all(struct keeping *k, str bytes, struct err *err)
{
    while (bytes.n) {
        ssize_t n = write(k->fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "keep the lines of a package: %m");
        k->size += (uint64_t)n;
        bytes = str_from(bytes, (size_t)n);
    }
    return 0;
}

/* The first line is our own: the child does not decide what it is called. */
static int begin(struct keeping *k, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf line = {.arena = &a};
    struct json object;
    buf_fmt(&line, "{\"manifest\":{\"digest\":\"%.*s\",\"reference\":", STR(oci_digest_format(&a, &k->lines.digest)));
    json_encode_str(&line, k->request->reference);
    buf_add_str(&line, S("}}\n"));
    int code = json_decode(&a, buf_str(&line), NULL, NULL, &object, err);
    code = code < 0 ? code : show(k, buf_str(&line), &object, err);
    return code < 0 ? code : write_all(k, buf_str(&line), err);
}

static int keep(void *ctx, str line, struct err *err)
{
    struct keeping *k = ctx;
    if (k->size == 0 && begin(k, err) < 0)
        return err->code;
    int code = show(k, line, k->lines.object, err);
    return code < 0 ? code : write_all(k, line, err);
}

int fetch_op_lines(const char *program, const struct oci_request *request, const struct fetch_reader *reader,
                   struct fetch_lines *ret, struct fetch_failure *failure, struct err *err)
{
    struct keeping k = {.request = request, .reader = reader, .fd = memfd_create("reeve-package", MFD_CLOEXEC)};
    *failure = (struct fetch_failure){.reason = FETCH_PULL_FAILED, .may_pass = true};
    if (k.fd < 0)
        return err_set(err, ERR_IO, "make a file in memory: %m");
    lines_init(&k.lines, keep, &k);
    int code = run(program, request, &k.lines, -1, failure, err);
    if (code == 0 && k.size == 0)
        code = begin(&k, err); /* a package without a single file */
    if (code == 0)
        *ret = (struct fetch_lines){.digest = k.lines.digest,
                                    .size = k.lines.size,
                                    .is_from_store = k.lines.is_from_store,
                                    .entry = fetch_entry_new(k.fd, k.size)};
    else
        close(k.fd);
    lines_done(&k.lines);
    return code;
}
