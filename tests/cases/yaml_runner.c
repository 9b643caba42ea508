/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of yaml.h. A round is "given", "when", and "expect" (or "expect error"):
 *
 *     when decode [lenient] [bytes=N] [depth=N]    YAML in, JSON with sorted keys out; lenient: the last duplicate counts
 *     when documents                               a stream, one line of JSON for each document
 *     when duplicates                              paths of members that came twice, one per line
 *     when encode                                  JSON in, YAML out; it must read back as the same value
 *
 * The text of "given" ends with a line break, unless it is made as cases/bytes.h says. */
#include "base/err.h"
#include "cases/bytes.h"
#include "json/yaml.h"

static struct json_limits limits_of(const struct case_section *when)
{
    uint64_t bytes = 0, depth = 0;
    str_to_uint64(case_arg(when, S("bytes")), &bytes);
    str_to_uint64(case_arg(when, S("depth")), &depth);
    return (struct json_limits){.bytes = bytes, .depth = (uint32_t)depth};
}

/* A list that is printed item by item is the same text. */
static void check_item(struct case_file *c, const struct case_section *at, const struct json *v)
{
    struct buf whole = {.arena = c->arena}, parts = {.arena = c->arena};
    struct json list = json_obj_sized(c->arena, 1), items = json_arr();
    for (size_t i = 0; i < 2; i++)
        json_push(c->arena, &items, *v);
    json_add(c->arena, &list, S("items"), items);
    yaml_encode(&whole, &list);
    buf_add_str(&parts, S("items:\n"));
    for (size_t i = 0; i < 2; i++)
        yaml_encode_item(&parts, v);
    if (!str_eq(buf_str(&whole), buf_str(&parts)))
        case_fail(c, at, "as items of a list: %.*s", STR(buf_str(&parts)));
}

static int encode(struct case_file *c, const struct case_section *at, str text, struct buf *out, struct err *err)
{
    struct json v, again;
    int r = json_decode(c->arena, text, NULL, NULL, &v, err);
    if (r < 0)
        return r;
    yaml_encode(out, &v);
    if (yaml_decode(c->arena, buf_str(out), NULL, NULL, &again, err) < 0)
        case_fail(c, at, "does not read back: %s", err->msg);
    else if (!json_equal(&v, &again))
        case_fail(c, at, "reads back as another value");
    check_item(c, at, &v);
    return 0;
}

static int documents(struct case_file *c, const struct case_section *when, str text, struct buf *out, struct err *err)
{
    struct json_limits limits = limits_of(when);
    json_vec all = {0};
    int r = yaml_decode_all(c->arena, text, &limits, &all, err);
    if (r < 0)
        return r;
    vec_each(&all, v)
    {
        json_encode(out, v, JSON_SORTED);
        buf_add_char(out, '\n');
    }
    return 0;
}

static int decode(struct case_file *c, const struct case_section *when, str text, struct buf *out, struct err *err)
{
    struct json_limits limits = limits_of(when);
    struct json_notes notes = {0};
    struct json v;
    bool paths = case_has_arg(when, S("duplicates")), lenient = paths || case_has_arg(when, S("lenient"));
    int r = yaml_decode(c->arena, text, &limits, lenient ? &notes : NULL, &v, err);
    if (r < 0)
        return r;
    if (!paths)
        json_encode(out, &v, JSON_SORTED);
    vec_each(&notes.duplicates, it)
    {
        if (paths)
            buf_fmt(out, "%.*s\n", STR(*it));
    }
    return 0;
}

static void run_round(struct case_file *c, const struct case_section *given, const struct case_section *when,
                      const struct case_section *expect)
{
    str text = given->args.n ? case_bytes(c, given) : str_fmt(c->arena, "%.*s\n", STR(given->text));
    struct buf out = {.arena = c->arena};
    struct err err = {0};
    int r = case_has_arg(when, S("encode"))      ? encode(c, when, text, &out, &err)
            : case_has_arg(when, S("documents")) ? documents(c, when, text, &out, &err)
                                                 : decode(c, when, text, &out, &err);
    if ((r < 0) != case_has_arg(expect, S("error")))
        case_fail(c, when, r < 0 ? "failed: %s" : "did not fail%s", err.msg);
    else
        case_expect(c, expect, r < 0 ? case_error(c, &err) : buf_str(&out));
}

static void run(struct case_file *c)
{
    vec_each(&c->sections, s)
    {
        size_t left = (size_t)(c->sections.p + c->sections.n - s);
        if (!str_eq(s->name, S("given")))
            continue;
        if (left < 3 || !str_eq(s[1].name, S("when")) || !str_eq(s[2].name, S("expect")))
            case_fail(c, s, "a round is given, when, expect");
        else
            run_round(c, s, s + 1, s + 2);
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
