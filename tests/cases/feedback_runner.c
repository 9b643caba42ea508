/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: a live object, as YAML. when feedback: feedbackRules; when conditions: conditionRules.
 * expect: a line "name Type value" for each value, or "type status reason: message" for each condition; and "problem: …" for what
 * StatusFeedbackSynced says.
 */
#include "cases/case.h"
#include "controllers/works/works_feedback.h"
#include "json/yaml.h"

static struct json read(struct case_file *c, const struct case_section *s)
{
    struct json v = {0};
    struct err err;
    if (yaml_decode(c->arena, s->text, NULL, NULL, &v, &err) < 0)
        case_fail(c, s, "%s", err.msg);
    return v;
}

static void show_values(struct arena *a, const struct json *rules, const struct json *object, struct buf *out)
{
    struct feedback f = feedback_read(a, rules, object);
    json_each_item(&f.values, v)
    {
        const struct json *field = json_get(v, S("fieldValue"));
        buf_fmt(out, "%.*s %.*s ", STR(json_get_text(v, S("name"))), STR(json_get_text(field, S("type"))));
        json_each_member(field, m) if (!str_eq(json_key(m), S("type"))) json_encode(out, &m->val, 0);
        buf_add_char(out, '\n');
    }
    if (f.problem.n)
        buf_fmt(out, "problem: %.*s\n", STR(f.problem));
}

static void show_conditions(struct arena *a, const struct json *rules, const struct json *object, struct buf *out)
{
    const struct condition *list;
    size_t n = feedback_conditions(a, rules, object, &list);
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%.*s %.*s %.*s: %.*s\n", STR(list[i].type), STR(list[i].status), STR(list[i].reason),
                STR(list[i].message));
}

static void run(struct case_file *c)
{
    struct json object = {0};
    struct buf out = {.arena = c->arena};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("expect"))) {
            case_expect(c, s, buf_str(&out));
            continue;
        }
        struct json v = read(c, s);
        out = (struct buf){.arena = c->arena};
        if (str_eq(s->name, S("given")))
            object = v;
        else if (case_has_arg(s, S("feedback")))
            show_values(c->arena, &v, &object, &out);
        else
            show_conditions(c->arena, &v, &object, &out);
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
