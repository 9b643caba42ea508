/* SPDX-License-Identifier: Apache-2.0 */
#include "json/wire.h"

static bool broken(struct wire *w, const char *why)
{
    w->error = why;
    return false;
}

bool wire_varint(struct wire *w, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 10; i++) {
        if (i >= w->rest.n)
            return broken(w, "it ends in the middle of a number");
        unsigned char c = (unsigned char)w->rest.p[i];
        v |= (uint64_t)(c & 127) << (7 * i);
        if (c < 128) {
            if (i == 9 && c > 1)
                break;
            w->rest = str_from(w->rest, i + 1);
            *ret = v;
            return true;
        }
    }
    return broken(w, "a number has more than 64 bits");
}

static bool take(struct wire *w, uint64_t n, str *ret)
{
    if (n > w->rest.n)
        return broken(w, "a field is longer than what is left");
    *ret = str_upto(w->rest, (size_t)n);
    w->rest = str_from(w->rest, (size_t)n);
    return true;
}

static bool fixed(struct wire *w, unsigned n, uint64_t *ret)
{
    str bytes;
    if (!take(w, n, &bytes))
        return false;
    *ret = 0;
    for (unsigned i = 0; i < n; i++)
        *ret |= (uint64_t)(unsigned char)bytes.p[i] << (8 * i);
    return true;
}

/* Everything but groups. */
static bool plain(struct wire *w, struct wire_field *ret)
{
    uint64_t tag, n;
    if (!wire_varint(w, &tag))
        return false;
    *ret = (struct wire_field){.number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7)};
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return broken(w, "a field has an impossible number");
    switch (ret->type) {
    case WIRE_VARINT:
        return wire_varint(w, &ret->value);
    case WIRE_FIXED64:
        return fixed(w, 8, &ret->value);
    case WIRE_FIXED32:
        return fixed(w, 4, &ret->value);
    case WIRE_BYTES:
        return wire_varint(w, &n) && take(w, n, &ret->bytes);
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        return true;
    default:
        return broken(w, "a field has an unknown wire type");
    }
}

/* No message of Kubernetes has groups: whatever is inside, nested groups too, is passed over. */
static bool skip_group(struct wire *w)
{
    struct wire_field f;
    for (size_t open = 1; open > 0;) {
        if (w->rest.n == 0)
            return broken(w, "it ends inside a group");
        if (!plain(w, &f))
            return false;
        open = f.type == WIRE_GROUP ? open + 1 : f.type == WIRE_GROUP_END ? open - 1 : open;
    }
    return true;
}

enum wire_step wire_next(struct wire *w, struct wire_field *ret)
{
    if (w->rest.n == 0)
        return WIRE_END;
    if (!plain(w, ret))
        return WIRE_BROKEN;
    if (ret->type == WIRE_GROUP_END && !broken(w, "a group ends that never began"))
        return WIRE_BROKEN;
    if (ret->type == WIRE_GROUP && !skip_group(w))
        return WIRE_BROKEN;
    return WIRE_FIELD;
}
