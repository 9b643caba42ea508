/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of h1_parse.h: what comes over the wire, and what is understood, or why it is refused. A round is "given" and "expect":
 *
 *     given [response] [head_bytes=N] [headers=N]
 *         Each line stands for itself and CR LF; a line that ends with a backslash goes on without them. \r \n \t \0 \\ and \xff
 *         are replaced.
 *     expect
 *         GET /path ?query, close | keep-alive [, HTTP/1.0] [, expects 100-continue]      (or the status of a response)
 *         Name: value                                                                     for each header
 *         body: text                                                                      if there is one
 *         incomplete | left: N bytes                                                      if so
 *     expect refused
 *         400 why
 *
 * Every round is also fed byte by byte, which must come out the same. */
#include "cases/case.h"
#include "net/h1_parse.h"

#include <inttypes.h>

/* ---- What is given. ---- */

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What the escape at the start of s stands for; how long it is goes to *n. */
static char unescape(struct case_file *c, const struct case_section *at, str s, size_t *n)
{
    static const char names[] = "r\rn\nt\t0\0\\\\";
    *n = 2;
    for (size_t i = 0; s.n > 1 && i + 1 < sizeof names; i += 2)
        if (s.p[1] == names[i])
            return names[i + 1];
    *n = 4;
    if (s.n >= 4 && s.p[1] == 'x' && hex(s.p[2]) >= 0 && hex(s.p[3]) >= 0)
        return (char)(hex(s.p[2]) * 16 + hex(s.p[3]));
    case_fail(c, at, "a bad escape");
    *n = s.n;
    return '?';
}

static void add_line(struct case_file *c, const struct case_section *given, struct buf *b, str line)
{
    bool is_open = line.n && line.p[line.n - 1] == '\\' && !(line.n > 1 && line.p[line.n - 2] == '\\');
    line.n -= is_open;
    for (size_t i = 0, n; i < line.n; i += n) {
        n = 1;
        buf_add_char(b, line.p[i] == '\\' ? unescape(c, given, str_from(line, i), &n) : line.p[i]);
    }
    if (!is_open)
        buf_add_str(b, S("\r\n"));
}

static str bytes_of(struct case_file *c, const struct case_section *given)
{
    struct buf b = {.arena = c->arena};
    str rest = given->text;
    for (ptrdiff_t lf; (lf = str_find_char(rest, '\n')) >= 0; rest = str_from(rest, (size_t)lf + 1))
        add_line(c, given, &b, str_upto(rest, (size_t)lf));
    add_line(c, given, &b, rest);
    return buf_str(&b);
}

/* ---- What is understood. ---- */

struct reading {
    const struct case_section *given;
    struct arena *arena;
    struct h1_limits limits;
    struct buf out;
    bool is_refused;
};

static void print_refused(struct reading *r, const struct h1_problem *p)
{
    r->is_refused = true;
    r->out.n = 0;
    buf_fmt(&r->out, "%d %s", p->status, p->why);
}

static void print_message(struct reading *r, const struct h1_message *m)
{
    buf_fmt(&r->out, m->is_kept_alive ? ", keep-alive" : ", close");
    if (m->is_1_0)
        buf_fmt(&r->out, ", HTTP/1.0");
}

static void print_headers(struct reading *r, const struct h1_message *m)
{
    for (size_t i = 0; i < m->headers.n; i++)
        buf_fmt(&r->out, "\n%.*s: %.*s", STR(m->headers.p[i].name), STR(m->headers.p[i].value));
}

