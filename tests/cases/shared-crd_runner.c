/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CustomResourceDefinition that several installs share: what one more install, or another version of one, may change.
 *
 *   --- has team-a 1.0 [cluster] [approved=TIME]   an install that is there, the oldest first: the schema of "spec" of its version v1
 *   --- crd team-a 1.0 [cluster] [approved=TIME]   or what is different from a plain definition of things.example.org, as a merge patch
 *   --- live                                 what the server has, as a merge patch; without it what follows from those who are there
 *   --- wants team-b 1.1 [cluster]           an install asks for this: a schema of "spec"
 *   --- wants-crd team-b 1.1 [cluster]       or a merge patch
 *   --- verdict                              free, alone, first (it counts first from now on), or what waits for approval or is refused, one a line
 *   --- effect [PATH]                        the schema of spec, or another part, of the definition that is served if it gets its
 *                                            way, after an approval if one is needed
 *   --- missing team-a                       what that install is missing then, one a line
 *
 * Lines that begin with # are remarks. The first install behind a verdict begins anew. A verdict that waits must change nothing that was
 * not told, and one that is free nothing at all.
 */
#include "cases/case.h"
#include "package/crd_check.h"
#include "package/crd_share.h"
#include "package/crd_union.h"
#include "patch/json_patch.h"
#include "json/yaml.h"

enum { MAX_HOLDERS = 6 };

struct round {
    struct case_file *file;
    struct crd_holder holders[MAX_HOLDERS];
    str names[MAX_HOLDERS];
    size_t n;
    struct json live;
    struct crd_holder self;
    str self_name;
    bool is_done; /* the verdict is known */
    struct json in_effect, result;
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
    if (yaml_decode(r->file->arena, text, NULL, NULL, &v, &err) < 0)
        case_fail(r->file, at, "not YAML: %s", err.msg);
    return v;
}

static struct json *root_schema(struct json *crd)
{
    struct json *versions = json_get_mut(json_get_mut(crd, S("spec")), S("versions"));
    return json_get_mut(json_get_mut(&versions->items[0], S("schema")), S("openAPIV3Schema"));
}

static const struct json *definition(struct round *r, const struct case_section *at, bool is_patch)
{
    struct arena *a = r->file->arena;
    struct json crd = parse(r, at, str_of(plain)), given = parse(r, at, at->text);
    struct findings findings = {.arena = a}, warnings = {.arena = a};
    struct crd_checked *ret = ARENA_NEW(a, struct crd_checked);
    if (is_patch) {
        crd = json_merge_patch(a, &crd, &given);
    } else {
        if (json_is_null(json_get(&given, S("type"))))
            json_set(a, &given, S("type"), json_str(S("object")));
        json_set(a, json_get_mut(root_schema(&crd), S("properties")), S("spec"), given);
    }
    if (crd_check(a, &crd, ret, &findings, &warnings))
        return &ret->crd;
    case_fail(r->file, at, "not a good definition: %.*s", STR(findings_text(a, &findings)));
    return NULL;
}

static struct crd_holder holder_of(struct round *r, const struct case_section *s, str *ret_name)
{
    str rest;
    struct crd_holder h = {.package = S("acme/thing"), .approved = case_arg(s, S("approved"))};
    str_cut(s->args, ' ', ret_name, &rest);
    str_cut(rest, ' ', &h.version, &rest);
    h.is_cluster = case_has_arg(s, S("cluster"));
    h.now = definition(r, s, str_eq(s->name, S("crd")) || str_eq(s->name, S("wants-crd")));
    return h;
}

static void add_holder(struct round *r, const struct case_section *s)
{
    if (r->is_done)
        *r = (struct round){.file = r->file};
    if (r->n == MAX_HOLDERS) {
        case_fail(r->file, s, "too many installs");
        return;
    }
    r->holders[r->n] = holder_of(r, s, &r->names[r->n]);
    r->holders[r->n].since = str_fmt(r->file->arena, "2026-01-0%zuT00:00:00Z", r->n + 1);
    r->n++;
}

static void set_wish(struct round *r, const struct case_section *s)
{
    r->self = holder_of(r, s, &r->self_name);
    r->self.since = S("2026-02-01T00:00:00Z");
}

