/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/pattern.h"

#include "base/arena.h"
#include "base/budget.h"
#include "base/rune.h"
#include "schema/pattern_internal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

/* Compiling and matching with PCRE2, within limits.
 *
 * The compiled machine code runs first. When it only ran out of stack (long texts, harmless expressions), the
 * interpreter goes on with memory from the heap. When the limit was met, the expression backtracks too much for this
 * text: then PCRE2's other matcher gets a try, which follows all ways at once. It begins anew at every character, so it
 * is asked only about short texts and about expressions that are anchored at the start. Otherwise the result is
 * PATTERN_TIMEOUT. */

enum {
    MATCH_LIMIT = 1000000,    /* steps; 2 to 4 ms */
    MATCH_LIMIT_FIRST = 2000, /* of the first try; nearly all matches need less */
    LIMIT_FACTOR = 8,         /* from one try to the next, and from steps here to those of a budget */
    MATCH_LIMIT_MIN = 1000,   /* for the longest texts */
    MATCH_WORK = 1000000000,  /* steps × bytes: a step may look at the whole text */
    HEAP_LIMIT = 64 * 1024,   /* KiB for the interpreter */
    SHORT_TEXT = 512,         /* bytes */
    WORKSPACE = 2000,         /* ints for the matcher that does not backtrack */
    PATIENCE = 4,             /* timeouts, then limits get small */
    STAMINA = 100,            /* searches that met a limit, then nothing else is tried */
    CODE_LIMIT = 1024 * 1024, /* bytes of an expression in PCRE2's form */
};

struct pattern {
    pcre2_code *code; /* NULL: did not compile */
    bool is_jit;
};

struct matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static int refuse(struct err *err, const char *what, str expression)
{
    return err_set(err, ERR_INVALID, "error parsing regexp: %s: `%.*s`", what, STR(expression));
}

int pattern_check(str expression, struct err *err)
{
    struct buf text = {0};
    int rc = pattern_rewrite(expression, &text, err);
    buf_done(&text);
    return rc;
}

static pcre2_code *compile(str text)
{
    int error;
    PCRE2_SIZE offset;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (context == NULL)
        abort();
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, PATTERN_MAX_DEPTH + 2);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)(text.n ? text.p : ""), text.n,
                                     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX |
                                         PCRE2_NO_AUTO_CAPTURE,
                                     &error, &offset, context);
    pcre2_compile_context_free(context);
    return code;
}

int pattern_compile(str expression, struct pattern **ret, struct err *err)
{
    struct buf text = {0};
    int rc = pattern_rewrite(expression, &text, err);
    if (rc == 0) {
        pcre2_code *code = text.n <= CODE_LIMIT ? compile(buf_str(&text)) : NULL;
        struct pattern *p = code ? malloc(sizeof *p) : NULL;
        if (code && p == NULL)
            abort();
        if (p) {
            /* Where machine code cannot be made the interpreter does all the work. */
            *p = (struct pattern){code, pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0};
            *ret = p;
        } else {
            rc = refuse(err, "expression too large", expression);
        }
    }
    buf_done(&text);
    return rc;
}

struct pattern *pattern_make(str expression)
{
    struct pattern *p = NULL;
    if (pattern_compile(expression, &p, NULL) == 0)
        return p;
    p = xcalloc(1, sizeof *p);
    return p;
}

void pattern_free(struct pattern *p)
{
    if (p == NULL)
        return;
    pcre2_code_free(p->code);
    free(p);
}

size_t pattern_footprint(const struct pattern *p)
{
    size_t code = 0, jit = 0;
    if (p == NULL)
        return 0;
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_SIZE, &code);
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_JITSIZE, &jit);
    return sizeof *p + code + jit;
}

static struct matcher *matcher(struct pattern_scratch *scratch)
{
    if (scratch->match)
        return scratch->match;
    struct matcher *m = xmalloc(sizeof *m);
    m->data = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    if (m->data == NULL || m->context == NULL)
        abort();
    pcre2_set_heap_limit(m->context, HEAP_LIMIT);
    return scratch->match = m;
}

void pattern_scratch_done(struct pattern_scratch *scratch)
{
    struct matcher *m = scratch->match;
    if (m == NULL)
        return;
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
    free(m);
    scratch->match = NULL;
}

