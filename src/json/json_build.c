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

static bool accept_char(struct template *t, char c)
{
    t->at += strspn(t->at, " \n");
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

/* The value of the placeholder after its percent sign. Conversions that take the same argument share a row. */
static struct json parse_placeholder(struct template *t)
{
    if (accept_word(t, ".*s")) {
        int n = t->is_check ? 1 : va_arg(t->args, int);
        const char *p = t->is_check ? "x" : va_arg(t->args, const char *);
        return json_str((str){p, n > 0 ? (size_t)n : 0});
    }
    if (accept_word(t, "s")) {
        const char *s = t->is_check ? "x" : va_arg(t->args, const char *);
        return s ? json_str(str_of(s)) : json_null();
    }
    if (accept_word(t, "p")) {
        const struct json *v = t->is_check ? NULL : va_arg(t->args, const struct json *);
        return v ? *v : json_null();
    }
    if (accept_word(t, "c"))
        return json_bool(t->is_check || va_arg(t->args, int));
    if (accept_word(t, "d"))
        return json_int(t->is_check ? 1 : va_arg(t->args, int));
    if (accept_word(t, "u"))
        return json_uint(t->is_check ? 1 : va_arg(t->args, unsigned));
    if (accept_word(t, "ld") || accept_word(t, "lld") || accept_word(t, "zd"))
        return json_int(t->is_check ? 1 : va_arg(t->args, int64_t));
    if (accept_word(t, "lu") || accept_word(t, "llu") || accept_word(t, "zu"))
        return json_uint(t->is_check ? 1 : va_arg(t->args, uint64_t));
    if (accept_word(t, "g"))
        return json_real(t->is_check ? 1 : va_arg(t->args, double));
    fail_template(t, "unknown placeholder");
    return json_null();
}
_Static_assert(sizeof(long) == sizeof(int64_t) && sizeof(long long) == sizeof(int64_t) &&
                   sizeof(size_t) == sizeof(uint64_t),
               "%ld, %lld and %zd take the same argument");

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
    t->at += strcspn(t->at, "'\\%");
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
    size_t n = strspn(t->at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./$");
    if (n == 0)
        fail_template(t, "expected a key");
    t->at += n;
    return (str){t->at - n, n};
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

static struct json parse_value(struct template *t)
{
    if (accept_char(t, '{'))
        return parse_object(t);
    if (accept_char(t, '['))
        return parse_array(t);
    if (accept_char(t, '\''))
        return json_str(parse_text(t));
    if (accept_char(t, '%'))
        return parse_placeholder(t);
    if (accept_word(t, "true"))
        return json_bool(true);
    if (accept_word(t, "false"))
        return json_bool(false);
    if (accept_word(t, "null"))
        return json_null();
    size_t n = strspn(t->at, "-0123456789");
    int64_t i = 0;
    if (str_to_int64((str){t->at, n}, &i))
        t->at += n;
    else
        fail_template(t, "expected a value");
    return json_int(i);
}

static struct json parse_template(struct template *t)
{
    struct json v = parse_value(t);
    t->at += strspn(t->at, " \n");
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
