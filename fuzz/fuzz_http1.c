/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request or an answer as it comes over the wire, head and body. Whatever the pieces it comes in, it is understood in the
 * same way, or refused for the same reason; limits hold; what is understood lies within what was given, and says clearly
 * where the body ends.
 */
#include "net/h1_parse.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct h1_limits limits = {.head_bytes = 2000, .headers = 20};

struct found {
    enum h1_step step;
    size_t n;
    struct h1_problem problem;
};

/* Shows the finder step more bytes at a time. Each view is a copy of its own, so that a look past its end is caught. */
static struct found find(struct arena *a, str bytes, size_t step)
{
    struct found f = {.step = H1_MORE};
    struct h1_finder finder = {0};
    for (size_t shown = 0; f.step == H1_MORE && shown < bytes.n;) {
        shown = bytes.n - shown < step ? bytes.n : shown + step;
        f.step = h1_find_end(&finder, step > 50 ? str_upto(bytes, shown) : str_dup(a, str_upto(bytes, shown)), &limits,
                             &f.n, &f.problem);
        assert(f.step == H1_MORE || f.step == H1_DONE || f.step == H1_BAD);
    }
    return f;
}

static bool is_within(str part, str whole)
{
    return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static void check_message(const struct h1_message *m, str head)
{
    size_t lengths = 0, codings = 0;
    assert(m->headers.n <= limits.headers);
    for (size_t i = 0; i < m->headers.n; i++) {
        str name = m->headers.p[i].name, value = m->headers.p[i].value;
        assert(name.n && is_within(name, head) && is_within(value, head));
        for (size_t k = 0; k < name.n; k++)
            assert(name.p[k] > ' ' && name.p[k] < 0x7f && name.p[k] != ':');
        for (size_t k = 0; k < value.n; k++)
            assert(value.p[k] != '\r' && value.p[k] != '\n' && value.p[k] != '\0');
        lengths += http_name_eq(name, S("content-length"));
        codings += http_name_eq(name, S("transfer-encoding"));
    }
    assert(lengths + codings <= 1);
    assert(m->has_length == (lengths == 1) && m->is_chunked == (codings == 1));
    assert(m->has_length || m->length == 0);
}

static void check_request(const struct h1_request *r, str head)
{
    assert(r->method.n && is_within(r->method, head) && is_within(r->query, head));
    assert(r->path.n && (r->path.p[0] == '/' || str_eq(r->path, S("*"))));
    for (size_t i = 0; i < r->path.n; i++)
        assert(r->path.p[i] > ' ' && r->path.p[i] < 0x7f && r->path.p[i] != '?' && r->path.p[i] != '#');
    check_message(&r->m, head);
}

struct body {
    struct buf text;
    enum h1_step step;
    size_t used;
};

static struct body read_chunked(struct arena *a, str bytes, size_t step)
{
    struct h1_chunked c = {0};
    struct body b = {.text = {.arena = a}, .step = H1_MORE};
    while (b.step == H1_MORE && b.used < bytes.n) {
        str part = str_upto(str_from(bytes, b.used), step), rest = part, piece = {0};
        while ((b.step = h1_chunked_next(&c, &rest, &piece)) == H1_DATA) {
            assert(piece.n && is_within(piece, part));
            buf_add_str(&b.text, piece);
        }
        assert(b.step != H1_MORE || rest.n == 0);
        b.used += part.n - rest.n;
    }
    return b;
}

static void check_chunked(struct arena *a, str bytes, size_t step)
{
    struct body whole = read_chunked(a, bytes, bytes.n), parts = read_chunked(a, bytes, step);
    assert(whole.step == parts.step && str_eq(buf_str(&whole.text), buf_str(&parts.text)));
    assert(whole.step != H1_DONE || whole.used == parts.used);
    assert(whole.text.n <= bytes.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    if (size < 2 || size > 5000)
        return 0;
    size_t step = 1 + data[0] % 61;
    str bytes = {(const char *)data + 1, size - 1};
    struct found whole = find(&a, bytes, bytes.n), parts = find(&a, bytes, step);
    assert(whole.step == parts.step);
    if (whole.step == H1_BAD)
        assert(whole.problem.status == parts.problem.status && whole.problem.why == parts.problem.why);
    if (whole.step != H1_DONE)
        return 0;
    assert(whole.n == parts.n && whole.n >= 2 && whole.n <= limits.head_bytes && whole.n <= bytes.n);
    str head = str_dup(&a, str_upto(bytes, whole.n));
    struct h1_request request;
    struct h1_response response;
    struct h1_problem problem = {0};
    if (h1_parse_request(&a, head, &request, &problem) == 0)
        check_request(&request, head);
    else
        assert(problem.status >= 400 && problem.status < 600 && problem.why);
    if (h1_parse_response(&a, head, &response, &problem) == 0) {
        assert(response.status >= 100 && response.status <= 599);
        check_message(&response.m, head);
    }
    check_chunked(&a, str_from(bytes, whole.n), step);
    return 0;
}