static uint32_t limit_for(size_t bytes, const struct pattern_scratch *scratch)
{
    if (scratch->timeouts >= PATIENCE || scratch->slow > STAMINA)
        return MATCH_LIMIT_MIN;
    size_t limit = MATCH_WORK / (bytes + 1);
    return limit > MATCH_LIMIT ? MATCH_LIMIT : limit < MATCH_LIMIT_MIN ? MATCH_LIMIT_MIN : (uint32_t)limit;
}

/* Whether the matcher that does not backtrack comes to an end soon. */
static bool is_worth_a_try(const struct pattern *p, str text, const struct pattern_scratch *scratch)
{
    uint32_t options = 0;
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_ALLOPTIONS, &options);
    return scratch->slow <= STAMINA &&
           (text.n <= SHORT_TEXT || (options & PCRE2_ANCHORED && scratch->timeouts < PATIENCE));
}

static int match_within(const struct pattern *p, str text, struct matcher *m, size_t limit)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.n ? text.p : "");
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;
    pcre2_set_match_limit(m->context, (uint32_t)limit);
    if (p->is_jit)
        rc = pcre2_jit_match(p->code, subject, text.n, 0, PCRE2_NO_UTF_CHECK, m->data, m->context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(p->code, subject, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, m->data, m->context);
    return rc;
}

/* The matcher does not report how many steps it took, and cannot be interrupted. So the limit rises from try to try,
 * and what a try may take is charged before it begins. */
static int match_charged(const struct pattern *p, str text, struct matcher *m, size_t limit)
{
    size_t now = limit < MATCH_LIMIT_FIRST ? limit : MATCH_LIMIT_FIRST;
    int rc = match_within(p, text, m, now);
    while (rc == PCRE2_ERROR_MATCHLIMIT && now < limit) {
        now = now * LIMIT_FACTOR < limit ? now * LIMIT_FACTOR : limit;
        if (!budget_charge(now / LIMIT_FACTOR))
            break;
        rc = match_within(p, text, m, now);
    }
    return rc;
}

enum pattern_result pattern_match(const struct pattern *p, str text, struct pattern_scratch *scratch)
{
    if (p->code == NULL) {
        scratch->timeouts++;
        return PATTERN_REFUSED;
    }
    struct matcher *m = matcher(scratch);
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.n ? text.p : "");
    int rc = match_charged(p, text, m, limit_for(text.n, scratch));
    scratch->slow += rc < PCRE2_ERROR_NOMATCH;
    if (rc < PCRE2_ERROR_NOMATCH && is_worth_a_try(p, text, scratch)) {
        int workspace[WORKSPACE];
        budget_charge(MATCH_LIMIT_FIRST + text.n);
        rc = pcre2_dfa_match(p->code, subject, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_DFA_SHORTEST, m->data, m->context,
                             workspace, WORKSPACE);
    }
    if (rc >= 0)
        return PATTERN_YES;
    if (rc == PCRE2_ERROR_NOMATCH)
        return PATTERN_NO;
    scratch->timeouts++;
    return PATTERN_TIMEOUT;
}

/* The gate: reads an expression by the rules of Go's regexp/syntax and writes one for PCRE2 as it goes.
 *
 * An atom (a character, a class, a group) is written out at once, its place remembered; a repeat operator behind it
 * only adds itself. Case folding is put around each atom, so flags never have to be carried over. */

enum { MAX_REPEAT = 1000, MAX_RUNE = 0x10ffff };

bool gate_fail(struct gate *g, const char *what, str text)
{
    err_set(g->err, ERR_INVALID, "error parsing regexp: %s: `%.*s`", what, STR(text));
    return false;
}

uint32_t gate_next(struct gate *g)
{
    str rest = str_from(g->in, g->at);
    uint32_t c = rune_next(&rest);
    g->at = g->in.n - rest.n;
    return c;
}

static bool is_at_end(const struct gate *g)
{
    return g->at >= g->in.n;
}

static int peek(const struct gate *g)
{
    return is_at_end(g) ? -1 : (unsigned char)g->in.p[g->at];
}

static str since(const struct gate *g, size_t start)
{
    return (str){g->in.p + start, g->at - start};
}

/* ---- Escapes ---- */

