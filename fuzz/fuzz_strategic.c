/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A built-in kind in the first line, a document in the second, strategic merge patches in the others, each applied to what
 * the last one left. No directive of a patch may reach the result, no input may change, and an error says something.
 */
#include "kinds/builtin.h"
#include "patch/strategic.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_directive(const struct json *v)
{
    json_each_item(v, it)
    {
        if (has_directive(it))
            return true;
    }
    json_each_member(v, m)
    {
        str key = json_key(m);
        if (str_eq(key, S("$patch")) || str_eq(key, S("$retainKeys")) || str_has_prefix(key, S("$setElementOrder")) ||
            str_has_prefix(key, S("$deleteFromPrimitiveList")) || has_directive(&m->val))
            return true;
    }
    return false;
}

static str text_of(struct arena *a, const struct json *v)
{
    struct buf b = {.arena = a};
    json_encode(&b, v, 0);
    return buf_str(&b);
}

static struct json patch_once(struct arena *a, const struct shape *shape, const struct json *doc, str line)
{
    struct json patch, next;
    struct err err;
    if (json_decode(a, line, NULL, NULL, &patch, &err) < 0)
        return *doc;
    str doc_text = text_of(a, doc), patch_text = text_of(a, &patch);
    int rc = strategic_patch(a, shape, doc, &patch, &next, &err);
    assert(str_eq(text_of(a, doc), doc_text) && str_eq(text_of(a, &patch), patch_text));
    if (rc < 0) {
        assert(err.msg[0]);
        return *doc;
    }
    assert(json_is_obj(&next) && (has_directive(doc) || !has_directive(&next)));
    return next;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_SCOPE = {0};
    str rest = {(const char *)data, size}, line, version, kind;
    struct json doc;
    struct err err;
    str_cut(rest, '\n', &line, &rest);
    str_cut(line, ' ', &version, &kind);
    const struct kind *k = kind_builtin_by_body(version, kind);
    str_cut(rest, '\n', &line, &rest);
    if (!k || json_decode(&arena, line, NULL, NULL, &doc, &err) < 0)
        return 0;
    while (rest.n) {
        str_cut(rest, '\n', &line, &rest);
        doc = patch_once(&arena, k->shape, &doc, line);
    }
    return 0;
}