/* Those who are there without the one who asks, which gets its age and what it has from among them. */
static size_t others_of(struct round *r, struct crd_holder *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (!str_eq(r->names[i], r->self_name)) {
            ret[n++] = r->holders[i];
            continue;
        }
        r->self.since = r->holders[i].since;
        r->self.approved = r->holders[i].approved;
        r->self.old = r->holders[i].now;
        r->self.old_version = r->holders[i].version;
    }
    return n;
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

static void add_findings(struct buf *b, const struct findings *f, bool has_reason)
{
    vec_each(&f->list, it)
    {
        str text = it->message, prefix = S("CRD things.example.org: ");
        if (has_reason)
            buf_fmt(b, "%.*s ", STR(it->reason));
        buf_fmt(b, "%.*s\n", STR(str_has_prefix(text, prefix) ? str_from(text, prefix.n) : text));
    }
}

static void check_result(struct round *r, const struct case_section *s, bool is_free)
{
    struct arena *a = r->file->arena;
    struct findings changes = {.arena = a}, findings = {.arena = a}, warnings = {.arena = a};
    struct crd_checked checked;
    if (is_free)
        crd_changes(a, &r->in_effect, &r->result, &changes);
    if (changes.list.n)
        case_fail(r->file, s, "it is free, and changes something: %.*s", STR(findings_text(a, &changes)));
    if (!crd_check(a, &r->result, &checked, &findings, &warnings))
        case_fail(r->file, s, "what is served is no good definition: %.*s", STR(findings_text(a, &findings)));
}

static void judge(struct round *r, const struct case_section *s)
{
    struct arena *a = r->file->arena;
    struct crd_holder others[MAX_HOLDERS + 1];
    size_t n = others_of(r, others);
    const struct json *live = json_is_null(&r->live) ? NULL : &r->live;
    struct findings findings = {.arena = a};
    struct buf got = {.arena = a};
    r->in_effect = crd_share_body(a, r->holders, r->n, live, (str){0});
    struct crd_share_request request = {others, n, &r->self, &r->in_effect};
    bool is_first = n && crd_share_check(a, &request, &findings);
    if (is_first || findings.list.n)
        r->self.approved = S("2026-03-01T00:00:00Z");
    if (n == 0)
        r->self.old = NULL; /* its upgrade is over */
    others[n] = r->self;
    r->result = crd_share_body(a, others, n + 1, &r->in_effect, (str){0});
    if (findings.list.n)
        add_findings(&got, &findings, true);
    else
        buf_fmt(&got, "%s\n", is_first ? "first" : n ? "free" : "alone");
    r->is_done = true;
    check_result(r, s, n && !is_first && !findings.list.n);
    case_expect(r->file, &(struct case_section){.text = plain_lines(a, s->text), .line = s->line}, buf_str(&got));
}

static void show_effect(struct round *r, const struct case_section *s)
{
    struct arena *a = r->file->arena;
    const struct json *part =
        s->args.n ? json_dig(&r->result, str_cstr(a, s->args)) : json_dig(root_schema(&r->result), "properties.spec");
    struct json want = parse(r, s, s->text);
    struct buf b = {.arena = a}, canonical = {.arena = a};
    yaml_encode(&b, part);
    yaml_encode(&canonical, &want);
    case_expect(r->file, &(struct case_section){.text = buf_str(&canonical), .line = s->line}, buf_str(&b));
}

static void show_missing(struct round *r, const struct case_section *s)
{
    struct findings findings = {.arena = r->file->arena};
    struct buf b = {.arena = r->file->arena};
    for (size_t i = 0; i < r->n; i++) {
        if (str_eq(r->names[i], s->args))
            crd_share_missing(r->file->arena, &r->result, &r->holders[i], &findings);
    }
    add_findings(&b, &findings, false);
    case_expect(r->file, &(struct case_section){.text = plain_lines(r->file->arena, s->text), .line = s->line},
                buf_str(&b));
}

static void run(struct case_file *c)
{
    struct round r = {.file = c};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("has")) || str_eq(s->name, S("crd")))
            add_holder(&r, s);
        else if (str_eq(s->name, S("live")))
            r.live = *definition(&r, s, true);
        else if (str_eq(s->name, S("wants")) || str_eq(s->name, S("wants-crd")))
            set_wish(&r, s);
        else if (str_eq(s->name, S("verdict")))
            judge(&r, s);
        else if (str_eq(s->name, S("effect")))
            show_effect(&r, s);
        else if (str_eq(s->name, S("missing")))
            show_missing(&r, s);
        else
            case_fail(c, s, "unknown section");
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
