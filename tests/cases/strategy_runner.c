/* SPDX-License-Identifier: Apache-2.0 */
/* What is special about each kind when it is written. Everything is YAML; key order is nothing.
 *
 *   --- given KIND in API-VERSION    the object as it is sent; "Widget in example.com/v1" is a custom kind with a status
 *   --- current                      the object as it is stored (absent: there is none)
 *   --- when create                  defaults, preparation and checks, in this order
 *   --- when update [SUBRESOURCE]    the same against the current object
 *   --- when default                 the defaults alone
 *   --- when convert to API-VERSION  the same object as another kind
 *   --- expect                       the object afterwards
 *   --- errors                       or what was wrong with it, one error a line
 *
 * Metadata that all kinds have in common (uid, creationTimestamp, names) is filled in and checked elsewhere: see meta. */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "kinds/strategy.h"
#include "kinds/strict.h"
#include "json/yaml.h"

struct round {
    struct case_file *file;
    const struct kind *kind;
    struct json given, current;
    struct field_errors errs;
};

static const struct kind_subresource widget_subresources[] = {{"status", .verbs = VERBS_STATUS}};
static const struct kind widget = {
    .group = "example.com",
    .version = "v1",
    .kind = "Widget",
    .plural = "widgets",
    .namespaced = true,
    .flags = KIND_CUSTOM | KIND_GENERATION,
    .subresources = widget_subresources,
    .n_subresources = 1,
};

static struct json parse(struct round *r, const struct case_section *s)
{
    struct json v = {0};
    struct err err = {0};
    if (yaml_decode(r->file->arena, s->text, NULL, NULL, &v, &err) < 0)
        case_fail(r->file, s, "not YAML: %s", err.msg);
    return v;
}

/* As it comes out of the store or of a body. */
static struct json decode(struct round *r, const struct case_section *s)
{
    struct json v = parse(r, s);
    struct err err = {0};
    if (r->kind && r->kind->shape && strict_decode(r->file->arena, r->kind->shape, &v, NULL, NULL, &err) < 0)
        case_fail(r->file, s, "%s", err.msg);
    return v;
}

static void given(struct round *r, const struct case_section *s)
{
    str kind, rest, in, version;
    str_cut(s->args, ' ', &kind, &rest);
    str_cut(rest, ' ', &in, &version);
    r->kind = str_eq(kind, S("Widget")) ? &widget : kind_builtin_by_body(str_trim(version), kind);
    r->current = json_null();
    if (!r->kind)
        case_fail(r->file, s, "no such kind");
    else
        r->given = decode(r, s);
}

/* What is stored has its one form already. */
static void set_current(struct round *r, const struct case_section *s)
{
    r->current = decode(r, s);
    if (r->kind->shape)
        canonical_form(r->file->arena, r->kind->shape, &r->current, CANONICAL_KEEP_EMPTY);
}

static void convert(struct round *r, const struct case_section *s)
{
    str to, version;
    str_cut(str_from(s->args, strlen("convert ")), ' ', &to, &version);
    const struct kind *other = kind_builtin_by_body(str_trim(version), str_of(r->kind->kind));
    if (!other || strategy_storage_kind(other) != strategy_storage_kind(r->kind))
        case_fail(r->file, s, "not two views of the same objects");
    else
        strategy_convert(r->file->arena, r->kind, other, &r->given);
}

static void when(struct round *r, const struct case_section *s)
{
    struct arena *a = r->file->arena;
    str verb, subresource;
    str_cut(s->args, ' ', &verb, &subresource);
    r->errs = (struct field_errors){.arena = a};
    if (str_eq(verb, S("convert"))) {
        convert(r, s);
        return;
    }
    strategy_default(a, r->kind, &r->given);
    if (str_eq(verb, S("create"))) {
        strategy_prepare_create(a, r->kind, &r->given);
        strategy_validate(&r->errs, r->kind, &r->given);
    } else if (str_eq(verb, S("update"))) {
        strategy_prepare_update(a, r->kind, subresource, &r->given, &r->current);
        strategy_validate_update(&r->errs, r->kind, subresource, &r->given, &r->current);
    }
}

static void expect_errors(struct round *r, const struct case_section *s)
{
    struct buf b = {.arena = r->file->arena};
    vec_each(&r->errs.list, e)
    {
        field_error_format(&b, e);
        buf_add_char(&b, '\n');
    }
    case_expect(r->file, s, buf_str(&b));
}

/* Nobody has set the time of creation, so the metadata of every built-in kind says null. */
static void forget_creation(struct json *object)
{
    struct json *meta = json_get_mut(object, S("metadata"));
    if (json_is_null(json_get(meta, S("creationTimestamp"))))
        json_remove(meta, S("creationTimestamp"));
}

static void expect_object(struct round *r, const struct case_section *s)
{
    if (r->errs.list.n) {
        expect_errors(r, s);
        return;
    }
    forget_creation(&r->given);
    struct json want = parse(r, s);
    struct buf text = {.arena = r->file->arena}, canonical = {.arena = r->file->arena};
    yaml_encode(&text, &r->given);
    yaml_encode(&canonical, &want);
    struct case_section section = *s;
    section.text = buf_str(&canonical);
    case_expect(r->file, &section, buf_str(&text));
}

static void run(struct case_file *c)
{
    struct round r = {.file = c};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("given")))
            given(&r, s);
        else if (r.kind == NULL)
            case_fail(c, s, "no kind yet");
        else if (str_eq(s->name, S("current")))
            set_current(&r, s);
        else if (str_eq(s->name, S("when")))
            when(&r, s);
        else if (str_eq(s->name, S("expect")))
            expect_object(&r, s);
        else if (str_eq(s->name, S("errors")))
            expect_errors(&r, s);
        else
            case_fail(c, s, "unknown section");
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
