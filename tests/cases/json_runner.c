/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of json.h. A round is one or two "given" texts, "when", and "expect" (or "expect error"):
 *
 *     when decode [sorted] [pretty] [bytes=N] [depth=N]    the value, printed again
 *     when duplicates                                      paths of members that came twice, one per line
 *     when compare                                         < = > of two values; = means equal
 *     when sort                                            the items of a list in the order of json_compare
 *     when type | int                                      the name of the type | the value as an integer, or "none" */
#include "base/err.h"
#include "cases/bytes.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdlib.h>

static int decode(struct case_file *c, const struct case_section *given, const struct case_section *when,
                  struct json_notes *notes, struct json *ret, struct err *err)
{
    uint64_t bytes = 0, depth = 0;
    str_to_uint64(case_arg(when, S("bytes")), &bytes);
    str_to_uint64(case_arg(when, S("depth")), &depth);
    struct json_limits limits = {.bytes = bytes, .depth = (uint32_t)depth};
    return json_decode(c->arena, case_bytes(c, given), &limits, notes, ret, err);
}

static str sign_of(struct case_file *c, const struct case_section *at, const struct json *a, const struct json *b)
{
    int order = json_compare(a, b), back = json_compare(b, a);
    if ((order > 0) != (back < 0) || (order == 0) != json_equal(a, b) || json_equal(a, b) != json_equal(b, a))
        case_fail(c, at, "json_compare and json_equal do not agree");
    return order < 0 ? S("<") : order > 0 ? S(">") : S("=");
}

static int by_order(const void *a, const void *b)
{
    return json_compare(a, b);
}

static void print(struct buf *b, struct json *v, const struct case_section *when)
{
    int64_t i;
    if (case_has_arg(when, S("type"))) {
        buf_fmt(b, "%s", json_type_name(v));
    } else if (case_has_arg(when, S("int"))) {
        if (json_to_int(v, &i))
            buf_fmt(b, "%" PRId64, i);
        else
            buf_fmt(b, "none");
    } else {
        if (case_has_arg(when, S("sort")) && json_is_arr(v) && v->n)
            qsort(v->items, v->n, sizeof *v->items, by_order);
        json_encode(b, v,
                    (case_has_arg(when, S("sorted")) ? JSON_SORTED : 0U) |
                        (case_has_arg(when, S("pretty")) ? JSON_PRETTY : 0U));
    }
}

static void run_round(struct case_file *c, const struct case_section *given, const struct case_section *when,
                      const struct case_section *expect)
{
    const struct case_section *other = when - 1 != given ? when - 1 : NULL;
    struct json_notes notes = {0};
    struct json v = {0}, w = {0};
    struct err err = {0};
    struct buf out = {.arena = c->arena};
    bool failed = decode(c, given, when, &notes, &v, &err) < 0 || (other && decode(c, other, when, NULL, &w, &err) < 0);
    if (failed != case_has_arg(expect, S("error"))) {
        case_fail(c, when, failed ? "failed: %s" : "did not fail%s", err.msg);
        return;
    }
    if (failed) {
        buf_add_str(&out, case_error(c, &err));
    } else if (other) {
        buf_add_str(&out, sign_of(c, when, &v, &w));
    } else if (case_has_arg(when, S("duplicates"))) {
        vec_each(&notes.duplicates, it) buf_fmt(&out, "%.*s\n", STR(*it));
    } else {
        print(&out, &v, when);
    }
    case_expect(c, expect, buf_str(&out));
}

static void run(struct case_file *c)
{
    const struct case_section *given = NULL;
    vec_each(&c->sections, s)
    {
        bool last = s + 1 == c->sections.p + c->sections.n;
        if (str_eq(s->name, S("given")) && (given == NULL || !str_eq(s[-1].name, S("given"))))
            given = s;
        if (!str_eq(s->name, S("when")))
            continue;
        if (given == NULL || last || !str_eq(s[1].name, S("expect")))
            case_fail(c, s, "a round is given, when, expect");
        else
            run_round(c, given, s, s + 1);
        given = NULL;
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
