/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given KIND in API-VERSION: a JSON body.
 * expect: the object as it is kept, keys sorted; expect notes: what strict decoding says, one per line;
 * expect error: why it is refused.
 */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "kinds/strict.h"

struct outcome {
    struct json obj;
    struct strict_notes notes;
    struct err err;
};

static int decode(struct arena *a, const struct case_section *given, struct outcome *out)
{
    str kind, rest, in, version;
    str_cut(given->args, ' ', &kind, &rest);
    str_cut(rest, ' ', &in, &version);
    const struct kind *k = kind_builtin_by_body(str_trim(version), kind);
    if (!k)
        return err_set(&out->err, ERR_BAD_REQUEST, "no such kind");
    struct json_notes duplicates = {0};
    if (json_decode(a, given->text, NULL, &duplicates, &out->obj, &out->err) < 0)
        return out->err.code;
    return strict_decode(a, k->shape, &out->obj, &duplicates, &out->notes, &out->err);
}

static str show(struct arena *a, const struct case_section *expect, const struct outcome *out)
{
    struct buf b = {.arena = a};
    if (out->err.code) {
        buf_fmt(&b, "%s%s", case_has_arg(expect, S("error")) ? "" : "error: ", out->err.msg);
    } else if (case_has_arg(expect, S("notes"))) {
        vec_each(&out->notes.list, note) buf_fmt(&b, "%.*s\n", STR(*note));
    } else {
        json_encode(&b, &out->obj, JSON_SORTED | JSON_PRETTY);
    }
    return buf_str(&b);
}

static void run(struct case_file *c)
{
    struct outcome out = {0};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("given"))) {
            out = (struct outcome){0};
            decode(c->arena, s, &out);
        } else if (str_eq(s->name, S("expect"))) {
            case_expect(c, s, show(c->arena, s, &out));
        } else {
            case_fail(c, s, "unknown section");
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
