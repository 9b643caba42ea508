/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns_internal.h"
#include "object/conditions.h"
#include "object/selector.h"

#include <stdlib.h>

struct json column_creation_age(struct arena *a, const struct json *obj, int64_t now)
{
    return json_str(column_age(a, column_text(obj, "metadata.creationTimestamp"), now));
}

int64_t column_int(const struct json *obj, const char *path)
{
    int64_t i = 0;
    json_to_int(json_dig(obj, path), &i);
    return i;
}

str column_text(const struct json *obj, const char *path)
{
    return json_text(json_dig(obj, path));
}

void column_join(struct buf *b, str piece, const char *separator)
{
    if (b->n)
        buf_add_str(b, str_of(separator));
    buf_add_str(b, piece);
}

bool column_condition_is_true(const struct json *conditions, str type)
{
    return str_eq(json_get_text(condition_find(conditions, type), S("status")), S("True"));
}

/* One text of each container of the template, commas between. */
static struct json of_template(struct arena *a, const struct json *obj, str key)
{
    struct buf b = {.arena = a};
    const struct json *template = json_dig(obj, "spec.template");
    if (template == NULL)
        template = json_get(obj, S("template")); /* of a PodTemplate */
    const struct json *containers = json_dig(template, "spec.containers");
    json_each_item(containers, c)
    {
        if (c != containers->items)
            buf_add_char(&b, ',');
        buf_add_str(&b, json_get_text(c, key));
    }
    return json_str(buf_str(&b));
}

struct json column_template_names(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return of_template(a, obj, S("name"));
}

struct json column_template_images(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return of_template(a, obj, S("image"));
}

struct json column_selector(struct arena *a, const struct json *selector, const char *invalid, const char *empty)
{
    struct selector s;
    struct err ignored;
    struct buf b = {.arena = a};
    if (selector_from_object(a, selector, &s, &ignored) < 0)
        return json_str(str_of(invalid));
    selector_format(&b, &s);
    return json_str(b.n ? buf_str(&b) : str_of(empty));
}

static int by_key(const void *l, const void *r)
{
    return str_cmp(json_key(l), json_key(r));
}

str column_labels(struct arena *a, const struct json *labels)
{
    struct buf b = {.arena = a};
    struct json sorted = json_is_obj(labels) ? json_dup_top(a, labels) : json_obj();
    if (sorted.n)
        qsort(sorted.members, sorted.n, sizeof *sorted.members, by_key);
    json_each_member(&sorted, m)
        column_join(&b, str_fmt(a, "%.*s=%.*s", STR(json_key(m)), STR(json_text(&m->val))), ",");
    return b.n ? buf_str(&b) : S("<none>");
}
