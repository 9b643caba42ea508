/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_op.h"

#include "oci/child.h"
#include "oci/lines.h"

static int pass_over(void *ctx, str line, struct err *err)
{
    (void)ctx;
    (void)line;
    (void)err;
    return 0;
}

static int take_output(void *ctx, str piece, struct err *err)
{
    return lines_add(ctx, piece, err);
}

int fetch_op(const char *program, const struct oci_request *request, struct oci_digest *ret,
             struct fetch_failure *failure, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf input = {0};
    struct lines lines;
    *failure = (struct fetch_failure){FETCH_PULL_FAILED, true};
    program = program ? program : child_find(&scratch, "reeve-fetch");
    if (program == NULL)
        return err_set(err, ERR_UNAVAILABLE, "reeve-fetch is not installed: it belongs beside reeve");
    oci_request_encode(&input, request);
    lines_init(&lines, pass_over, NULL);
    const struct child child = {.program = program,
                                .input = buf_str(&input),
                                .timeout_ns = request->timeout_ns + request->timeout_ns / 8,
                                .stop = -1,
                                .take = take_output,
                                .ctx = &lines};
    int code = child_run(&child, err);
    explicit_bzero(input.p, input.cap); /* credentials */
    buf_done(&input);
    if (lines.state == LINES_ERROR) {
        *failure = lines.failure;
        *err = lines.error;
        code = err->code;
    }
    if (code == 0)
        code = lines_finish(&lines, err);
    *ret = lines.digest;
    lines_done(&lines);
    return code;
}
