/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 9112 without what it only tolerates: no bare LF, no folded lines, no blanks around names, one Content-Length at most and
 * none beside Transfer-Encoding, no coding but chunked, one Host.
 */
#include "net/h1_parse.h"

#include "base/vec.h"

#include <assert.h>

static int bad(struct h1_problem *problem, int status, const char *why)
{
    *problem = (struct h1_problem){status, why};
    return -1;
}

/* ---- Characters. ---- */

/* tchar of RFC 9110. */
static bool is_token_char(char c)
{
    return char_is_digit(c) || char_is_letter(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* What may be within a header's value: visible characters, blanks, and bytes past ASCII. */
static bool is_value_char(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static bool is_token(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_token_char(s.p[i]))
            return false;
    return s.n > 0;
}

/* ---- The end of a head. ---- */

enum h1_step h1_find_end(struct h1_finder *f, str bytes, const struct h1_limits *limits, size_t *ret_n,
                         struct h1_problem *problem)
{
    while (f->seen < bytes.n) {
        const char *start = bytes.p + f->seen, *lf = memchr(start, '\n', bytes.n - f->seen);
        size_t at = lf ? (size_t)(lf - bytes.p) : bytes.n;
        if (at >= limits->head_bytes) {
            bad(problem, 431, "the head is too large");
            return H1_BAD;
        }
        f->seen = at;
        if (lf == NULL)
            return H1_MORE;
        if (at == f->line || bytes.p[at - 1] != '\r') {
            bad(problem, 400, "a line must end with CR LF");
            return H1_BAD;
        }
        f->seen = at + 1;
        if (at - 1 == f->line) {
            *ret_n = at + 1;
            return H1_DONE;
        }
        f->line = at + 1;
        if (f->lines++ > limits->headers) { /* the first line is no header */
            bad(problem, 431, "too many headers");
            return H1_BAD;
        }
    }
    return H1_MORE;
}

/* ---- Headers. ---- */

static int parse_header(str line, struct http_header *ret, struct h1_problem *problem)
{
    if (line.p[0] == ' ' || line.p[0] == '\t')
        return bad(problem, 400, "folded header lines are not accepted");
    str name, value;
    if (!str_cut(line, ':', &name, &value))
        return bad(problem, 400, "a header without a colon");
    if (!is_token(name))
        return bad(problem, 400, "a header's name is not a token");
    value = http_trim(value);
    for (size_t i = 0; i < value.n; i++)
        if (!is_value_char(value.p[i]))
            return bad(problem, 400, "a control character in a header");
    *ret = (struct http_header){name, value};
    return 0;
}

/* Cuts the next line off, without its CR LF. h1_find_end has seen to it that there is one. */
static str next_line(str *head)
{
    ptrdiff_t lf = str_find_char(*head, '\n');
    assert(lf > 0);
    str line = {head->p, (size_t)lf};
    *head = str_from(*head, line.n + 1);
    line.n--;
    return line;
}

static int parse_length(struct h1_message *m, str value, struct h1_problem *problem)
{
    if (m->has_length)
        return bad(problem, 400, "more than one Content-Length");
    if (value.n == 0 || value.n > 19)
        return bad(problem, 400, "Content-Length is not a number");
    for (size_t i = 0; i < value.n; i++) {
        if (!char_is_digit(value.p[i]))
            return bad(problem, 400, "Content-Length is not a number");
        m->length = m->length * 10 + (uint64_t)(value.p[i] - '0'); /* 19 digits fit */
    }
    m->has_length = true;
    return 0;
}

static int parse_coding(struct h1_message *m, str value, struct h1_problem *problem)
{
    if (m->is_chunked)
        return bad(problem, 400, "more than one Transfer-Encoding");
    if (!http_name_eq(value, S("chunked")))
        return bad(problem, 501, "unsupported transfer encoding");
    m->is_chunked = true;
    return 0;
}

/* The headers that say where the message ends and what comes after it. */
static int parse_framing(struct h1_message *m, struct h1_problem *problem)
{
    bool is_closed = false, is_kept = false;
    for (size_t i = 0; i < m->headers.n; i++) {
        str name = m->headers.p[i].name, value = m->headers.p[i].value;
        if (http_name_eq(name, S("Content-Length")) && parse_length(m, value, problem) < 0)
            return -1;
        if (http_name_eq(name, S("Transfer-Encoding")) && parse_coding(m, value, problem) < 0)
            return -1;
        if (http_name_eq(name, S("Connection"))) {
            is_closed = is_closed || http_list_has(value, S("close"));
            is_kept = is_kept || http_list_has(value, S("keep-alive"));
        }
    }
    if (m->is_chunked && m->has_length)
        return bad(problem, 400, "Content-Length beside Transfer-Encoding");
    if (m->is_chunked && m->is_1_0)
        return bad(problem, 400, "Transfer-Encoding in HTTP/1.0");
    m->is_kept_alive = !is_closed && (is_kept || !m->is_1_0);
    return 0;
}

static int parse_headers(struct arena *a, str lines, struct h1_message *m, struct h1_problem *problem)
{
    VEC(struct http_header) headers = {0};
    for (str line = next_line(&lines); line.n; line = next_line(&lines))
        if (parse_header(line, vec_push(a, &headers), problem) < 0)
            return -1;
    m->headers = (struct http_headers){headers.p, headers.n};
    return parse_framing(m, problem);
}

/* "HTTP/1.1" */
static int parse_version(str s, bool *ret_is_1_0, struct h1_problem *problem)
{
    if (s.n != 8 || !str_has_prefix(s, S("HTTP/")) || !char_is_digit(s.p[5]) || s.p[6] != '.' || !char_is_digit(s.p[7]))
        return bad(problem, 400, "malformed HTTP version");
    if (s.p[5] != '1' || s.p[7] > '1')
        return bad(problem, 505, "unsupported protocol version");
    *ret_is_1_0 = s.p[7] == '0';
    return 0;
}

/* ---- Requests. ---- */

/* reg-name or address, with a port perhaps; who is meant is for others to say. */
static bool is_host(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_token_char(s.p[i]) && !(s.p[i] && strchr(":[]()=,;", s.p[i])))
            return false;
    return true;
}

static int check_headers(struct h1_request *r, struct h1_problem *problem)
{
    size_t hosts = 0;
    for (size_t i = 0; i < r->m.headers.n; i++) {
        str name = r->m.headers.p[i].name, value = r->m.headers.p[i].value;
        if (http_name_eq(name, S("Host"))) {
            hosts++;
            if (!is_host(value))
                return bad(problem, 400, "malformed Host header");
        } else if (http_name_eq(name, S("Expect"))) {
            if (!http_name_eq(value, S("100-continue")))
                return bad(problem, 417, "an expectation that cannot be met");
            r->expects_continue = !r->m.is_1_0;
        }
    }
    if (hosts > 1)
        return bad(problem, 400, "too many Host headers");
    if (hosts == 0 && !r->m.is_1_0)
        return bad(problem, 400, "missing required Host header");
    return 0;
}

/* "/path?query", "http://host/path?query" (of which the host says nothing we need), or "*" with OPTIONS. */
static int parse_target(str target, struct h1_request *r, struct h1_problem *problem)
{
    for (size_t i = 0; i < target.n; i++)
        if ((unsigned char)target.p[i] <= ' ' || (unsigned char)target.p[i] >= 0x7f || target.p[i] == '#')
            return bad(problem, 400, "a character in the request target that must not be there");
    if (http_name_eq(str_upto(target, 7), S("http://")))
        target = str_from(target, 7);
    else if (http_name_eq(str_upto(target, 8), S("https://")))
        target = str_from(target, 8);
    else
        goto origin;
    size_t host = 0;
    while (host < target.n && target.p[host] != '/' && target.p[host] != '?')
        host++;
    if (host == 0 || !is_host(str_upto(target, host)))
        return bad(problem, 400, "malformed request target");
    target = str_from(target, host);
    if (target.n == 0)
        target = S("/");
origin:
    if (!str_cut(target, '?', &r->path, &r->query)) {
        r->path = target;
        r->query = (str){0};
    }
    if ((r->path.n && r->path.p[0] == '/') || (str_eq(target, S("*")) && str_eq(r->method, S("OPTIONS"))))
        return 0;
    return bad(problem, 400, "malformed request target");
}

static int parse_request_line(str line, struct h1_request *r, struct h1_problem *problem)
{
    str rest, target, version;
    if (!str_cut(line, ' ', &r->method, &rest) || !str_cut(rest, ' ', &target, &version))
        return bad(problem, 400, "malformed request line");
    if (!is_token(r->method))
        return bad(problem, 400, "the method is not a token");
    if (parse_version(version, &r->m.is_1_0, problem) < 0)
        return -1;
    return parse_target(target, r, problem);
}

int h1_parse_request(struct arena *a, str head, struct h1_request *ret, struct h1_problem *problem)
{
    *ret = (struct h1_request){0};
    if (parse_request_line(next_line(&head), ret, problem) < 0)
        return -1;
    if (parse_headers(a, head, &ret->m, problem) < 0)
        return -1;
    return check_headers(ret, problem);
}

/* ---- Responses. ---- */

int h1_parse_response(struct arena *a, str head, struct h1_response *ret, struct h1_problem *problem)
{
    *ret = (struct h1_response){0};
    str version, rest, line = next_line(&head);
    if (!str_cut(line, ' ', &version, &rest))
        return bad(problem, 502, "malformed status line");
    if (parse_version(version, &ret->m.is_1_0, problem) < 0)
        return -1;
    if (rest.n < 3 || (rest.n > 3 && rest.p[3] != ' ') || rest.p[0] < '1' || rest.p[0] > '5' ||
        !char_is_digit(rest.p[1]) || !char_is_digit(rest.p[2]))
        return bad(problem, 502, "malformed status");
    ret->status = (rest.p[0] - '0') * 100 + (rest.p[1] - '0') * 10 + (rest.p[2] - '0');
    for (size_t i = 3; i < rest.n; i++)
        if (!is_value_char(rest.p[i]))
            return bad(problem, 502, "a control character in the status line");
    return parse_headers(a, head, &ret->m, problem);
}

/* ---- Chunked bodies. ---- */

/*   SIZE ► [EXTENSION] ► SIZE_LF ► DATA ► DATA_CR ► DATA_LF ► SIZE …
 *                           └ size 0 ► TRAILER ► [NAME ► VALUE ► VALUE_LF ► TRAILER …] ► END_LF ► END */
enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, NAME, VALUE, VALUE_LF, END_LF, END };
enum { EXTRA_MAX = 4096 };

