/* SPDX-License-Identifier: Apache-2.0 */
/* What a child that was taken over may print. In one piece or in many, it comes to the same. */
#include "oci/fetch_protocol.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int take(void *ctx, str line, struct err *err)
{
    (void)err;
    if (line.n == 0 || line.p[line.n - 1] != '\n')
        abort();
    buf_add_str(ctx, line);
    return 0;
}

static void see(void *ctx, const struct oci_progress *progress)
{
    (void)ctx;
    if (progress->at > progress->of)
        abort();
}

static int read_all(str text, size_t piece, struct lines *l, struct buf *got)
{
    struct err err;
    int code = 0;
    lines_init(l, take, got);
    l->progress = see;
    for (size_t at = 0; code == 0 && at < text.n; at += piece)
        code = lines_add(l, str_upto(str_from(text, at), piece), &err);
    code = code < 0 ? code : lines_finish(l, &err);
    lines_done(l);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf whole = {0}, pieces = {0};
    struct lines a, b;
    str text = {(const char *)data, n};
    int one = read_all(text, n ? n : 1, &a, &whole), many = read_all(text, 3, &b, &pieces);
    if (one != many || !str_eq(buf_str(&whole), buf_str(&pieces)) || a.state != b.state || a.lines != b.lines)
        abort();
    if (one == 0 && a.state == LINES_END && !oci_digest_is_set(&a.digest))
        abort();
    buf_done(&whole);
    buf_done(&pieces);
    return 0;
}
