/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CustomResourceDefinitions as packages bring them, before the API server gets to see them.
 *
 *   --- crd                 a whole document, or with "patch" what is different from a plain one of things.example.org
 *   --- crd repeat=@:253    the same, with every @ replaced by 253 letters a
 *   --- findings            why it is refused, one a line, without "CRD NAME: "; letters a beyond 8 in a row are written a…
 *   --- warnings            what was left out of one that is not refused
 *   --- expect              the definition that goes on
 *   --- expect spec.scope   or a part of it
 *   --- info                what the plan of an install is told
 *   --- same                another document, which must be the same to the API server; "--- other": which must not
 *   --- protected           groups that are protected, one a line;  --- free: groups that are not
 *   --- reserved            labels and annotations no package can set;  --- allowed: which it can
 *
 * Lines that begin with # are remarks.
 */
#include "cases/case.h"
#include "package/crd_check.h"
#include "package/crd_union.h"
#include "patch/json_patch.h"
#include "json/yaml.h"

struct round {
    struct case_file *file;
    struct json doc;
    struct crd_checked checked;
    struct findings findings, warnings;
    bool is_good;
};

static const char plain[] = "apiVersion: apiextensions.k8s.io/v1\n"
                            "kind: CustomResourceDefinition\n"
                            "metadata: {name: things.example.org}\n"
                            "spec:\n"
                            "  group: example.org\n"
                            "  scope: Namespaced\n"
                            "  names: {plural: things, kind: Thing}\n"
                            "  versions:\n"
                            "  - name: v1\n"
                            "    served: true\n"
                            "    storage: true\n"
                            "    schema:\n"
                            "      openAPIV3Schema: {type: object, properties: {spec: {type: object}}}\n";

static struct json parse(struct round *r, const struct case_section *at, str text)
{
    struct json v = {0};
    struct err err = {0};
    if (yaml_decode(r->file->arena, text, &(struct json_limits){.bytes = 16U << 20}, NULL, &v, &err) < 0)
        case_fail(r->file, at, "not YAML: %s", err.msg);
    return v;
}

/* repeat=@:253 */
static str repeated(struct round *r, const struct case_section *at)
{
    str mark, count, how = case_arg(at, S("repeat"));
    uint64_t n = 0;
    if (how.n == 0)
        return at->text;
    if (!str_cut(how, ':', &mark, &count) || mark.n != 1 || !str_to_uint64(count, &n))
        case_fail(r->file, at, "repeat=@:253");
    struct buf b = {.arena = r->file->arena};
    for (size_t i = 0; i < at->text.n; i++) {
        for (uint64_t k = 0; mark.n && at->text.p[i] == mark.p[0] && k < n; k++)
            buf_add_char(&b, 'a');
        if (mark.n == 0 || at->text.p[i] != mark.p[0])
            buf_add_char(&b, at->text.p[i]);
    }
    return buf_str(&b);
}

static struct json document(struct round *r, const struct case_section *at)
{
    struct json given = parse(r, at, repeated(r, at)), base = parse(r, at, str_of(plain));
    return case_has_arg(at, S("patch")) ? json_merge_patch(r->file->arena, &base, &given) : given;
}

static void check(struct round *r, const struct case_section *at)
{
    struct arena *a = r->file->arena;
    r->findings = r->warnings = (struct findings){.arena = a};
    r->doc = document(r, at);
    r->is_good = crd_check(a, &r->doc, &r->checked, &r->findings, &r->warnings);
    if (r->is_good != (r->findings.list.n == 0))
        case_fail(r->file, at, "findings, but the definition is good; or the other way round");
    if (!r->is_good)
        return;
    struct findings again = {.arena = a};
    struct crd_checked twice;
    if (!crd_check(a, &r->checked.crd, &twice, &again, &again) || again.list.n ||
        !json_equal(&twice.crd, &r->checked.crd))
        case_fail(r->file, at, "what goes on does not pass unchanged: %.*s", STR(findings_text(a, &again)));
    struct crd_info copy = crd_info_dup(a, &r->checked.info);
    if (!str_eq(copy.name, r->checked.info.name) || copy.versions.n != r->checked.info.versions.n)
        case_fail(r->file, at, "the copy of the info differs");
}

/* Without remarks. */
static str plain_lines(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    for (str line; text.n;) {
        str_cut(text, '\n', &line, &text);
        if (!str_has_prefix(line, S("#")))
            buf_fmt(&b, "%.*s\n", STR(line));
    }
    return buf_str(&b);
}

