/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of selectors. Each round:
 *
 *     --- when labels | object | validate | fields [kind=v1/Secret] [json]
 *         a label selector as text, a LabelSelector (selected with, or checked as part of an object), or a field
 *         selector; json: the text is a JSON string
 *     --- expect      the canonical text, "everything", "nothing", or what is wrong
 *     --- matches     one JSON map of labels (fields: one JSON object) per line that is selected
 *     --- misses      … that is not
 *
 * The last two may be left out. */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "object/selector.h"

struct round {
    struct selector labels;
    struct field_selector fields;
    bool is_fields, ok;
};

static struct json decode(struct case_file *c, const struct case_section *at, str text)
{
    struct json v = {0};
    struct err err;
    if (json_decode(c->arena, text, NULL, NULL, &v, &err) < 0)
        case_fail(c, at, "%.*s: %s", STR(text), err.msg);
    return v;
}

/* kind=v1/Secret or kind=example.com/v1/Widget; without one, any field goes. */
static const struct kind *find_kind(struct case_file *c, const struct case_section *when)
{
    static const char *const fields[] = {"spec.color", NULL};
    static const struct kind widget = {
        .group = "example.com", .kind = "Widget", .flags = KIND_CUSTOM, .namespaced = true, .selectable = fields};
    static const struct kind gadget = {.group = "example.com", .kind = "Gadget", .flags = KIND_CUSTOM};
    str name = case_arg(when, S("kind"));
    if (name.n == 0)
        return NULL;
    if (str_eq(name, S("example.com/v1/Widget")))
        return &widget;
    if (str_eq(name, S("example.com/v1/Gadget")))
        return &gadget;
    size_t slash = name.n;
    while (slash > 0 && name.p[slash - 1] != '/')
        slash--;
    const struct kind *kind = kind_builtin_by_body(str_upto(name, slash ? slash - 1 : 0), str_from(name, slash));
    if (kind == NULL)
        case_fail(c, when, "no kind %.*s", STR(name));
    return kind;
}

static void show_label_selector(struct buf *got, const struct selector *s)
{
    if (s->nothing)
        buf_add_str(got, S("nothing"));
    else if (selector_is_everything(s))
        buf_add_str(got, S("everything"));
    else
        selector_format(got, s);
}

static void run_validate(struct case_file *c, const struct json *object, struct buf *got)
{
    struct field_errors errs = {.arena = c->arena};
    selector_validate(&errs, S("spec.selector"), object);
    vec_each(&errs.list, e)
    {
        field_error_format(got, e);
        buf_add_char(got, '\n');
    }
    if (got->n == 0)
        buf_add_str(got, S("fine"));
}

static void run_fields(struct case_file *c, const struct case_section *when, str text, struct round *r, struct buf *got)
{
    const struct kind *kind = find_kind(c, when);
    struct err err;
    int rc = field_selector_parse(c->arena, text, &r->fields, &err);
    if (rc == 0 && kind)
        rc = field_selector_check(&r->fields, kind, &err);
    r->is_fields = true;
    r->ok = rc == 0;
    if (rc < 0)
        buf_add_str(got, str_of(err.msg));
    else if (r->fields.n == 0)
        buf_add_str(got, S("everything"));
    else
        field_selector_format(got, &r->fields);
}

static void run_when(struct case_file *c, const struct case_section *when, struct round *r, struct buf *got)
{
    str text = when->text;
    struct err err;
    int rc = 0;
    struct json v = {0};
    if (case_has_arg(when, S("json"))) {
        v = decode(c, when, text);
        text = json_text(&v);
    }
    if (case_has_arg(when, S("fields"))) {
        run_fields(c, when, text, r, got);
        return;
    }
    if (case_has_arg(when, S("labels"))) {
        rc = selector_parse(c->arena, text, &r->labels, &err);
    } else {
        v = decode(c, when, text);
        if (case_has_arg(when, S("validate"))) {
            run_validate(c, &v, got);
            return;
        }
        rc = selector_from_object(c->arena, &v, &r->labels, &err);
    }
    r->ok = rc == 0;
    if (rc < 0)
        buf_add_str(got, str_of(err.msg));
    else
        show_label_selector(got, &r->labels);
}

/* The same labels as the text that is stored, where they have one that takes no escapes. */
static bool matches_text(struct case_file *c, const struct selector *s, const struct json *labels)
{
    struct buf text = {.arena = c->arena};
    if (json_is_obj(labels))
        json_encode(&text, labels, 0);
    return str_find_char(buf_str(&text), '\\') >= 0 ? selector_matches(s, labels)
                                                    : selector_matches_text(s, buf_str(&text));
}

static void check_lines(struct case_file *c, const struct case_section *at, const struct round *r, bool want)
{
    if (!r->ok)
        case_fail(c, at, "there is no selector to match with");
    for (str rest = at->text, line; r->ok && rest.n;) {
        str_cut(rest, '\n', &line, &rest);
        if (str_trim(line).n == 0)
            continue;
        struct json v = decode(c, at, line);
        bool got = r->is_fields ? field_selector_matches_object(&r->fields, &v) : selector_matches(&r->labels, &v);
        if (got != want)
            case_fail(c, at, "%s: %.*s", want ? "should match" : "should not match", STR(line));
        if (!r->is_fields && matches_text(c, &r->labels, &v) != want)
            case_fail(c, at, "%s as text: %.*s", want ? "should match" : "should not match", STR(line));
    }
}

static void run(struct case_file *c)
{
    struct round r = {0};
    struct buf got = {.arena = c->arena};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("when"))) {
            r = (struct round){0};
            got = (struct buf){.arena = c->arena};
            run_when(c, s, &r, &got);
        } else if (str_eq(s->name, S("expect"))) {
            case_expect(c, s, buf_str(&got));
        } else if (str_eq(s->name, S("matches")) || str_eq(s->name, S("misses"))) {
            check_lines(c, s, &r, str_eq(s->name, S("matches")));
        } else {
            case_fail(c, s, "no such section");
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