static int hex_value(int c)
{
    if (char_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Behind \x: two digits, or any number of them in braces. */
static bool hex_escape(struct gate *g, uint32_t *ret)
{
    bool braces = peek(g) == '{';
    uint32_t c = 0, digits = 0;
    g->at += braces;
    for (; (braces || digits < 2) && hex_value(peek(g)) >= 0; digits++) {
        c = c * 16 + (uint32_t)hex_value(peek(g));
        g->at++;
        if (c > MAX_RUNE)
            return false;
    }
    *ret = c;
    if (!braces)
        return digits == 2;
    bool closed = peek(g) == '}';
    g->at += !is_at_end(g);
    return closed && digits > 0;
}

static bool octal_escape(struct gate *g, uint32_t first, uint32_t *ret)
{
    uint32_t c = first;
    int more = 0;
    for (; more < 2 && peek(g) >= '0' && peek(g) <= '7'; more++)
        c = c * 8 + (uint32_t)(g->in.p[g->at++] - '0');
    *ret = c;
    return first == 0 || more > 0; /* \1 alone would be a backreference */
}

static bool simple_escape(struct gate *g, uint32_t c, uint32_t *ret)
{
    *ret = c;
    switch (c) {
    case 'a':
        *ret = 7;
        return true;
    case 'f':
        *ret = '\f';
        return true;
    case 'n':
        *ret = '\n';
        return true;
    case 'r':
        *ret = '\r';
        return true;
    case 't':
        *ret = '\t';
        return true;
    case 'v':
        *ret = '\v';
        return true;
    case 'x':
        return hex_escape(g, ret);
    default:
        break;
    }
    if (c >= '0' && c <= '7')
        return octal_escape(g, c - '0', ret);
    bool alnum = char_is_alnum(c);
    return c < 0x80 && !alnum;
}

bool gate_escape(struct gate *g, uint32_t *ret)
{
    size_t start = g->at++;
    if (is_at_end(g))
        return gate_fail(g, "trailing backslash at end of expression", (str){0});
    return simple_escape(g, gate_next(g), ret) || gate_fail(g, "invalid escape sequence", since(g, start));
}

/* ---- Atoms ---- */

static void begin_atom(struct gate *g)
{
    g->has_atom = true;
    g->atom_needs_group = false;
    g->atom = g->out->n;
    g->atom_cost = 1;
}

static void count_cost(struct gate *g)
{
    if (g->atom_cost > g->cost)
        g->cost = g->atom_cost;
}

static void begin_folded(struct gate *g)
{
    begin_atom(g);
    if (g->flags & GATE_FOLD)
        buf_add_str(g->out, S("(?i:"));
}

static void end_folded(struct gate *g)
{
    if (g->flags & GATE_FOLD)
        buf_add_char(g->out, ')');
    count_cost(g);
}

static bool literal(struct gate *g, uint32_t c)
{
    begin_folded(g);
    if (c >= 0xd800 && c <= 0xdfff)
        buf_add_str(g->out, S("[^\\x{0}-\\x{10ffff}]")); /* no text holds it */
    else
        gate_put(g->out, c);
    end_folded(g);
    return true;
}

static bool assertion(struct gate *g, const char *text)
{
    begin_atom(g);
    g->atom_needs_group = true; /* if it gets repeated */
    buf_add_str(g->out, str_of(text));
    count_cost(g);
    return true;
}

static bool any_char(struct gate *g)
{
    begin_atom(g);
    buf_add_str(g->out, g->flags & GATE_DOT ? S("(?s:.)") : S("[^\\n]"));
    count_cost(g);
    return true;
}

/* \Q…\E: everything in between is plain. */
static bool quoted(struct gate *g)
{
    g->at += 2;
    str rest = str_from(g->in, g->at);
    ptrdiff_t end = str_find(rest, S("\\E"));
    size_t stop = end < 0 ? g->in.n : g->at + (size_t)end;
    while (g->at < stop)
        literal(g, gate_next(g));
    g->at = end < 0 ? stop : stop + 2;
    return true;
}

static bool backslash(struct gate *g)
{
    int next = g->at + 1 < g->in.n ? g->in.p[g->at + 1] : -1;
    static const char *const assertions[][2] = {{"A", "\\A"}, {"b", "\\b"}, {"B", "\\B"}, {"z", "\\z"}};
    for (size_t i = 0; i < COUNT(assertions); i++) {
        if (next == assertions[i][0][0]) {
            g->at += 2;
            return assertion(g, assertions[i][1]);
        }
    }
    if (next == 'C')
        return gate_fail(g, "invalid escape sequence", S("\\C"));
    if (next == 'Q')
        return quoted(g);
    bool found;
    size_t start = g->out->n;
    begin_folded(g);
    if (!gate_class_escape(g, &found))
        return false;
    if (found) {
        end_folded(g);
        return true;
    }
    g->out->n = start;
    uint32_t c;
    return gate_escape(g, &c) && literal(g, c);
}

/* ---- Groups ---- */

static bool open_group(struct gate *g, unsigned flags)
{
    if (g->groups.n >= PATTERN_MAX_DEPTH)
        return gate_fail(g, "expression nests too deeply", g->in);
    *vec_push(&g->arena, &g->groups) = (struct gate_group){g->out->n, g->flags, g->cost};
    buf_add_str(g->out, S("(?:"));
    g->flags = flags;
    g->cost = 1;
    g->has_atom = false;
    return true;
}

static bool close_group(struct gate *g)
{
    if (g->groups.n == 0)
        return gate_fail(g, "unexpected )", g->in);
    struct gate_group group = g->groups.p[--g->groups.n];
    uint32_t inside = g->cost;
    g->at++;
    buf_add_char(g->out, ')');
    g->flags = group.flags;
    g->cost = group.cost;
    g->has_atom = true;
    g->atom_needs_group = false;
    g->atom = group.out;
    g->atom_cost = inside;
    count_cost(g);
    return true;
}

static bool is_name(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!(char_is_alnum(c) || c == '_'))
            return false;
    }
    return s.n > 0;
}