/* Long rows of a are not for reading. */
static void add_short(struct buf *b, str text)
{
    size_t row = 0;
    for (size_t i = 0; i < text.n; i++) {
        row = text.p[i] == 'a' ? row + 1 : 0;
        if (row == 9)
            buf_add_str(b, S("…"));
        if (row < 9)
            buf_add_char(b, text.p[i]);
    }
    buf_add_char(b, '\n');
}

static void expect_texts(struct round *r, const struct case_section *at, const struct findings *found)
{
    struct buf b = {.arena = r->file->arena};
    str name = json_get_text(json_get(&r->doc, S("metadata")), S("name"));
    str prefix = name.n ? str_fmt(r->file->arena, "CRD %.*s: ", STR(name)) : S("CRD without a name: ");
    vec_each(&found->list, f)
        add_short(&b, str_has_prefix(f->message, prefix) ? str_from(f->message, prefix.n) : f->message);
    if (found->more)
        buf_fmt(&b, "and %zu more\n", found->more);
    if (found == &r->warnings && !r->is_good)
        case_fail(r->file, at, "refused: %.*s", STR(findings_text(r->file->arena, &r->findings)));
    case_expect(r->file, &(struct case_section){.text = plain_lines(r->file->arena, at->text), .line = at->line},
                buf_str(&b));
}

static void expect_part(struct round *r, const struct case_section *at)
{
    struct arena *a = r->file->arena;
    if (!r->is_good) {
        expect_texts(r, at, &r->findings);
        return;
    }
    const struct json *part = at->args.n ? json_dig(&r->checked.crd, str_cstr(a, at->args)) : &r->checked.crd;
    struct json want = parse(r, at, at->text);
    struct buf b = {.arena = a}, canonical = {.arena = a};
    yaml_encode(&b, part);
    yaml_encode(&canonical, &want);
    case_expect(r->file, &(struct case_section){.text = buf_str(&canonical), .line = at->line}, buf_str(&b));
}

static void expect_info(struct round *r, const struct case_section *at)
{
    struct buf b = {.arena = r->file->arena};
    const struct crd_info *i = &r->checked.info;
    if (!r->is_good) {
        expect_texts(r, at, &r->findings);
        return;
    }
    buf_fmt(&b, "%.*s: %.*s, %.*s in %.*s, %s%s%s\n", STR(i->name), STR(i->kind), STR(i->plural), STR(i->group),
            i->is_namespaced ? "namespaced" : "cluster-scoped", i->has_status ? ", status" : "",
            i->has_scale ? ", scale" : "");
    vec_each(&i->versions, v)
        buf_fmt(&b, "%.*s%s%s\n", STR(v->name), v->served ? " served" : "", v->storage ? " storage" : "");
    case_expect(r->file, at, buf_str(&b));
}

static void expect_same(struct round *r, const struct case_section *at)
{
    struct json other = document(r, at);
    bool same = crd_is_same(&r->doc, &other);
    if (same != crd_is_same(&other, &r->doc))
        case_fail(r->file, at, "the order of the two matters");
    struct case_section want = {.text = str_eq(at->name, S("same")) ? S("same") : S("different"), .line = at->line};
    case_expect(r->file, &want, same ? S("same") : S("different"));
}

/* Every line of the section must be answered with `want`. */
static void expect_answers(struct round *r, const struct case_section *at, bool (*ask)(str), bool want)
{
    struct buf b = {.arena = r->file->arena};
    str rest = at->text, line;
    while (rest.n) {
        str_cut(rest, '\n', &line, &rest);
        bool answer = ask(str_eq(str_trim(line), S("\"\"")) ? (str){0} : str_trim(line));
        buf_fmt(&b, "%.*s%s\n", STR(line), answer == want ? "" : ": no");
    }
    case_expect(r->file, at, buf_str(&b));
}

static void run(struct case_file *c)
{
    struct round r = {.file = c};
    vec_each(&c->sections, at)
    {
        if (str_eq(at->name, S("crd")))
            check(&r, at);
        else if (str_eq(at->name, S("findings")))
            expect_texts(&r, at, &r.findings);
        else if (str_eq(at->name, S("warnings")))
            expect_texts(&r, at, &r.warnings);
        else if (str_eq(at->name, S("expect")))
            expect_part(&r, at);
        else if (str_eq(at->name, S("info")))
            expect_info(&r, at);
        else if (str_eq(at->name, S("same")) || str_eq(at->name, S("other")))
            expect_same(&r, at);
        else if (str_eq(at->name, S("protected")) || str_eq(at->name, S("free")))
            expect_answers(&r, at, crd_group_is_protected, str_eq(at->name, S("protected")));
        else if (str_eq(at->name, S("reserved")) || str_eq(at->name, S("allowed")))
            expect_answers(&r, at, crd_key_is_reserved, str_eq(at->name, S("reserved")));
        else
            case_fail(c, at, "unknown section");
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
