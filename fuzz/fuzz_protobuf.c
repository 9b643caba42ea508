/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body of any built-in kind. The first byte picks the kind, the rest is its message; a body that starts with the
 * envelope's magic is opened instead. Seeds are text: "hex" and then hexadecimal digits ("#" starts a comment).
 * What decodes must hold only fields of the table, of the right types, and survive a trip through JSON text.
 */
#include "kinds/builtin.h"
#include "kinds/strict.h"
#include "json/proto.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static str unhex(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] == '#')
            while (i < text.n && text.p[i] != '\n')
                i++;
        else if (digit(text.p[i]) >= 0 && digit(text.p[i + 1]) >= 0) {
            buf_add_char(&b, (char)(digit(text.p[i]) << 4 | digit(text.p[i + 1])));
            i++;
        }
    }
    return buf_str(&b);
}

static void check(struct arena *a, const struct kind *k, struct json *obj)
{
    struct buf text = {.arena = a};
    struct json again;
    struct err err;
    struct json_limits roomy = {.bytes = 64 << 20};
    json_encode(&text, obj, 0);
    assert(json_decode(a, buf_str(&text), &roomy, NULL, &again, &err) == 0);
    assert(json_equal(obj, &again));

    struct strict_notes notes = {0};
    int rc = strict_decode(a, k->shape, &again, NULL, &notes, &err);
    assert(notes.list.n == 0);
    assert(rc == 0 || strstr(err.msg, "quantit")); /* only amounts are not read by the decoder */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct err err;
    struct json obj;
    str in = {(const char *)data, size};
    if (str_has_prefix(in, S("hex")))
        in = unhex(&a, str_from(in, 3));
    const struct kind *k;
    struct proto_envelope env = {0};
    if (proto_is_envelope(in)) {
        if (proto_open(in, NULL, &env, &err) < 0)
            return 0;
        k = kind_builtin_by_body(env.api_version, env.kind);
    } else {
        k = in.n ? kind_builtin((unsigned char)in.p[0] % kind_builtin_count()) : NULL;
        env.raw = str_from(in, 1);
    }
    if (k && proto_decode(&a, k->shape, env.raw, NULL, &obj, &err) == 0)
        check(&a, k, &obj);
    return 0;
}
