/* SPDX-License-Identifier: Apache-2.0 */
#include "object/conditions.h"
#include "object/kinds/columns.h"

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
    const struct json *containers = json_dig(obj, "spec.template.spec.containers");
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
