/* SPDX-License-Identifier: Apache-2.0 */
/* What Reeve makes of a package.
 *
 *   --- package REFERENCE       begins a package: the image, as an install names it; the digest is sha256: and 64 times "0"
 *   --- file PATH               a file of the image; YAML files may have several documents, parted by \---
 *   --- file PATH repeat=N      each second line is repeated N times, as in tests/cases/bytes.h
 *   --- copies N PATH           N files like this; # stands for their numbers, in path and text
 *   --- line                    or a line as it came from reeve-fetch, whatever it is
 *   --- model                   what becomes of it, when nothing is wrong: YAML, of which only the keys given are looked at;
 *                               null stands for what must not be there
 *   --- crd NAME                one of its CRDs: YAML, as above; group, plural, kind, scope, versions, subresources,
 *                               annotations, body
 *   --- findings                what is wrong with it, a line each; absent: nothing must be
 *   --- warnings                what was left out; absent: not looked at
 *   --- lint                    what an author is told, as reeve package lint prints it: FILE: what is wrong
 *   --- error                   why it cannot be read at all
 *
 *   --- pod ACCOUNT NAMESPACE   of the package above, checked by package_check_pod; with findings as above */
#include "cases/bytes.h"
#include "package/files.h"
#include "package/lint.h"
#include "package/package.h"
#include "package/pod.h"
#include "json/base64.h"
#include "json/yaml.h"

#include <stdlib.h>

struct round {
    struct case_file *file;
    const struct case_section *at; /* where it begins */
    struct buf lines;              /* as reeve-fetch writes them */
    struct package *package;
    struct err err;
    bool is_loaded, are_findings_seen;
    struct findings pod;
    const struct findings *findings; /* those that are to be expected next */
};

/* ---- Given. ---- */

static void add_line(struct round *r, const struct json *line)
{
    json_encode(&r->lines, line, 0);
    buf_add_char(&r->lines, '\n');
}

static void add_documents(struct round *r, const struct case_section *s, str path, str text)
{
    struct arena *a = r->file->arena;
    static const struct json_limits limits = {.bytes = 32U << 20};
    json_vec documents = {0};
    struct err err;
    if (yaml_decode_all(a, text, &limits, &documents, &err) < 0)
        case_fail(r->file, s, "not YAML: %s", err.msg);
    vec_each(&documents, document)
    {
        struct json line = json_obj();
        json_add(a, &line, S("path"), json_str(path));
        json_add(a, &line, S("index"), json_int(document - documents.p));
        json_add(a, &line, S("document"), *document);
        add_line(r, &line);
    }
}

static void add_file(struct round *r, const struct case_section *s, str path, str text)
{
    struct arena *a = r->file->arena;
    struct json line = json_obj();
    json_add(a, &line, S("path"), json_str(path));
    switch (package_file_kind(path)) {
    case PACKAGE_FILE_YAML:
        add_documents(r, s, path, text);
        return;
    case PACKAGE_FILE_TEXT:
        json_add(a, &line, S("text"), json_str(text));
        break;
    case PACKAGE_FILE_BINARY:
        json_add(a, &line, S("base64"), json_str(base64_encode(a, text)));
        break;
    case PACKAGE_FILE_NONE:
        return; /* reeve-fetch leaves it where it is */
    }
    add_line(r, &line);
}

static str numbered(struct arena *a, str text, size_t number)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '#')
            buf_add_uint(&b, number);
        else
            buf_add_char(&b, text.p[i]);
    }
    return buf_str(&b);
}

static void add_copies(struct round *r, const struct case_section *s)
{
    str count, path;
    uint64_t n = 0;
    if (!str_cut(s->args, ' ', &count, &path) || !str_to_uint64(count, &n))
        case_fail(r->file, s, "wants a number and a path");
    for (size_t i = 0; i < n; i++)
        add_file(r, s, numbered(r->file->arena, path, i), numbered(r->file->arena, s->text, i));
}

/* ---- When. ---- */

/* Whatever is wrong with a package must have been expected. */
static void end_package(struct round *r)
{
    if (r->package && r->findings->list.n && !r->are_findings_seen)
        case_fail(r->file, r->at, "findings nobody expected: %.*s", STR(findings_text(r->file->arena, r->findings)));
}

static void forget(struct round *r)
{
    end_package(r);
    package_unref(r->package);
    buf_done(&r->lines);
    *r = (struct round){.file = r->file};
}

static void begin(struct round *r, const struct case_section *s)
{
    forget(r);
    r->at = s;
    buf_add_str(&r->lines, S("{\"manifest\":{\"digest\":\"sha256:"));
    for (int i = 0; i < 64; i++)
        buf_add_char(&r->lines, '0');
    buf_add_str(&r->lines, S("\"}}\n"));
}

