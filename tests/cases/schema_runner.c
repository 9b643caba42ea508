/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of structural schemas, patterns, formats and CustomResourceDefinitions. Everything is YAML; key order is nothing.
 *
 *   --- schema            the openAPIV3Schema that the rounds below use
 *   --- given             an object; apiVersion, kind and metadata may be left out
 *   --- when admit        as the API server does on a write; or: prune, default, validate
 *   --- expect            the object afterwards, if it was admitted
 *   --- errors            or what was wrong, one error a line
 *   --- unknown           unknown fields that were dropped, one a line (absent: not looked at)
 *
 *   --- refused           the schema above does not compile, for this reason
 *
 *   --- pattern           a regular expression, then:
 *   --- matches           texts it matches, one a line, as JSON strings;  --- misses: texts it does not
 *   --- refused           or why it is none
 *
 *   --- format NAME       texts of this format, one a line, as JSON strings;  --- not NAME: texts not of it
 *
 *   --- crd               a CustomResourceDefinition;  --- old: the one it replaces
 *   --- when create       or update: checks it; --- errors as above;  when default: fills in defaults, --- expect */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "kinds/shapes.h"
#include "schema/crd.h"
#include "schema/pattern.h"
#include "schema/schema.h"
#include "schema/schema_format.h"
#include "json/yaml.h"

#include <stdlib.h>

struct round {
    struct case_file *file;
    struct schema *schema;
    str schema_error;
    struct json given, crd, old;
    str pattern;
    struct field_errors errs;
    struct schema_unknown unknown;
    bool ok;
};

static struct json parse_yaml(struct round *r, const struct case_section *s)
{
    struct json v = {0};
    struct err err = {0};
    if (yaml_decode(r->file->arena, s->text, NULL, NULL, &v, &err) < 0)
        case_fail(r->file, s, "not YAML: %s", err.msg);
    return v;
}

static void expect_tree(struct round *r, const struct case_section *s, const struct json *got)
{
    struct json want = parse_yaml(r, s);
    struct buf text = {.arena = r->file->arena}, canonical = {.arena = r->file->arena};
    yaml_encode(&text, got);
    yaml_encode(&canonical, &want);
    struct case_section section = *s;
    section.text = buf_str(&canonical);
    case_expect(r->file, &section, buf_str(&text));
}

static void set_schema(struct round *r, const struct case_section *s)
{
    struct json v = parse_yaml(r, s);
    struct err err = {0};
    schema_free(r->schema);
    r->schema = NULL;
    r->schema_error = (str){0};
    if (schema_compile(&v, &r->schema, &err) < 0)
        r->schema_error = str_dup(r->file->arena, str_of(err.msg));
}

static void when_crd(struct round *r, const struct case_section *s)
{
    struct arena *a = r->file->arena;
    r->given = json_dup(a, &r->crd);
    crd_default(a, &r->given);
    if (case_has_arg(s, S("create"))) {
        crd_prepare_create(a, &r->given);
        builtin_validate_crd(&r->errs, &r->given);
    } else if (case_has_arg(s, S("update"))) {
        crd_prepare_update(a, &r->given, &r->old);
        crd_validate_update(&r->errs, &r->given, &r->old);
    }
}

/* As the server does with an object that is written. */
static bool admit(struct round *r, schema_node root, const struct schema_prune_args *args)
{
    schema_prune(root, &r->given, args);
    return schema_default(root, r->file->arena, &r->given) && schema_validate(root, (str){0}, &r->given, &r->errs);
}