/* (?P<name>…) and (?<name>…), at the parenthesis. */
static bool named_group(struct gate *g, size_t name_at)
{
    str rest = str_from(g->in, g->at);
    ptrdiff_t end = str_find_char(rest, '>');
    if (end < 0)
        return gate_fail(g, "invalid named capture", rest);
    str name = (size_t)end > name_at ? (str){rest.p + name_at, (size_t)end - name_at} : (str){0};
    if (!is_name(name))
        return gate_fail(g, "invalid named capture", str_upto(rest, (size_t)end + 1));
    g->at += (size_t)end + 1;
    return open_group(g, g->flags);
}

/* (?flags) and (?flags:…), behind the question mark. */
static bool flag_group(struct gate *g, size_t start)
{
    unsigned flags = g->flags;
    bool off = false, some = false;
    while (!is_at_end(g)) {
        uint32_t c = gate_next(g);
        unsigned flag = c == 'i' ? GATE_FOLD : c == 'm' ? GATE_LINES : c == 's' ? GATE_DOT : 0;
        if (flag || c == 'U') {
            flags = off ? flags & ~flag : flags | flag;
            some = true;
        } else if (c == '-' && !off) {
            off = true;
            some = false;
        } else if ((c == ':' || c == ')') && (!off || some)) {
            if (c == ':')
                return open_group(g, flags);
            g->flags = flags;
            return true;
        } else {
            break;
        }
    }
    return gate_fail(g, "invalid or unsupported Perl syntax", since(g, start));
}

static bool parenthesis(struct gate *g)
{
    str rest = str_from(g->in, g->at);
    if (rest.n < 2 || rest.p[1] != '?') {
        g->at++;
        return open_group(g, g->flags);
    }
    if (rest.n > 4 && rest.p[2] == 'P' && rest.p[3] == '<')
        return named_group(g, 4);
    if (rest.n > 3 && rest.p[2] == '<')
        return named_group(g, 3);
    size_t start = g->at;
    g->at += 2;
    return flag_group(g, start);
}

/* ---- Repeats ---- */

struct repeat {
    int min, max; /* max -1: no end */
    bool counted; /* {n,m} */
};

/* A number of at most eight digits (more: -1) without a zero in front. */
static bool number(struct gate *g, int *ret)
{
    size_t start = g->at;
    int n = 0;
    for (; peek(g) >= '0' && peek(g) <= '9'; g->at++)
        n = n < 0 || n >= 10000000 ? -1 : n * 10 + (peek(g) - '0');
    *ret = n;
    return g->at > start && !(g->at - start > 1 && g->in.p[start] == '0');
}

/* {n}, {n,} or {n,m}; what only looks like one is a plain brace. */
static bool counts(struct gate *g, struct repeat *ret)
{
    size_t start = g->at++;
    bool ok = number(g, &ret->min);
    ret->max = ret->min;
    ret->counted = true;
    if (ok && peek(g) == ',') {
        g->at++;
        ret->max = -1;
        if (peek(g) != '}') {
            ok = number(g, &ret->max);
            if (ret->max < 0)
                ret->min = -1;
        }
    }
    ok = ok && peek(g) == '}';
    g->at = ok ? g->at + 1 : start;
    return ok;
}

