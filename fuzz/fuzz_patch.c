/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document in the first line, a patch in the others: a list is a JSON patch, anything else a merge patch. Neither may
 * change its input. A merge patch applied twice is as one applied once. A JSON patch that succeeds gives a document that
 * could have come from outside, and what "replace" put somewhere is found there.
 */
#include "patch/json_patch.h"
#include "same.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_json(struct arena *a, str text, struct json *ret)
{
    struct err err;
    return json_decode(a, text, NULL, NULL, ret, &err) == 0;
}

static void check_depth(struct arena *a, const struct json *v)
{
    struct buf text = {.arena = a};
    struct json again;
    struct err err;
    struct json_limits limits = {.bytes = (size_t)1 << 30};
    json_encode(&text, v, 0);
    int r = json_decode(a, buf_str(&text), &limits, NULL, &again, &err);
    assert(r == 0 && same_as_printed(v, &again));
}

static void check_merge(struct arena *a, const struct json *doc, const struct json *patch)
{
    struct json once = json_merge_patch(a, doc, patch), twice = json_merge_patch(a, &once, patch);
    assert(json_equal(&once, &twice));
    check_depth(a, &once);
    json_each_member(patch, m) assert(json_is_null(json_get(&once, json_key(m))) == json_is_null(&m->val));
}

/* What was put somewhere is found by the same pointer. */
static void check_replace(struct arena *a, const struct json *doc, const struct json *op)
{
    struct json patch = json_arr(), result;
    struct err err;
    str path = json_get_text(op, S("path"));
    if (!str_eq(json_get_text(op, S("op")), S("replace")) || !json_is_str(json_get(op, S("path"))))
        return;
    json_push(a, &patch, *op);
    if (json_patch(a, doc, &patch, &result, &err) == 0)
        assert(json_equal(json_pointer_get(&result, path), json_get(op, S("value"))));
}

static void check_patch(struct arena *a, const struct json *doc, const struct json *patch)
{
    struct json result;
    struct err err;
    if (json_patch(a, doc, patch, &result, &err) == 0) {
        check_depth(a, &result);
    } else {
        assert(err.code == ERR_BAD_REQUEST || err.code == ERR_INVALID || err.code == ERR_TOO_LARGE);
        assert(err.msg[0] && str_is_utf8(str_of(err.msg)));
    }
    json_each_item(patch, op) check_replace(a, doc, op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct json doc, patch;
    str first, rest;
    if (!str_cut((str){(const char *)data, size}, '\n', &first, &rest))
        return 0;
    (void)json_pointer_get(&(struct json){.type = JSON_OBJ}, rest);
    if (!read_json(&a, first, &doc) || !read_json(&a, rest, &patch))
        return 0;
    struct json doc_before = json_dup(&a, &doc), patch_before = json_dup(&a, &patch);
    if (json_is_arr(&patch))
        check_patch(&a, &doc, &patch);
    else
        check_merge(&a, &doc, &patch);
    assert(json_equal(&doc, &doc_before) && json_equal(&patch, &patch_before));
    return 0;
}
