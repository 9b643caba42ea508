/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A selector and something to match it with, parted by an empty line. The first byte says what the selector is:
 * L a label selector as text, O a LabelSelector as JSON, F a field selector.
 * What can be read must print as something that reads as the same selector; matching must agree with a naive look.
 */
#include "kinds/builtin.h"
#include "object/selector.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static str printed(struct arena *a, const struct selector *s)
{
    struct buf b = {.arena = a};
    selector_format(&b, s);
    return buf_str(&b);
}

static str fields_printed(struct arena *a, const struct field_selector *s)
{
    struct buf b = {.arena = a};
    field_selector_format(&b, s);
    return buf_str(&b);
}

/* What a term means, said another way. */
static bool naive(const struct selector_term *t, const struct json *labels)
{
    const struct json *label = json_get(labels, t->key);
    bool found = false, is_number;
    int64_t number = 0;
    for (size_t i = 0; label && i < t->n; i++)
        found = found || str_eq(t->values[i], json_text(label));
    is_number = label && str_to_int64(json_text(label), &number);
    switch (t->op) {
    case SELECTOR_IN:
    case SELECTOR_EQUALS:
    case SELECTOR_DOUBLE_EQUALS:
        return found;
    case SELECTOR_NOT_IN:
    case SELECTOR_NOT_EQUALS:
        return !found;
    case SELECTOR_EXISTS:
        return label != NULL;
    case SELECTOR_ABSENT:
        return label == NULL;
    case SELECTOR_GREATER:
        return is_number && number > t->number;
    case SELECTOR_LESS:
        return is_number && number < t->number;
    }
    return false;
}

static void check_labels(struct arena *a, const struct selector *s, bool from_text, const struct json *labels)
{
    struct selector again;
    struct err err;
    str text = printed(a, s);
    bool all = !s->nothing;
    for (size_t i = 0; i < s->n; i++) {
        assert(i == 0 || str_cmp(s->terms[i - 1].key, s->terms[i].key) <= 0);
        assert(selector_term_matches(&s->terms[i], labels) == naive(&s->terms[i], labels));
        all = all && naive(&s->terms[i], labels);
    }
    assert(selector_matches(s, labels) == all);
    if (s->nothing)
        return;
    assert(selector_parse(a, text, &again, &err) == 0);
    assert(str_eq(printed(a, &again), text) || !from_text); /* an object may say a value twice */
    assert(again.n == s->n && selector_is_everything(&again) == selector_is_everything(s));
    assert(selector_matches(&again, labels) == all);
}

static void check_fields(struct arena *a, str text, const struct json *object)
{
    struct field_selector s, second, third;
    struct err err;
    if (field_selector_parse(a, text, &s, &err) < 0)
        return;
    bool matches = field_selector_matches_object(&s, object);
    str once = fields_printed(a, &s);
    assert(field_selector_parse(a, once, &second, &err) == 0);
    assert(second.n == s.n && field_selector_matches_object(&second, object) == matches);
    /* Terms are sorted as they were written, so printing settles only the second time. */
    str twice = fields_printed(a, &second);
    assert(field_selector_parse(a, twice, &third, &err) == 0);
    assert(str_eq(fields_printed(a, &third), twice));
    for (size_t i = 0; i < kind_builtin_count(); i++)
        (void)field_selector_check(&s, kind_builtin(i), &err);
}

static void check_object(struct arena *a, str text, const struct json *labels)
{
    struct field_errors errs = {.arena = a};
    struct selector s;
    struct json object;
    struct err err;
    if (json_decode(a, text, NULL, NULL, &object, &err) < 0)
        return;
    selector_validate(&errs, S("selector"), &object);
    int rc = selector_from_object(a, &object, &s, &err);
    assert((rc == 0) == (errs.list.n == 0)); /* what is valid can be used, and nothing else can */
    if (rc < 0)
        return;
    check_labels(a, &s, false, labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    str input = {(const char *)data, size};
    struct selector s;
    struct json match = json_null();
    struct err err;
    if (size < 2 || size > 100000)
        return 0;
    char what = input.p[0];
    input = str_from(input, 1);
    ptrdiff_t gap = str_find(input, S("\n\n"));
    str text = gap < 0 ? input : str_upto(input, (size_t)gap);
    if (gap >= 0 && json_decode(&a, str_from(input, (size_t)gap + 2), NULL, NULL, &match, &err) < 0)
        match = json_null();
    if (what == 'F')
        check_fields(&a, text, &match);
    else if (what == 'O')
        check_object(&a, text, &match);
    else if (selector_parse(&a, text, &s, &err) == 0)
        check_labels(&a, &s, true, &match);
    return 0;
}
