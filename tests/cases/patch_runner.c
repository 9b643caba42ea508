/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of patch.h. "given" is a document; rounds of "when" and "expect" (or "expect error") follow, each of which starts
 * again from that document:
 *
 *     when patch      a list of operations (JSON patch, RFC 6902)
 *     when merge      a merge patch (RFC 7386)
 *     when pointer    a JSON pointer; "nothing" is expected when it leads nowhere
 *
 * Results are printed with sorted keys. The text of a section may be made as cases/bytes.h says. */
#include "base/err.h"
#include "cases/bytes.h"
#include "patch/json_patch.h"

static struct json read_json(struct case_file *c, const struct case_section *s)
{
    struct err err;
    struct json v = {0};
    if (json_decode(c->arena, case_bytes(c, s), NULL, NULL, &v, &err) < 0)
        case_fail(c, s, "%s", err.msg);
    return v;
}

static int apply(struct case_file *c, const struct json *doc, const struct case_section *when, struct buf *out,
                 struct err *err)
{
    struct json v;
    if (case_has_arg(when, S("pointer"))) {
        const struct json *found = json_pointer_get(doc, case_bytes(c, when));
        if (found)
            json_encode(out, found, JSON_SORTED);
        else
            buf_add_str(out, S("nothing"));
        return 0;
    }
    struct json patch = read_json(c, when);
    if (case_has_arg(when, S("merge"))) {
        v = json_merge_patch(c->arena, doc, &patch);
    } else {
        int r = json_patch(c->arena, doc, &patch, &v, err);
        if (r < 0)
            return r;
    }
    json_encode(out, &v, JSON_SORTED);
    return 0;
}

static void run_round(struct case_file *c, const struct json *doc, const struct case_section *when,
                      const struct case_section *expect)
{
    struct buf out = {.arena = c->arena};
    struct err err = {0};
    struct json before = json_dup(c->arena, doc);
    int r = apply(c, doc, when, &out, &err);
    if (!json_equal(doc, &before))
        case_fail(c, when, "the document given has changed");
    if ((r < 0) != case_has_arg(expect, S("error")))
        case_fail(c, when, r < 0 ? "failed: %s" : "did not fail%s", err.msg);
    else
        case_expect(c, expect, r < 0 ? case_error(c, &err) : buf_str(&out));
}

static void run(struct case_file *c)
{
    struct json doc = {0};
    vec_each(&c->sections, s)
    {
        bool last = s + 1 == c->sections.p + c->sections.n;
        if (str_eq(s->name, S("given")))
            doc = read_json(c, s);
        if (!str_eq(s->name, S("when")))
            continue;
        if (last || !str_eq(s[1].name, S("expect")))
            case_fail(c, s, "expect must follow when");
        else
            run_round(c, &doc, s, s + 1);
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
