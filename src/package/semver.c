/* SPDX-License-Identifier: Apache-2.0 */
#include "package/semver.h"
#include "oci/digest.h"

/* A constraint is alternatives of comparisons, parsed and asked from left to right without being kept:
 *
 *     >=1.2, <2.0 || ^3      alternatives are parted by ||, comparisons by blanks or commas
 *     └──┘└─┘                operator and version; the version may have gaps (1.x, 1.2) */

enum { MAX_CONSTRAINT = 1024 };

struct version {
    uint64_t major, minor, patch;
    str pre; /* "rc.1"; empty: none */
};

struct pattern {
    struct version version;         /* gaps are 0 */
    bool any, any_minor, any_patch; /* where the gap begins: at most one of them */
};

enum op { OP_SAME, OP_NOT, OP_GT, OP_LT, OP_GE, OP_LE, OP_TILDE, OP_CARET };

/* ---- Reading. ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static str skip_space(str s)
{
    while (s.n && is_space(s.p[0]))
        s = str_from(s, 1);
    return s;
}

static size_t word_length(str s)
{
    size_t n = 0;
    while (n < s.n && (char_is_digit(s.p[n]) || s.p[n] == '-' || char_is_letter(s.p[n])))
        n++;
    return n;
}

/* Words parted by dots. Numbers of a pre-release have no zeros in front. */
static bool take_words(str *s, bool is_pre, str *ret)
{
    str rest = *s;
    for (;;) {
        size_t n = word_length(rest), digits = 0;
        while (digits < n && char_is_digit(rest.p[digits]))
            digits++;
        if (n == 0 || (is_pre && digits == n && n > 1 && rest.p[0] == '0'))
            return false;
        rest = str_from(rest, n);
        if (rest.n == 0 || rest.p[0] != '.')
            break;
        rest = str_from(rest, 1);
    }
    *ret = str_upto(*s, s->n - rest.n);
    *s = rest;
    return true;
}

/* A number, or a letter that stands for any; *ret_any says which. */
static bool take_number(str *s, uint64_t *ret, bool *ret_any)
{
    size_t n = 0;
    if (s->n && (s->p[0] == 'x' || s->p[0] == 'X' || s->p[0] == '*')) {
        *s = str_from(*s, 1);
        *ret_any = true;
        return true;
    }
    while (n < s->n && char_is_digit(s->p[n]))
        n++;
    *ret_any = false;
    if (!str_to_uint64(str_upto(*s, n), ret))
        return false;
    *s = str_from(*s, n);
    return true;
}

/* Up to three numbers with dots between them; what is behind a gap is a gap, too. */
static bool take_pattern(str *s, struct pattern *ret)
{
    uint64_t numbers[3] = {0};
    bool any[3] = {false, true, true};
    str build;
    *ret = (struct pattern){0};
    if (s->n > 1 && s->p[0] == 'v')
        *s = str_from(*s, 1);
    for (size_t i = 0; i < 3; i++) {
        if (i > 0 && (s->n == 0 || s->p[0] != '.'))
            break;
        if (i > 0)
            *s = str_from(*s, 1);
        if (!take_number(s, &numbers[i], &any[i]))
            return false;
    }
    if (s->n && s->p[0] == '-') {
        *s = str_from(*s, 1);
        if (!take_words(s, true, &ret->version.pre))
            return false;
    }
    if (s->n && s->p[0] == '+') {
        *s = str_from(*s, 1);
        if (!take_words(s, false, &build))
            return false;
    }
    ret->any = any[0];
    ret->any_minor = !any[0] && any[1];
    ret->any_patch = !any[0] && !any[1] && any[2];
    ret->version.major = any[0] ? 0 : numbers[0];
    ret->version.minor = any[0] || any[1] ? 0 : numbers[1];
    ret->version.patch = any[0] || any[1] || any[2] ? 0 : numbers[2];
    return true;
}

/* A version may leave out numbers, which then are 0, but has no letters for them. */
static bool read_version(str s, struct version *ret)
{
    struct pattern p;
    size_t n = 0;
    while (n < s.n && s.p[n] != '-' && s.p[n] != '+')
        n++;
    str core = str_upto(s, n);
    bool has_letters = str_find_char(core, 'x') >= 0 || str_find_char(core, 'X') >= 0 || str_find_char(core, '*') >= 0;
    if (s.n > MAX_CONSTRAINT || has_letters || !take_pattern(&s, &p) || s.n)
        return false;
    *ret = p.version;
    return true;
}

