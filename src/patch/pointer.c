/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/pointer.h"
#include "patch/json_patch.h"

bool pointer_is_valid(str pointer)
{
    return pointer.n == 0 || pointer.p[0] == '/';
}

/* One pass, so that ~01 is ~1 and not /. Any other ~ stands for itself, as in the API server. */
static str unescape(struct arena *a, str token)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < token.n; i++) {
        char next = token.p[i] == '~' && i + 1 < token.n ? token.p[i + 1] : 0;
        bool escape = next == '0' || next == '1';
        buf_add_char(&b, !escape ? token.p[i] : next == '1' ? '/' : '~');
        i += escape;
    }
    return buf_str(&b);
}

bool pointer_take(struct arena *a, str *pointer, str *ret_token)
{
    if (pointer->n == 0)
        return false;
    str rest = str_from(*pointer, 1);
    ptrdiff_t end = str_find_char(rest, '/');
    str token = end < 0 ? rest : str_upto(rest, (size_t)end);
    *pointer = str_from(rest, token.n);
    *ret_token = str_find_char(token, '~') < 0 ? token : unescape(a, token);
    return true;
}

bool pointer_index(str token, size_t n, size_t *ret)
{
    int64_t i;
    if (!str_to_int64(token, &i) || i < -(int64_t)n || i >= (int64_t)n)
        return false;
    *ret = (size_t)(i < 0 ? i + (int64_t)n : i);
    return true;
}

static const struct json *step(const struct json *v, str token)
{
    size_t i;
    if (json_is_arr(v))
        return pointer_index(token, v->n, &i) ? &v->items[i] : NULL;
    return json_get(v, token);
}

const struct json *json_pointer_get(const struct json *doc, str pointer)
{
    struct arena scratch ARENA_SCOPE = {0};
    str token;
    if (!pointer_is_valid(pointer))
        return NULL;
    while (doc && pointer_take(&scratch, &pointer, &token))
        doc = step(doc, token);
    return doc;
}