/* The product of counts, of nested repeats. */
static uint32_t repeat_cost(const struct gate *g, const struct repeat *r)
{
    if (!r->counted)
        return g->atom_cost;
    uint32_t times = (uint32_t)(r->max < 0 ? r->min : r->max);
    return times ? times * g->atom_cost : 1;
}

static void put_repeat(struct gate *g, const struct repeat *r)
{
    if (g->atom_needs_group) {
        struct buf *b = g->out;
        buf_grow(b, 4);
        memmove(b->p + g->atom + 3, b->p + g->atom, b->n - g->atom);
        memcpy(b->p + g->atom, "(?:", 3);
        b->n += 3;
        buf_add_char(b, ')');
    }
    if (!r->counted)
        buf_add_char(g->out, r->min == 1 ? '+' : r->max == 1 ? '?' : '*');
    else if (r->max < 0)
        buf_fmt(g->out, "{%d,}", r->min);
    else
        buf_fmt(g->out, "{%d,%d}", r->min, r->max);
}

static bool repeat(struct gate *g, const struct repeat *r, size_t start)
{
    if (peek(g) == '?')
        g->at++; /* lazy: the same for us */
    if (g->repeat != SIZE_MAX)
        return gate_fail(g, "invalid nested repetition operator", since(g, g->repeat));
    if (!g->has_atom)
        return gate_fail(g, "missing argument to repetition operator", since(g, start));
    uint32_t cost = repeat_cost(g, r);
    if (r->counted && (r->min >= 2 || r->max >= 2) && cost > MAX_REPEAT)
        return gate_fail(g, "invalid repeat count", since(g, start));
    put_repeat(g, r);
    g->atom_needs_group = true;
    g->atom_cost = cost;
    count_cost(g);
    return true;
}

static bool brace(struct gate *g, bool *ret_repeat)
{
    size_t start = g->at;
    struct repeat r;
    *ret_repeat = counts(g, &r);
    if (!*ret_repeat) {
        g->at++;
        return literal(g, '{');
    }
    if (r.min < 0 || r.min > MAX_REPEAT || r.max > MAX_REPEAT || (r.max >= 0 && r.min > r.max))
        return gate_fail(g, "invalid repeat count", since(g, start));
    return repeat(g, &r, start);
}

static bool operator(struct gate *g)
{
    static const struct repeat star = {0, -1, false}, plus = {1, -1, false}, question = {0, 1, false};
    size_t start = g->at++;
    char c = g->in.p[start];
    return repeat(g, c == '*' ? &star : c == '+' ? &plus : &question, start);
}

/* ---- The whole ---- */

static bool alternative(struct gate *g)
{
    g->at++;
    g->has_atom = false;
    buf_add_char(g->out, '|');
    return true;
}

static bool token(struct gate *g, bool *ret_repeat)
{
    *ret_repeat = false;
    switch (peek(g)) {
    case '(':
        return parenthesis(g);
    case ')':
        return close_group(g);
    case '|':
        return alternative(g);
    case '[': {
        begin_folded(g);
        bool ok = gate_class(g);
        end_folded(g);
        return ok;
    }
    case '\\':
        return backslash(g);
    case '{':
        return brace(g, ret_repeat);
    case '*':
    case '+':
    case '?':
        *ret_repeat = true;
        return operator(g);
    case '^':
        g->at++;
        return assertion(g, g->flags & GATE_LINES ? "^" : "\\A");
    case '$':
        g->at++;
        return assertion(g, g->flags & GATE_LINES ? "$" : "\\z");
    case '.':
        g->at++;
        return any_char(g);
    default:
        return literal(g, gate_next(g));
    }
}

static bool rewrite(struct gate *g)
{
    if (!str_is_utf8(g->in))
        return gate_fail(g, "invalid UTF-8", (str){0});
    if (g->in.n > PATTERN_MAX_BYTES)
        return gate_fail(g, "expression too large", (str){0});
    while (!is_at_end(g)) {
        size_t start = g->at;
        bool is_repeat;
        if (!token(g, &is_repeat))
            return false;
        g->repeat = is_repeat ? start : SIZE_MAX;
    }
    return g->groups.n == 0 || gate_fail(g, "missing closing )", g->in);
}

int pattern_rewrite(str expression, struct buf *ret, struct err *err)
{
    struct err own;
    struct gate g = {.in = expression, .out = ret, .err = err ? err : &own, .cost = 1, .repeat = SIZE_MAX};
    g.err->code = ERR_NONE;
    bool ok = rewrite(&g);
    arena_done(&g.arena);
    return ok ? 0 : ERR_INVALID;
}
