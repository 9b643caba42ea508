/* SPDX-License-Identifier: Apache-2.0 */
#include "package/lint.h"

#include "package/fields.h"
#include "package/pod.h"

#include <stdlib.h>

enum { METADATA_ALWAYS = 2 }; /* members that every package has: version and permissionScope */

#define INSTALL_FILE ".registry/install.yaml"

/* ---- Which file. ---- */

/* Findings begin with the file they are about, if they know it. */
static bool begins_with_file(str message, str *ret_file, str *ret_rest)
{
    ptrdiff_t at = str_find(message, S(": "));
    str file = str_upto(message, at < 0 ? 0 : (size_t)at);
    bool is_file =
        str_has_prefix(file, S(".registry/")) || str_has_suffix(file, S(".yaml")) || str_has_suffix(file, S(".yml"));
    if (!is_file || str_find_char(file, ' ') >= 0)
        return false;
    *ret_file = file;
    *ret_rest = str_from(message, (size_t)at + 2);
    return true;
}

/* "CRD buckets.example.org: …": where that is defined. */
static str file_of_crd(const struct package *p, str message)
{
    str name, rest;
    if (!str_has_prefix(message, S("CRD ")) || !str_cut(str_from(message, 4), ':', &name, &rest))
        return (str){0};
    const struct package_crd *crd = package_find_crd(p, name);
    return crd ? crd->path : (str){0};
}

static struct lint_finding place(const struct package *p, str message)
{
    struct lint_finding f = {.message = message};
    if (begins_with_file(message, &f.file, &f.message) || p == NULL)
        return f;
    if (str_has_prefix(message, S("Deployment: ")))
        f.file = p->format == PACKAGE_FORMAT_XPKG ? p->path : S(INSTALL_FILE);
    else
        f.file = file_of_crd(p, message);
    return f;
}

static void add(struct lint *l, const struct package *p, bool is_warning, const struct finding *finding)
{
    struct lint_finding f = place(p, finding->message);
    f.is_warning = is_warning;
    f.reason = finding->reason;
    *vec_push(l->arena, &l->list) = f;
}

static void add_all(struct lint *l, const struct package *p, bool is_warning, const struct findings *findings)
{
    vec_each(&findings->list, it) add(l, p, is_warning, it);
    *(is_warning ? &l->warnings : &l->wrong) += findings->list.n + findings->more;
    l->more += findings->more;
}

void package_lint_add(struct lint *l, str reason, str message)
{
    add(l, NULL, false, &(struct finding){reason, message});
    l->wrong++;
}

/* ---- What an install would say. ---- */

static void check_install(struct lint *l, const struct package *p, struct plan_options options)
{
    struct plan plan;
    plan_make_alone(l->arena, p, options, &plan);
    add_all(l, p, false, &plan.findings);
}

/* ---- What people will miss. ---- */

static void warn(struct findings *f, const struct package *p, const char *text)
{
    findings_add(f, (str){0}, "%.*s: %s", STR(p->path), text);
}

static void check_description(const struct package *p, struct findings *f)
{
    bool is_stream = p->format == PACKAGE_FORMAT_XPKG;
    if (!is_stream && !p->states_scope)
        warn(f, p, "permissionScope: is missing: the package counts as Namespaced; use Cluster or Namespaced");
    if (json_get_text(&p->metadata, S("title")).n == 0)
        warn(f, p,
             is_stream ? "metadata.name: is missing: people will see no title"
                       : "title: is missing: people will see no title");
    if (json_get_text(&p->metadata, S("overviewShort")).n == 0)
        warn(f, p,
             is_stream ? "annotation meta.crossplane.io/description: is missing: what is the package for?"
                       : "overviewShort: is missing: what is the package for?");
    if (json_len(json_get(&p->metadata, S("maintainers"))) == 0)
        warn(f, p,
             is_stream ? "annotation meta.crossplane.io/maintainer: is missing: whom to ask?"
                       : "maintainers: is missing: whom to ask?");
    if (!is_stream && json_len(json_get(&p->metadata, S("icons"))) == 0)
        findings_add(f, (str){0}, ".registry/icon.svg: is missing: people will see no icon");
}

static void add_notes(struct lint *l, const struct package *p, const char *what, const str *list, size_t n)
{
    struct buf b = {.arena = l->arena};
    for (size_t i = 0; i < n; i++)
        buf_fmt(&b, "%s%.*s", i ? ", " : "", STR(finding_shown(l->arena, list[i], FIELDS_SHOWN)));
    if (n == 0)
        return;
    struct lint_finding f = place(p, str_fmt(l->arena, "Deployment: %s: %.*s", what, STR(buf_str(&b))));
    f.is_note = true;
    *vec_push(l->arena, &l->list) = f;
}

/* What people who install it are shown of its Deployment. */
static void add_pod_notes(struct lint *l, const struct package *p)
{
    struct pod_facts f = package_describe_pod(l->arena, &p->deployment);
    add_notes(l, p, "ports", f.ports.p, f.ports.n);
    add_notes(l, p, "volumes", f.volumes.p, f.volumes.n);
    add_notes(l, p, "unusual", f.unusual.p, f.unusual.n);
}

static void check_use(const struct package *p, struct findings *f)
{
    if (p->n_crds == 0 && json_is_null(&p->deployment))
        findings_add(f, (str){0}, "it has neither a CRD nor a Deployment: an install would do nothing");
    for (size_t i = 0; i < p->n_dependencies; i++) {
        const struct package_dependency *d = &p->dependencies[i];
        str name = str_fmt(f->arena, "%.*s.%.*s", STR(d->plural), STR(d->group));
        if (package_find_crd(p, name))
            findings_add(f, (str){0}, "%.*s: dependsOn: %.*s: is the package's own", STR(p->path), STR(d->text));
    }
}

/* ---- All. ---- */

static int by_place(const void *l, const void *r)
{
    const struct lint_finding *a = l, *b = r;
    int order = str_cmp(a->file, b->file);
    if (order == 0)
        order = (a->is_warning + 2 * a->is_note) - (b->is_warning + 2 * b->is_note);
    return order ? order : str_cmp(a->message, b->message);
}

void package_lint(struct arena *a, const struct package *p, struct plan_options options, struct lint *ret)
{
    struct findings own = {.arena = a};
    *ret = (struct lint){.arena = a};
    check_install(ret, p, options);
    add_all(ret, p, true, &p->warnings);
    /* What was not read because something else is wrong is not missing. */
    if (p->path.n && (p->findings.list.n == 0 || json_len(&p->metadata) > METADATA_ALWAYS))
        check_description(p, &own);
    if (p->findings.list.n == 0)
        check_use(p, &own);
    package_warn_of_pod(p, &own);
    add_all(ret, p, true, &own);
    if (p->format != PACKAGE_FORMAT_XPKG) /* its Deployment is not the author's */
        add_pod_notes(ret, p);
    if (ret->list.n)
        qsort(ret->list.p, ret->list.n, sizeof *ret->list.p, by_place);
}