/* False: there is none, which means OP_SAME. */
static bool take_op(str *s, enum op *ret)
{
    static const struct {
        str text;
        enum op op;
    } ops[] = {
        {S_INIT("!="), OP_NOT}, {S_INIT(">="), OP_GE},    {S_INIT("=>"), OP_GE},   {S_INIT("<="), OP_LE},
        {S_INIT("=<"), OP_LE},  {S_INIT("~>"), OP_TILDE}, {S_INIT("~"), OP_TILDE}, {S_INIT("^"), OP_CARET},
        {S_INIT(">"), OP_GT},   {S_INIT("<"), OP_LT},     {S_INIT("="), OP_SAME},
    };
    for (size_t i = 0; i < COUNT(ops); i++) {
        if (str_has_prefix(*s, ops[i].text)) {
            *s = skip_space(str_from(*s, ops[i].text.n));
            *ret = ops[i].op;
            return true;
        }
    }
    *ret = OP_SAME;
    return false;
}

/* ---- Comparing. ---- */

static int compare_numbers(uint64_t l, uint64_t r)
{
    return (l > r) - (l < r);
}

static bool is_number(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.p[i]))
            return false;
    return s.n > 0;
}

/* Numbers have no zeros in front, so the longer one is larger. Words come behind numbers. */
static int compare_words(str l, str r)
{
    bool l_number = is_number(l), r_number = is_number(r);
    if (l_number != r_number)
        return l_number ? -1 : 1;
    if (l_number && l.n != r.n)
        return l.n < r.n ? -1 : 1;
    return str_cmp(l, r);
}

static int compare_pre(str l, str r)
{
    if (l.n == 0 || r.n == 0)
        return (l.n == 0) - (r.n == 0);
    while (l.n && r.n) {
        str a = l, b = r, rest;
        l = str_cut(l, '.', &a, &rest) ? rest : (str){0};
        r = str_cut(r, '.', &b, &rest) ? rest : (str){0};
        int order = compare_words(a, b);
        if (order)
            return order;
    }
    return (l.n > 0) - (r.n > 0);
}

static int compare(const struct version *l, const struct version *r)
{
    int order = compare_numbers(l->major, r->major);
    if (order == 0)
        order = compare_numbers(l->minor, r->minor);
    if (order == 0)
        order = compare_numbers(l->patch, r->patch);
    return order ? order : compare_pre(l->pre, r->pre);
}

static bool has_gap(const struct pattern *p)
{
    return p->any || p->any_minor || p->any_patch;
}

/* Negative, 0 or positive: the version is before, in or behind the gap. */
static int compare_to_gap(const struct version *v, const struct pattern *p)
{
    if (p->any)
        return 0;
    int order = compare_numbers(v->major, p->version.major);
    return order || p->any_minor ? order : compare_numbers(v->minor, p->version.minor);
}

/* ~0.0.0 means everything, to the libraries that packages are written for. */
static bool meets_tilde(const struct pattern *p, const struct version *v)
{
    const struct version *w = &p->version;
    bool is_zero = w->major == 0 && w->minor == 0 && w->patch == 0 && !has_gap(p);
    return compare(v, w) >= 0 && (is_zero || compare_to_gap(v, p) == 0);
}

static bool meets_caret(const struct pattern *p, const struct version *v)
{
    const struct version *w = &p->version;
    if (compare(v, w) < 0)
        return false;
    if (p->any)
        return true;
    if (w->major > 0 || p->any_minor)
        return v->major == w->major;
    if (w->minor > 0 || p->any_patch)
        return v->major == 0 && v->minor == w->minor;
    return v->major == 0 && v->minor == 0 && v->patch == w->patch;
}

static bool meets(enum op op, const struct pattern *p, const struct version *v)
{
    bool gap = has_gap(p);
    if (v->pre.n && p->version.pre.n == 0 && (op != OP_NOT || gap))
        return false;
    switch (op) {
    case OP_SAME:
        return gap ? meets_tilde(p, v) : compare(v, &p->version) == 0;
    case OP_NOT:
        return gap ? compare_to_gap(v, p) != 0 : compare(v, &p->version) != 0;
    case OP_GT:
        return gap ? compare_to_gap(v, p) > 0 : compare(v, &p->version) > 0;
    case OP_LE:
        return gap ? compare_to_gap(v, p) <= 0 : compare(v, &p->version) <= 0;
    case OP_LT:
        return compare(v, &p->version) < 0;
    case OP_GE:
        return compare(v, &p->version) >= 0;
    case OP_TILDE:
        return meets_tilde(p, v);
    case OP_CARET:
        return meets_caret(p, v);
    }
    return false;
}

/* ---- Constraints. ---- */

/* "1.2 - 1.4": a dash with blanks around it. */
static bool take_dash(str *s)
{
    str rest = skip_space(*s);
    if (rest.n < 2 || rest.p == s->p || rest.p[0] != '-' || !is_space(rest.p[1]))
        return false;
    *s = skip_space(str_from(rest, 1));
    return true;
}

