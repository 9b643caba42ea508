/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: a JSON document. when: a path on each line; bytes may be escaped as cases/bytes.h says.
 * expect: for each path the list of its hits, or "stopped" when evaluation ended without a result, or what is wrong with
 * the path.
 */
#include "cases/bytes.h"
#include "json/jsonpath.h"

static void one(struct arena *a, const struct json *doc, str text, struct buf *out)
{
    const struct jsonpath *path;
    struct err err;
    jsonpath_hits hits = {0};
    if (jsonpath_compile(a, text, &path, &err) < 0) {
        buf_fmt(out, "%s\n", err.msg);
        return;
    }
    if (!jsonpath_find(a, path, doc, &hits)) {
        buf_add_str(out, S("stopped\n"));
        return;
    }
    struct json list = json_arr();
    vec_each(&hits, hit) json_push(a, &list, **hit);
    json_encode(out, &list, JSON_SORTED);
    buf_add_char(out, '\n');
}

static void run(struct case_file *c)
{
    struct json doc = {0};
    struct buf out = {.arena = c->arena};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("given"))) {
            struct err err;
            if (json_decode(c->arena, s->text, NULL, NULL, &doc, &err) < 0)
                case_fail(c, s, "%s", err.msg);
        } else if (str_eq(s->name, S("when"))) {
            str rest = case_bytes(c, s), line;
            out = (struct buf){.arena = c->arena};
            while (rest.n) {
                str_cut(rest, '\n', &line, &rest);
                one(c->arena, &doc, line, &out);
            }
        } else {
            case_expect(c, s, buf_str(&out));
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
