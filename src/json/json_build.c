/* SPDX-License-Identifier: Apache-2.0 */
/* Object literals as templates. One recursive descent over the template builds the value while it parses; arguments are
 * taken in the order of their placeholders. */
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>

struct template
{
    struct arena *a;
    const char *text, *at; /* the whole template; the next character */
    const char *why;       /* what is wrong with it, at bad; then at is the end of text */
    size_t bad;
    bool is_check; /* there are no arguments: every placeholder stands for a fixed value */
    va_list args;
};

static struct json parse_value(struct template *t);

static void fail_template(struct template *t, const char *why)
{
    if (t->why == NULL) {
        t->why = why;
        t->bad = (size_t)(t->at - t->text);
    }
    t->at += strlen(t->at);
}

static void skip_blanks(struct template *t)
{
    while (*t->at == ' ' || *t->at == '\n')
        t->at++;
}

static bool accept_char(struct template *t, char c)
{
    skip_blanks(t);
    if (*t->at != c)
        return false;
    t->at++;
    return true;
}

static bool accept_word(struct template *t, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

static struct json take_text(struct template *t, bool has_length)
{
    int n = !has_length ? 0 : t->is_check ? 1 : va_arg(t->args, int);
    const char *p = t->is_check ? "x" : va_arg(t->args, const char *);
    if (has_length)
        return json_str((str){p, n > 0 ? (size_t)n : 0});
    return p ? json_str(str_of(p)) : json_null();
}

/* The value of an integer after its length modifiers: d or u. */
static struct json take_int(struct template *t, bool is_wide)
{
    bool is_signed = *t->at == 'd';
    if (*t->at++ != 'u' && !is_signed) {
        t->at--;
        fail_template(t, "unknown placeholder");
    }
    if (t->is_check || t->why)
        return json_int(1);
    if (is_signed)
        return json_int(is_wide ? va_arg(t->args, int64_t) : va_arg(t->args, int));
    return json_uint(is_wide ? va_arg(t->args, uint64_t) : va_arg(t->args, unsigned));
}
_Static_assert(sizeof(long) == sizeof(int64_t) && sizeof(long long) == sizeof(int64_t) &&
                   sizeof(size_t) == sizeof(uint64_t),
               "l, ll and z mean the same");

/* The value of the placeholder after its percent sign. */
static struct json parse_placeholder(struct template *t)
{
    switch (*t->at++) {
    case '.':
        if (accept_word(t, "*s"))
            return take_text(t, true);
        break;
    case 's':
        return take_text(t, false);
    case 'p': {
        /* Here and below: without arguments (is_check) none is taken, which the analyzer does not see. */
        const struct json *v = NULL;
        if (!t->is_check)
            v = va_arg(t->args, const struct json *); /* NOLINT(clang-analyzer-valist.Uninitialized) */
        return v ? *v : json_null();
    }
    case 'c':
        return json_bool(t->is_check || va_arg(t->args, int)); /* NOLINT(clang-analyzer-valist.Uninitialized) */
    case 'g':
        return json_real(t->is_check ? 1 : va_arg(t->args, double)); /* NOLINT(clang-analyzer-valist.Uninitialized) */
    case 'l':
        t->at += *t->at == 'l';
        return take_int(t, true);
    case 'z':
        return take_int(t, true);
    default:
        t->at--;
        return take_int(t, false);
    }
    t->at--;
    fail_template(t, "unknown placeholder");
    return json_null();
}

static void add_placeholder(struct template *t, struct buf *b)
{
    struct json v = parse_placeholder(t);
    if (json_is_str(&v))
        buf_add_str(b, json_text(&v));
    else if (json_is_num(&v))
        json_encode_number(b, &v);
    else
        fail_template(t, "only text and numbers fit into quotes");
}

/* Text after its opening quote: a view of the template, or, with placeholders or escapes, a text in the arena. */
static str parse_text(struct template *t)
{
    const char *start = t->at;
    while (*t->at && *t->at != '\'' && *t->at != '\\' && *t->at != '%')
        t->at++;
    if (*t->at == '\'')
        return (str){start, (size_t)(t->at++ - start)};
    struct buf b = {.arena = t->a};
    buf_add(&b, start, (size_t)(t->at - start));
    while (*t->at && *t->at != '\'') {
        char c = *t->at++;
        if (c == '%' && *t->at != '%') {
            add_placeholder(t, &b);
        } else if (c != '\\' && c != '%') {
            buf_add_char(&b, c);
        } else if (*t->at && strchr(c == '%' ? "%" : "'\\n", *t->at)) {
            c = *t->at++;
            buf_add_char(&b, c == 'n' ? '\n' : c);
        } else {
            fail_template(t, "unknown escape");
        }
    }
    if (!accept_char(t, '\''))
        fail_template(t, "unterminated text");
    return buf_str(&b);
}

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '-' && c <= '9') || c == '_' ||
           c == '$'; /* - . / 0-9 */
}

