/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: an object. expect: its cells, as of 15 November 2026 21:00 UTC.
 * given columns: the additionalPrinterColumns of a CRD, for the objects behind it.
 * when duration: numbers of seconds, one per line. when define: the definitions instead of the cells.
 */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "kinds/columns.h"

enum { NOW = 1794776400 };

static const struct columns *columns_of(const struct json *obj)
{
    const struct kind *k = kind_builtin_by_body(json_get_text(obj, S("apiVersion")), json_get_text(obj, S("kind")));
    return k && k->columns ? k->columns : &columns_default;
}

static void durations(struct arena *a, str text, struct buf *out)
{
    str line;
    while (text.n) {
        int64_t seconds = 0;
        str_cut(text, '\n', &line, &text);
        str_to_int64(str_trim(line), &seconds);
        buf_fmt(out, "%.*s\n", STR(column_duration(a, seconds)));
    }
}

static void run(struct case_file *c)
{
    const struct columns *custom = NULL;
    struct buf out = {.arena = c->arena};
    vec_each(&c->sections, s)
    {
        struct json v = {0}, shown;
        struct err err;
        if (str_eq(s->name, S("expect"))) {
            case_expect(c, s, buf_str(&out));
            continue;
        }
        out = (struct buf){.arena = c->arena};
        if (case_has_arg(s, S("duration"))) {
            durations(c->arena, s->text, &out);
            continue;
        }
        if (json_decode(c->arena, s->text, NULL, NULL, &v, &err) < 0) {
            case_fail(c, s, "%s", err.msg);
        } else if (case_has_arg(s, S("columns"))) {
            custom = columns_of_crd(c->arena, &v);
        } else {
            const struct columns *columns = custom ? custom : columns_of(&v);
            shown = case_has_arg(s, S("define")) ? columns_define(c->arena, columns)
                                                 : columns_cells(c->arena, columns, &v, NOW);
            json_encode(&out, &shown, 0);
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