/* The body, piece by piece as step allows, and what is left behind it. False: no body there can be. */
static bool read_body(struct reading *r, const struct h1_message *m, str bytes, size_t step)
{
    struct h1_chunked chunked = {0};
    struct buf body = {.arena = r->arena};
    enum h1_step s = m->is_chunked || m->length ? H1_MORE : H1_DONE;
    size_t used = 0;
    while (s == H1_MORE && used < bytes.n) {
        str part = str_upto(str_from(bytes, used), step), rest = part, piece;
        while (m->is_chunked && (s = h1_chunked_next(&chunked, &rest, &piece)) == H1_DATA)
            buf_add_str(&body, piece);
        if (!m->is_chunked) {
            piece = str_upto(rest, m->length - body.n);
            buf_add_str(&body, piece);
            rest = str_from(rest, piece.n);
            s = body.n == m->length ? H1_DONE : H1_MORE;
        }
        used += part.n - rest.n;
    }
    if (s == H1_BAD)
        return false;
    if (m->is_chunked || m->length)
        buf_fmt(&r->out, "\nbody: %.*s", STR(buf_str(&body)));
    if (s == H1_MORE)
        buf_fmt(&r->out, "\nincomplete");
    else if (used < bytes.n)
        buf_fmt(&r->out, "\nleft: %zu bytes", bytes.n - used);
    return true;
}

static int read_head(struct reading *r, str head, struct h1_message *m, struct h1_problem *problem)
{
    struct h1_request q = {0};
    struct h1_response a = {0};
    int rc;
    if (case_has_arg(r->given, S("response"))) {
        rc = h1_parse_response(r->arena, head, &a, problem);
        *m = a.m;
        buf_fmt(&r->out, "%d", a.status);
    } else {
        rc = h1_parse_request(r->arena, head, &q, problem);
        *m = q.m;
        buf_fmt(&r->out, "%.*s %.*s", STR(q.method), STR(q.path));
        if (q.query.n)
            buf_fmt(&r->out, " ?%.*s", STR(q.query));
    }
    if (rc < 0)
        return rc;
    print_message(r, m);
    if (!case_has_arg(r->given, S("response")) && q.expects_continue)
        buf_fmt(&r->out, ", expects 100-continue");
    print_headers(r, m);
    return 0;
}

/* Shows the parser step more bytes at a time. */
static str read_all(struct reading *r, str bytes, size_t step)
{
    struct h1_finder finder = {0};
    struct h1_problem problem;
    struct h1_message m;
    size_t n = 0;
    enum h1_step s = H1_MORE;
    r->out = (struct buf){.arena = r->arena};
    r->is_refused = false;
    for (size_t shown = 0; s == H1_MORE && shown < bytes.n;) {
        shown = bytes.n - shown < step ? bytes.n : shown + step;
        s = h1_find_end(&finder, str_upto(bytes, shown), &r->limits, &n, &problem);
    }
    if (s == H1_MORE)
        buf_fmt(&r->out, "incomplete");
    else if (s == H1_BAD || read_head(r, str_upto(bytes, n), &m, &problem) < 0)
        print_refused(r, &problem);
    else if (!read_body(r, &m, str_from(bytes, n), step))
        print_refused(r, &(struct h1_problem){400, "malformed chunked body"});
    return buf_str(&r->out);
}

static void run(struct case_file *c)
{
    for (size_t i = 0; i + 1 < c->sections.n; i += 2) {
        const struct case_section *given = &c->sections.p[i], *expect = &c->sections.p[i + 1];
        if (!str_eq(given->name, S("given")) || !str_eq(expect->name, S("expect"))) {
            case_fail(c, given, "expected given and expect in turn");
            return;
        }
        uint64_t head_bytes = 64 << 10, headers = 200;
        str_to_uint64(case_arg(given, S("head_bytes")), &head_bytes);
        str_to_uint64(case_arg(given, S("headers")), &headers);
        struct reading r = {.given = given, .arena = c->arena, .limits = {(size_t)head_bytes, (size_t)headers}};
        str bytes = bytes_of(c, given);
        str got = read_all(&r, bytes, bytes.n);
        case_expect(c, expect, got);
        if (case_has_arg(expect, S("refused")) != r.is_refused)
            case_fail(c, expect, "refused, or not, against the word of the heading");
        for (size_t step = 1; step < 8; step++) {
            str again = read_all(&r, bytes, step);
            if (!str_eq(again, got))
                case_fail(c, given, "in steps of %zu it is \"%.*s\"", step, STR(again));
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