static void load(struct round *r)
{
    if (r->is_loaded || !r->at)
        return;
    r->is_loaded = true;
    if (package_load(content_of_text(buf_str(&r->lines)), str_trim(r->at->args), &r->package, &r->err) < 0)
        r->package = NULL;
    else
        r->findings = &r->package->findings;
}

static bool is_loaded(struct round *r, const struct case_section *s)
{
    load(r);
    if (!r->package)
        case_fail(r->file, s, "not loaded: %s", r->err.msg);
    return r->package != NULL;
}

static void check_pod(struct round *r, const struct case_section *s)
{
    str account, namespace;
    if (!is_loaded(r, s))
        return;
    end_package(r);
    str_cut(s->args, ' ', &account, &namespace);
    r->pod = (struct findings){.arena = r->file->arena};
    package_check_pod(&r->package->deployment, account, str_trim(namespace), &r->pod);
    r->findings = &r->pod;
    r->are_findings_seen = false;
}

/* ---- Expect. ---- */

/* Of what there is, what the expectation speaks of, so that the two can be compared. */
static struct json picked(struct arena *a, const struct json *want, const struct json *got)
{
    if (!json_is_obj(want) || !json_is_obj(got))
        return *got;
    struct json ret = json_obj();
    json_each_member(want, m)
    {
        const struct json *v = json_get(got, json_key(m));
        if (v || json_is_null(&m->val))
            json_add(a, &ret, json_key(m), v ? picked(a, &m->val, v) : json_null());
    }
    return ret;
}

static void expect_tree(struct round *r, const struct case_section *s, const struct json *got)
{
    struct arena *a = r->file->arena;
    struct json want = {0};
    struct err err;
    struct buf wanted = {.arena = a}, text = {.arena = a};
    if (yaml_decode(a, s->text, NULL, NULL, &want, &err) < 0)
        case_fail(r->file, s, "not YAML: %s", err.msg);
    struct json part = picked(a, &want, got);
    yaml_encode(&wanted, &want);
    yaml_encode(&text, &part);
    struct case_section section = *s;
    section.text = buf_str(&wanted);
    case_expect(r->file, &section, buf_str(&text));
}

static struct json text_of(str s)
{
    return json_str(s);
}

static struct json dependencies_of(struct arena *a, const struct package *p)
{
    struct json ret = json_arr();
    for (size_t i = 0; i < p->n_dependencies; i++) {
        struct json one = json_obj();
        json_add(a, &one, S("plural"), text_of(p->dependencies[i].plural));
        json_add(a, &one, S("group"), text_of(p->dependencies[i].group));
        json_add(a, &one, S("version"), text_of(p->dependencies[i].version));
        json_push(a, &ret, one);
    }
    return ret;
}

static struct json requirements_of(struct arena *a, const struct package *p)
{
    struct json ret = json_arr();
    for (size_t i = 0; i < p->n_requirements; i++) {
        struct json one = json_obj();
        json_add(a, &one, S("package"), text_of(p->requirements[i].package));
        json_add(a, &one, S("constraint"), text_of(p->requirements[i].constraint));
        json_push(a, &ret, one);
    }
    return ret;
}

static struct json names_of(struct arena *a, const struct package *p)
{
    struct json ret = json_arr();
    for (size_t i = 0; i < p->n_crds; i++)
        json_push(a, &ret, text_of(p->crds[i].info.name));
    return ret;
}

static void expect_model(struct round *r, const struct case_section *s)
{
    struct arena *a = r->file->arena;
    struct json got = json_obj();
    if (!is_loaded(r, s))
        return;
    const struct package *p = r->package;
    json_add(a, &got, S("identity"), text_of(str_fmt(a, "%.*s:%.*s", STR(p->family), STR(p->version))));
    json_add(a, &got, S("repo"), text_of(p->repo));
    json_add(a, &got, S("name"), text_of(p->name));
    json_add(a, &got, S("version"), text_of(p->version));
    json_add(a, &got, S("format"), text_of(p->format == PACKAGE_FORMAT_XPKG ? S("xpkg") : S("registry")));
    json_add(a, &got, S("scope"), text_of(p->scope == PACKAGE_CLUSTER ? S("Cluster") : S("Namespaced")));
    json_add(a, &got, S("metadata"), p->metadata);
    json_add(a, &got, S("crds"), names_of(a, p));
    json_add(a, &got, S("crdCount"), json_int((int64_t)p->n_crds));
    json_add(a, &got, S("dependencies"), dependencies_of(a, p));
    json_add(a, &got, S("requirements"), requirements_of(a, p));
    json_add(a, &got, S("deployment"), p->deployment);
    expect_tree(r, s, &got);
}

static struct json versions_of(struct arena *a, const struct crd_info *info)
{
    struct json ret = json_arr();
    vec_each(&info->versions, v) json_push(a, &ret, text_of(v->name));
    return ret;
}

