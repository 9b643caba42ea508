/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "PATH\n" and then a JSON document. Every hit must be a part of the document, and the first of them the first.
 */
#include "json/jsonpath.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const struct json *v)
{
    size_t n = 1;
    json_each_item(v, item)
    {
        n += count(item);
    }
    json_each_member(v, m)
    {
        n += count(&m->val);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    str text, rest;
    struct json doc;
    struct err err;
    const struct jsonpath *path;
    jsonpath_hits hits = {0};
    if (!str_cut((str){(const char *)data, size}, '\n', &text, &rest) ||
        json_decode(&a, rest, NULL, NULL, &doc, &err) < 0)
        return 0;
    if (jsonpath_compile(&a, text, &path, &err) < 0)
        return 0;
    bool found = jsonpath_find(&a, path, &doc, &hits);
    assert(hits.n <= count(&doc));
    assert(jsonpath_first(&a, path, &doc) == (found && hits.n ? hits.p[0] : NULL));
    return 0;
}
