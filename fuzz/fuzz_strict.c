/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON body of any built-in kind: "KIND API-VERSION\n" and then JSON.
 * What decodes must decode again to the same object, with nothing left to say about it.
 */
#include "kinds/builtin.h"
#include "kinds/strict.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    str head, kind, version, text;
    if (!str_cut((str){(const char *)data, size}, '\n', &head, &text) || !str_cut(head, ' ', &kind, &version))
        return 0;
    const struct kind *k = kind_builtin_by_body(version, kind);
    struct json obj;
    struct json_notes duplicates = {0};
    struct strict_notes notes = {0}, again = {0};
    struct err err;
    if (!k || json_decode(&a, text, NULL, &duplicates, &obj, &err) < 0 || !json_is_obj(&obj))
        return 0;
    if (strict_decode(&a, k->shape, &obj, &duplicates, &notes, &err) < 0) {
        assert(err.msg[0]);
        return 0;
    }
    assert(notes.list.n <= STRICT_MAX_NOTES);
    struct json before = json_dup(&a, &obj);
    assert(strict_decode(&a, k->shape, &obj, NULL, &again, &err) == 0);
    assert(again.list.n == 0);
    assert(json_equal(&before, &obj));
    return 0;
}