static void when(struct round *r, const struct case_section *s)
{
    struct arena *a = r->file->arena;
    r->errs = (struct field_errors){.arena = a};
    r->unknown = (struct schema_unknown){.arena = a};
    r->ok = true;
    if (json_is_obj(&r->crd)) {
        when_crd(r, s);
        return;
    }
    if (r->schema == NULL) {
        case_fail(r->file, s, "the schema does not compile: %.*s", STR(r->schema_error));
        return;
    }
    struct schema_prune_args args = {.is_resource = true, .object_meta = &shape_object_meta, .unknown = &r->unknown};
    schema_node root = schema_root(r->schema);
    if (case_has_arg(s, S("prune")))
        schema_prune(root, &r->given, &args);
    else if (case_has_arg(s, S("default")))
        r->ok = schema_default(root, a, &r->given);
    else if (case_has_arg(s, S("validate")))
        r->ok = schema_validate(root, (str){0}, &r->given, &r->errs);
    else
        r->ok = admit(r, root, &args);
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

static void expect_unknown(struct round *r, const struct case_section *s)
{
    struct buf b = {.arena = r->file->arena};
    vec_each(&r->unknown.paths, p) buf_fmt(&b, "%.*s\n", STR(*p));
    case_expect(r->file, s, buf_str(&b));
}

static void expect_object(struct round *r, const struct case_section *s)
{
    if (r->errs.list.n) {
        expect_errors(r, s);
        return;
    }
    expect_tree(r, s, &r->given);
}

/* Calls fn for every line, which is a JSON string. */
static void each_text(struct round *r, const struct case_section *s,
                      void (*fn)(struct round *r, const struct case_section *s, str text))
{
    str rest = s->text, line;
    while (rest.n) {
        struct json v = {0};
        str_cut(rest, '\n', &line, &rest);
        if (str_trim(line).n == 0)
            continue;
        if (json_decode(r->file->arena, line, NULL, NULL, &v, NULL) < 0 || !json_is_str(&v))
            case_fail(r->file, s, "not a JSON string: %.*s", STR(line));
        else
            fn(r, s, json_text(&v));
    }
}

/* Reports a failure, but counts the expectation in any case. */
static void expect_true(struct round *r, const struct case_section *s, bool ok, str text)
{
    struct case_section want = *s;
    want.text = ok ? text : S("the opposite");
    case_expect(r->file, &want, text);
}

static void match_text(struct round *r, const struct case_section *s, str text)
{
    struct pattern *p;
    struct err err;
    if (pattern_compile(r->pattern, &p, &err) < 0) {
        case_fail(r->file, s, "does not compile: %s", err.msg);
        return;
    }
    struct pattern_scratch scratch = {0};
    enum pattern_result want = str_eq(s->name, S("matches"))  ? PATTERN_YES
                               : str_eq(s->name, S("misses")) ? PATTERN_NO
                                                              : PATTERN_TIMEOUT;
    expect_true(r, s, pattern_match(p, text, &scratch) == want, text);
    pattern_scratch_done(&scratch);
    pattern_free(p);
}

static void format_text(struct round *r, const struct case_section *s, str text)
{
    bool has = format_matches(format_find(s->args), text);
    expect_true(r, s, has == str_eq(s->name, S("format")), text);
}

static void expect_refused(struct round *r, const struct case_section *s)
{
    struct err err = {0};
    if (r->pattern.n) {
        (void)pattern_check(r->pattern, &err);
        case_expect(r->file, s, str_of(err.msg));
    } else {
        case_expect(r->file, s, r->schema_error);
    }
}

static void section(struct round *r, const struct case_section *s)
{
    if (str_eq(s->name, S("schema")))
        set_schema(r, s);
    else if (str_eq(s->name, S("given")))
        r->given = parse_yaml(r, s);
    else if (str_eq(s->name, S("crd")))
        r->crd = parse_yaml(r, s);
    else if (str_eq(s->name, S("old")))
        r->old = parse_yaml(r, s);
    else if (str_eq(s->name, S("when")))
        when(r, s);
    else if (str_eq(s->name, S("expect")))
        expect_object(r, s);
    else if (str_eq(s->name, S("errors")))
        expect_errors(r, s);
    else if (str_eq(s->name, S("unknown")))
        expect_unknown(r, s);
    else if (str_eq(s->name, S("pattern")))
        r->pattern = s->text;
    else if (str_eq(s->name, S("matches")) || str_eq(s->name, S("misses")) || str_eq(s->name, S("gives-up")))
        each_text(r, s, match_text);
    else if (str_eq(s->name, S("format")) || str_eq(s->name, S("not")))
        each_text(r, s, format_text);
    else if (str_eq(s->name, S("refused")))
        expect_refused(r, s);
    else
        case_fail(r->file, s, "no section is called %.*s", STR(s->name));
}

static void run(struct case_file *c)
{
    struct round r = {.file = c};
    vec_each(&c->sections, s) section(&r, s);
    schema_free(r.schema);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
