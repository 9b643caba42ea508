/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_op.h"

#include "oci/child.h"
#include "oci/fetch_cache.h"
#include "oci/lines.h"
#include "json/json.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

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