/* False: it is none. v may be NULL, then nothing is met. */
static bool take_comparison(str *s, const struct version *v, bool *ret_met)
{
    struct pattern from, to;
    enum op op;
    bool has_op = take_op(s, &op);
    if (!take_pattern(s, &from))
        return false;
    if (has_op || !take_dash(s)) {
        *ret_met = v && meets(op, &from, v);
        return true;
    }
    if (!take_pattern(s, &to))
        return false;
    *ret_met = v && meets(OP_GE, &from, v) && meets(OP_LE, &to, v);
    return true;
}

static bool take_alternative(str s, const struct version *v, bool *ret_met)
{
    *ret_met = v != NULL;
    for (s = skip_space(s);;) {
        bool is_met;
        if (!take_comparison(&s, v, &is_met))
            return false;
        *ret_met = *ret_met && is_met;
        str rest = skip_space(s);
        if (rest.n == 0)
            return true;
        if (rest.p[0] == ',')
            rest = skip_space(str_from(rest, 1));
        else if (rest.p == s.p)
            return false;
        s = rest;
    }
}

static bool read_constraint(str s, const struct version *v, bool *ret_met)
{
    *ret_met = false;
    if (s.n > MAX_CONSTRAINT)
        return false;
    if (skip_space(s).n == 0) {
        *ret_met = v && v->pre.n == 0;
        return true;
    }
    for (bool more = true; more;) {
        ptrdiff_t at = str_find(s, S("||"));
        bool is_met;
        more = at >= 0;
        if (!take_alternative(more ? str_upto(s, (size_t)at) : s, v, &is_met))
            return false;
        *ret_met = *ret_met || is_met;
        s = more ? str_from(s, (size_t)at + 2) : s;
    }
    return true;
}

bool semver_is_constraint(str constraint)
{
    struct oci_digest digest;
    bool is_met;
    return oci_digest_parse(constraint, &digest) || read_constraint(constraint, NULL, &is_met);
}

bool semver_is_met(str constraint, str version, str digest)
{
    struct oci_digest wanted;
    struct version v;
    bool is_met;
    if (oci_digest_parse(constraint, &wanted))
        return str_eq(constraint, digest);
    return read_version(version, &v) && read_constraint(constraint, &v, &is_met) && is_met;
}

/* ==== Versions of packages, which need not be semantic ==== */

/* A version is taken apart like this, and its parts are compared from left to right:
 *
 *     v 1.2.0 - rc.1 + linux
 *       core    pre    build      no pre is newer than any; build counts only among the bytes, at the very end */

static bool is_numeric_part(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.p[i]))
            return false;
    return s.n > 0;
}

static str without_zeros(str number)
{
    while (number.n && number.p[0] == '0')
        number = str_from(number, 1);
    return number;
}

/* Numbers of any length by value, words by bytes, numbers before words. */
static int compare_parts(str l, str r)
{
    bool l_number = is_numeric_part(l), r_number = is_numeric_part(r);
    if (l_number != r_number)
        return l_number ? -1 : 1;
    if (!l_number)
        return str_cmp(l, r);
    l = without_zeros(l);
    r = without_zeros(r);
    if (l.n != r.n)
        return l.n < r.n ? -1 : 1;
    return str_cmp(l, r);
}

static str next_part(str *rest)
{
    str part;
    if (!str_cut(*rest, '.', &part, rest))
        *rest = (str){0};
    return part;
}

/* Of a core, what is missing counts as 0; of a pre-release, the longer one is newer. */
static int compare_lists(str l, str r, bool is_core)
{
    while (l.n || r.n) {
        if (!is_core && (l.n == 0 || r.n == 0))
            return l.n == 0 ? -1 : 1;
        str a = l.n ? next_part(&l) : S("0"), b = r.n ? next_part(&r) : S("0");
        int order = compare_parts(a, b);
        if (order)
            return order;
    }
    return 0;
}

static str core_of(str version, str *ret_pre, bool *ret_has_pre)
{
    str core, build;
    if (version.n > 1 && version.p[0] == 'v' && char_is_digit(version.p[1]))
        version = str_from(version, 1);
    if (str_cut(version, '+', &core, &build))
        version = core;
    *ret_has_pre = str_cut(version, '-', &core, ret_pre);
    return *ret_has_pre ? core : version;
}

bool package_version_is_numbered(str version)
{
    str pre;
    bool has_pre;
    str core = core_of(version, &pre, &has_pre);
    return is_numeric_part(next_part(&core));
}

int package_version_compare(str l, str r)
{
    str l_pre, r_pre;
    bool l_has, r_has;
    str l_core = core_of(l, &l_pre, &l_has), r_core = core_of(r, &r_pre, &r_has);
    int order = compare_lists(l_core, r_core, true);
    if (order == 0 && l_has != r_has)
        order = l_has ? -1 : 1;
    if (order == 0 && l_has)
        order = compare_lists(l_pre, r_pre, false);
    return order ? order : str_cmp(l, r);
}