static void expect_crd(struct round *r, const struct case_section *s)
{
    struct arena *a = r->file->arena;
    struct json got = json_obj(), body = {0}, subresources = json_arr();
    if (!is_loaded(r, s))
        return;
    const struct package_crd *crd = package_find_crd(r->package, str_trim(s->args));
    if (!crd) {
        case_fail(r->file, s, "there is no such CRD");
        return;
    }
    if (package_crd_body(r->package, crd, a, &body, &r->err) < 0)
        case_fail(r->file, s, "%s", r->err.msg);
    json_add(a, &got, S("group"), text_of(crd->info.group));
    json_add(a, &got, S("plural"), text_of(crd->info.plural));
    json_add(a, &got, S("kind"), text_of(crd->info.kind));
    json_add(a, &got, S("scope"), text_of(crd->info.is_namespaced ? S("Namespaced") : S("Cluster")));
    json_add(a, &got, S("versions"), versions_of(a, &crd->info));
    if (crd->info.has_status)
        json_push(a, &subresources, text_of(S("status")));
    if (crd->info.has_scale)
        json_push(a, &subresources, text_of(S("scale")));
    json_add(a, &got, S("subresources"), subresources);
    json_add(a, &got, S("annotations"), crd->annotations);
    json_add(a, &got, S("body"), body);
    expect_tree(r, s, &got);
}

static void expect_texts(struct round *r, const struct case_section *s, const struct findings *f, bool has_reasons)
{
    struct buf b = {.arena = r->file->arena};
    vec_each(&f->list, it)
    {
        if (has_reasons && !str_eq(it->reason, S("InvalidPackage")))
            buf_fmt(&b, "%.*s: ", STR(it->reason));
        buf_fmt(&b, "%.*s\n", STR(it->message));
    }
    if (f->more)
        buf_fmt(&b, "and %zu more\n", f->more);
    case_expect(r->file, s, buf_str(&b));
}

static void expect_lint(struct round *r, const struct case_section *s)
{
    struct buf b = {.arena = r->file->arena};
    struct lint lint;
    if (!is_loaded(r, s))
        return;
    r->are_findings_seen = true; /* they are among them */
    package_lint(r->file->arena, r->package, (struct plan_options){0}, &lint);
    size_t wrong = lint.more, warnings = 0;
    vec_each(&lint.list, it)
    {
        buf_fmt(&b, "%.*s%s%s%.*s\n", STR(it->file), it->file.n ? ": " : "",
                it->is_note      ? "note: "
                : it->is_warning ? "warning: "
                                 : "",
                STR(it->message));
        if (!it->is_note)
            *(it->is_warning ? &warnings : &wrong) += 1;
    }
    if (lint.wrong + lint.warnings != wrong + warnings)
        case_fail(r->file, s, "%zu and %zu were counted", lint.wrong, lint.warnings);
    case_expect(r->file, s, buf_str(&b));
}

static void expect_error(struct round *r, const struct case_section *s)
{
    load(r);
    case_expect(r->file, s, r->package ? S("none") : case_error(r->file, &r->err));
}

static void expect(struct round *r, const struct case_section *s)
{
    if (str_eq(s->name, S("model"))) {
        expect_model(r, s);
    } else if (str_eq(s->name, S("crd"))) {
        expect_crd(r, s);
    } else if (str_eq(s->name, S("lint"))) {
        expect_lint(r, s);
    } else if (str_eq(s->name, S("error"))) {
        expect_error(r, s);
    } else if (str_eq(s->name, S("warnings"))) {
        if (is_loaded(r, s))
            expect_texts(r, s, &r->package->warnings, false);
    } else if (str_eq(s->name, S("findings"))) {
        r->are_findings_seen = true;
        if (is_loaded(r, s))
            expect_texts(r, s, r->findings, true);
    } else {
        case_fail(r->file, s, "no such section");
    }
}

/* The path is what stands before the first blank; behind it there may be words for case_bytes. */
static str path_of(const struct case_section *s)
{
    str path, rest;
    return str_cut(s->args, ' ', &path, &rest) ? path : str_trim(s->args);
}

static void run(struct case_file *c)
{
    struct round r = {.file = c};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("package"))) {
            begin(&r, s);
        } else if (str_eq(s->name, S("file"))) {
            add_file(&r, s, path_of(s), case_bytes(c, s));
        } else if (str_eq(s->name, S("copies"))) {
            add_copies(&r, s);
        } else if (str_eq(s->name, S("line"))) {
            buf_add_str(&r.lines, s->text);
            buf_add_char(&r.lines, '\n');
        } else if (str_eq(s->name, S("pod"))) {
            check_pod(&r, s);
        } else {
            expect(&r, s);
        }
    }
    forget(&r);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
