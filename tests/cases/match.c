/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/match.h"

#include "base/clock.h"

void match_done(struct match *m)
{
    map_done(&m->bound);
}

/* ---- Filling in. ---- */

/* "<fill 1000>": a thousand letters; p is NULL when it says something else. */
static str fill_of(struct match *m, str whole)
{
    struct buf b = {.arena = m->arena};
    uint64_t n;
    if (!str_has_prefix(whole, S("<fill ")) || !str_to_uint64(str_upto(str_from(whole, 6), whole.n - 7), &n))
        return (str){0};
    while (n--)
        buf_add_char(&b, 'x');
    return buf_str(&b);
}

/* What "<rv a>" stands for, or "<rv a + 3>"; p is NULL when it is not known. */
static str meaning_of(struct match *m, str whole)
{
    const struct json *known = map_get(&m->bound, whole);
    ptrdiff_t plus = str_find(whole, S(" + "));
    uint64_t base, more;
    str fill = fill_of(m, whole);
    if (fill.p)
        return fill;
    if (known || plus < 0)
        return known ? json_text(known) : (str){0};
    known = map_get(&m->bound, str_fmt(m->arena, "%.*s>", STR(str_upto(whole, (size_t)plus))));
    str number = str_from(str_upto(whole, whole.n - 1), (size_t)plus + 3);
    if (!known || !str_to_uint64(json_text(known), &base) || !str_to_uint64(number, &more))
        return (str){0};
    base += more;
    return str_fmt(m->arena, "%llu", (unsigned long long)base);
}

/* The text with what the server made up before in place of "<rv a>". */
str match_fill(struct match *m, str text)
{
    struct buf b = {.arena = m->arena};
    while (text.n) {
        ptrdiff_t start = str_find_char(text, '<');
        if (start < 0)
            break;
        buf_add_str(&b, str_upto(text, (size_t)start));
        text = str_from(text, (size_t)start);
        ptrdiff_t end = str_find_char(text, '>');
        str known = end > 0 ? meaning_of(m, str_upto(text, (size_t)end + 1)) : (str){0};
        buf_add_str(&b, known.p ? known : str_upto(text, 1));
        text = str_from(text, known.p ? (size_t)end + 1 : 1);
    }
    buf_add_str(&b, text);
    return buf_str(&b);
}

/* ---- Comparing. ---- */

static bool is_digits(str s)
{
    uint64_t n;
    return str_to_uint64(s, &n);
}

static bool is_uid(str s)
{
    bool ok = s.n == 36;
    for (size_t i = 0; ok && i < s.n; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        ok = is_dash ? s.p[i] == '-' : (s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f');
    }
    return ok;
}

static bool fits(str kind, str value)
{
    int64_t seconds;
    uint32_t nanos;
    return str_eq(kind, S("any")) || (str_eq(kind, S("rv")) && is_digits(value)) ||
           (str_eq(kind, S("uid")) && is_uid(value)) ||
           (str_eq(kind, S("time")) && time_parse(value, &seconds, &nanos));
}

/* A text that may be, or hold, placeholders. */
bool match_text(struct match *m, str want, str got)
{
    while (want.n) {
        ptrdiff_t start = str_find_char(want, '<'), end = start < 0 ? -1 : str_find_char(want, '>');
        str before = start < 0 || end < start ? want : str_upto(want, (size_t)start);
        str word, kind, name;
        if (!str_has_prefix(got, before))
            return false;
        got = str_from(got, before.n);
        want = str_from(want, before.n);
        if (want.n == 0)
            break;
        str whole = str_upto(want, (size_t)(end - start) + 1);
        word = str_upto(str_from(whole, 1), whole.n - 2);
        str_cut(word, ' ', &kind, &name);
        want = str_from(want, whole.n);
        const struct json *known = map_get(&m->bound, whole);
        /* What is made up ends where the text behind it begins again. */
        ptrdiff_t stop = want.n == 0 ? (ptrdiff_t)got.n : str_find(got, str_upto(want, 1));
        str value = stop < 0 ? got : str_upto(got, (size_t)stop);
        if (known ? !str_eq(json_text(known), value) : !fits(kind, value) && !str_eq(whole, value))
            return false;
        if (!known && name.n) {
            struct json *made = ARENA_NEW(m->arena, struct json);
            *made = json_str(str_dup(m->arena, value));
            map_set(&m->bound, whole, made);
        }
        got = str_from(got, value.n);
    }
    return got.n == 0;
}

static bool same(struct match *m, const struct json *want, const struct json *got, bool is_part);

static bool same_members(struct match *m, const struct json *want, const struct json *got, bool is_part)
{
    json_each_member(want, x)
    {
        const struct json *other = json_get(got, json_key(x));
        if (!other && str_eq(json_text(&x->val), S("<none>")))
            continue;
        if (!other || !same(m, &x->val, other, is_part))
            return false;
    }
    json_each_member(got, x)
    {
        if (!is_part && !json_get(want, json_key(x)) && !str_eq(json_key(x), S("managedFields")))
            return false;
    }
    return true;
}

static bool same(struct match *m, const struct json *want, const struct json *got, bool is_part)
{
    if (json_is_str(want) && json_is_str(got))
        return match_text(m, json_text(want), json_text(got));
    if (str_eq(json_text(want), S("<any>")))
        return true;
    if (json_type(want) != json_type(got) && !(json_is_num(want) && json_is_num(got)))
        return false;
    if (json_is_obj(want))
        return same_members(m, want, got, is_part);
    if (!json_is_arr(want))
        return json_equal(want, got);
    if (want->n != got->n)
        return false;
    for (uint32_t i = 0; i < want->n; i++) {
        if (!same(m, &want->items[i], &got->items[i], is_part))
            return false;
    }
    return true;
}

bool match_body(struct match *m, str want, str got, bool is_part)
{
    struct json x, y;
    want = str_trim(want);
    got = str_trim(got);
    if (want.n == 0)
        return true;
    if (json_decode(m->arena, want, NULL, NULL, &x, NULL) < 0 || json_decode(m->arena, got, NULL, NULL, &y, NULL) < 0)
        return match_text(m, want, got);
    return same(m, &x, &y, is_part);
}