static int hex_digit(char c)
{
    if (char_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int step_size(struct h1_chunked *c, char b)
{
    int digit = hex_digit(b);
    if (digit >= 0) {
        if (++c->digits > 15) /* so that left cannot overflow, and zeros do not go on for ever */
            return -1;
        c->left = c->left * 16 + (uint64_t)digit;
        return SIZE;
    }
    if (c->digits == 0)
        return -1;
    return b == '\r' ? SIZE_LF : b == ';' ? EXTENSION : -1;
}

static int step_trailer(struct h1_chunked *c, char b)
{
    if (++c->extra > EXTRA_MAX)
        return -1;
    switch (c->state) {
    case TRAILER:
        return b == '\r' ? END_LF : is_token_char(b) ? NAME : -1;
    case NAME:
        return b == ':' ? VALUE : is_token_char(b) ? NAME : -1;
    default:
        return b == '\r' ? VALUE_LF : is_value_char(b) ? VALUE : -1;
    }
}

/* The next state, or -1. */
static int step(struct h1_chunked *c, char b)
{
    switch (c->state) {
    case SIZE:
        return step_size(c, b);
    case EXTENSION:
        if (++c->extra > EXTRA_MAX)
            return -1;
        return b == '\r' ? SIZE_LF : is_value_char(b) ? EXTENSION : -1;
    case SIZE_LF:
        c->digits = 0;
        return b != '\n' ? -1 : c->left ? DATA : TRAILER;
    case DATA_CR:
        return b == '\r' ? DATA_LF : -1;
    case DATA_LF:
        return b == '\n' ? SIZE : -1;
    case TRAILER:
    case NAME:
    case VALUE:
        return step_trailer(c, b);
    case VALUE_LF:
        return b == '\n' ? TRAILER : -1;
    case END_LF:
        return b == '\n' ? END : -1;
    default:
        return -1;
    }
}

enum h1_step h1_chunked_next(struct h1_chunked *c, str *bytes, str *piece)
{
    while (c->state != END) {
        if (bytes->n == 0)
            return H1_MORE;
        if (c->state == DATA) {
            *piece = str_upto(*bytes, c->left < bytes->n ? (size_t)c->left : bytes->n);
            *bytes = str_from(*bytes, piece->n);
            c->left -= piece->n;
            if (c->left == 0)
                c->state = DATA_CR;
            return H1_DATA;
        }
        c->state = step(c, bytes->p[0]);
        if (c->state < 0)
            return H1_BAD;
        *bytes = str_from(*bytes, 1);
    }
    return H1_DONE;
}