static str parse_key(struct template *t)
{
    if (accept_char(t, '\''))
        return parse_text(t);
    if (accept_char(t, '%')) {
        struct json v = parse_placeholder(t);
        if (!json_is_str(&v))
            fail_template(t, "a key must be text");
        return json_text(&v);
    }
    const char *start = t->at;
    while (is_key_char(*t->at))
        t->at++;
    if (t->at == start)
        fail_template(t, "expected a key");
    return (str){start, (size_t)(t->at - start)};
}

/* As omitempty in Go. */
static bool is_empty(const struct json *v)
{
    switch (json_type(v)) {
    case JSON_BOOL:
        return !v->b;
    case JSON_INT:
    case JSON_UINT:
    case JSON_REAL:
        return json_to_real(v) == 0;
    default:
        return v->n == 0;
    }
}

static struct json parse_object(struct template *t)
{
    struct json obj = json_obj();
    if (accept_char(t, '}'))
        return obj;
    do {
        str key = parse_key(t);
        bool may_omit = accept_char(t, '?');
        if (!accept_char(t, ':'))
            fail_template(t, "expected \":\"");
        struct json v = parse_value(t);
        if (!may_omit || !is_empty(&v))
            json_set(t->a, &obj, key, v);
    } while (accept_char(t, ','));
    if (!accept_char(t, '}'))
        fail_template(t, "expected \",\" or \"}\"");
    return obj;
}

static struct json parse_array(struct template *t)
{
    struct json arr = json_arr();
    if (accept_char(t, ']'))
        return arr;
    do
        json_push(t->a, &arr, parse_value(t));
    while (accept_char(t, ','));
    if (!accept_char(t, ']'))
        fail_template(t, "expected \",\" or \"]\"");
    return arr;
}

static struct json parse_number(struct template *t)
{
    const char *start = t->at;
    int64_t i = 0;
    while (*t->at == '-' || (*t->at >= '0' && *t->at <= '9'))
        t->at++;
    if (!str_to_int64((str){start, (size_t)(t->at - start)}, &i)) {
        t->at = start;
        fail_template(t, "expected a value");
    }
    return json_int(i);
}

static struct json parse_value(struct template *t)
{
    skip_blanks(t);
    switch (*t->at++) {
    case '{':
        return parse_object(t);
    case '[':
        return parse_array(t);
    case '\'':
        return json_str(parse_text(t));
    case '%':
        return parse_placeholder(t);
    default:
        t->at--;
    }
    if (accept_word(t, "true"))
        return json_bool(true);
    if (accept_word(t, "false"))
        return json_bool(false);
    if (accept_word(t, "null"))
        return json_null();
    return parse_number(t);
}

static struct json parse_template(struct template *t)
{
    struct json v = parse_value(t);
    skip_blanks(t);
    if (*t->at)
        fail_template(t, "expected the end");
    return v;
}

struct json json_build(struct arena *a, const char *template, ...)
{
    struct template t = {.a = a, .text = template, .at = template};
    va_start(t.args, template);
    struct json v = parse_template(&t);
    va_end(t.args);
    if (t.why) { /* an assertion that names the place */
        (void)fprintf(stderr, "json_build: %s at byte %zu of template %s\n", t.why, t.bad, template);
        abort();
    }
    return v;
}

const char *json_template_check(const char *template, size_t *ret_at)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct template t = {.a = &scratch, .text = template, .at = template, .is_check = true};
    parse_template(&t);
    *ret_at = t.bad;
    return t.why;
}
