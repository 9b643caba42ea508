/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of plans: a package, an install of it and what the cluster has, and what follows.
 *
 *     --- package acme/shop:1.1 [digest=1]     begins a package; those before it are others of its family
 *     --- file .registry/app.yaml              a file of it
 *     --- crd orders.shop.example.org kind=Order [cluster] [status] [scale]
 *                                              a *crd.yaml of it, written out; the text is the YAML of its spec's properties
 *     --- install                              what is asked for
 *     --- cluster                              CRDs that are there, one a line: NAME kind=Order [cluster] [deleting]
 *                                              [family=acme:shop] [source=registry.example.org/acme/shop]; without a family no package
 *                                              brought it
 *     --- satisfied                            packages that are there, one a line
 *     --- options full-deployment              Reeve runs with --insecure-pass-full-deployment
 *     --- options groups=PATTERN,…             Reeve runs with --namespaced-package-groups=PATTERN,…
 *
 *     --- expect objects                       one a line, in order: ClusterRole NAME, ServiceAccount NAMESPACE/NAME
 *     --- expect object KIND NAME              one of them, as YAML
 *     --- expect rules NAME                    of a role, one a line: VERBS on GROUP: RESOURCES
 *     --- expect grants                        one a line: WHO WHERE: VERBS on GROUP: RESOURCES
 *     --- expect findings | warnings | waits   one a line; findings begin with their reason
 *     --- expect gained | lost                 grants that this package has and the one before has not, and the other way round
 *     --- expect shared NAME namespaces=a,b records=x,y   the metadata of the ClusterRole or CRD when these use it, as YAML
 *     --- expect family                        what stands between it and those before it, as findings; what has to be approved
 *     --- expect united NAME                   the owner, and properties of the one CRD for all packages, as YAML
 *     --- expect truncated TEXT length=10 suffix=5
 *     --- expect label FAMILY */
#include "cases/case.h"
#include "object/object.h"
#include "package/family.h"
#include "package/plan.h"
#include "json/yaml.h"

struct file {
    str path;
    str text;
};

struct world {
    struct case_file *c;
    struct arena *a;
    str reference, digest; /* of the package being told */
    VEC(struct file) files;
    VEC(struct package *) packages;
    VEC(struct plan_crd) cluster;
    VEC(str) satisfied;
    struct json install_object;
    struct plan_install install;
    struct findings install_findings;
    struct plan_options options;
    struct plan plan;
    bool is_planned;
};

static str first_word(str text)
{
    str word, rest;
    str_cut(str_trim(text), ' ', &word, &rest);
    return word;
}

static str second_word(str text)
{
    str word, rest;
    str_cut(str_trim(text), ' ', &word, &rest);
    return first_word(rest);
}

/* Lines of a section that are not empty. */
static bool next_line(str *rest, str *line)
{
    while (rest->n) {
        str_cut(*rest, '\n', line, rest);
        *line = str_trim(*line);
        if (line->n)
            return true;
    }
    return false;
}

/* ---- The package. ---- */

static void add_line(struct buf *lines, const struct json *line)
{
    json_encode(lines, line, 0);
    buf_add_char(lines, '\n');
}

static void add_file(struct world *w, struct buf *lines, const struct file *f)
{
    json_vec documents = {0};
    struct err err;
    if (yaml_decode_all(w->a, f->text, NULL, &documents, &err) < 0)
        case_fail(w->c, NULL, "%.*s: %s", STR(f->path), err.msg);
    for (size_t i = 0; i < documents.n; i++) {
        struct json line = json_obj();
        json_add(w->a, &line, S("path"), json_str(f->path));
        json_add(w->a, &line, S("index"), json_int((int64_t)i));
        json_add(w->a, &line, S("document"), documents.p[i]);
        add_line(lines, &line);
    }
}

static void finish_package(struct world *w)
{
    if (w->reference.n == 0)
        return;
    struct buf lines = {.arena = w->a}, digest = {.arena = w->a};
    struct json first = json_obj(), manifest = json_obj();
    struct package *p;
    struct err err;
    buf_add_str(&digest, S("sha256:"));
    for (size_t i = 0; i < 64 / w->digest.n; i++)
        buf_add_str(&digest, w->digest);
    json_add(w->a, &manifest, S("digest"), json_str(buf_str(&digest)));
    json_add(w->a, &manifest, S("reference"), json_str(w->reference));
    json_add(w->a, &first, S("manifest"), manifest);
    add_line(&lines, &first);
    vec_each(&w->files, f) add_file(w, &lines, f);
    if (package_load(content_of_text(buf_str(&lines)), w->reference, &p, &err) < 0)
        case_fail(w->c, NULL, "package %.*s: %s", STR(w->reference), err.msg);
    else
        *vec_push(w->a, &w->packages) = p;
    w->reference = (str){0};
    w->files.n = 0;
}

static void begin_package(struct world *w, const struct case_section *s)
{
    finish_package(w);
    w->reference = first_word(s->args);
    w->digest = case_arg(s, S("digest"));
    if (w->digest.n == 0)
        w->digest = S("a");
    w->is_planned = false;
}

static void add_crd(struct world *w, const struct case_section *s)
{
    struct buf b = {.arena = w->a};
    str name = first_word(s->args), kind = case_arg(s, S("kind")), plural, group, line, rest = s->text;
    str_cut(name, '.', &plural, &group);
    buf_fmt(&b, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %.*s}\nspec:\n",
            STR(name));
    buf_fmt(&b, "  group: %.*s\n  scope: %s\n", STR(group), case_has_arg(s, S("cluster")) ? "Cluster" : "Namespaced");
    buf_fmt(&b, "  names: {kind: %.*s, plural: %.*s}\n", STR(kind), STR(plural));
    buf_fmt(&b, "  versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources:\n");
    if (case_has_arg(s, S("status")))
        buf_fmt(&b, "      status: {}\n");
    if (case_has_arg(s, S("scale")))
        buf_fmt(&b, "      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}\n");
    buf_fmt(&b, "    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n");
    while (next_line(&rest, &line))
        buf_fmt(&b, "          %.*s\n", STR(line));
    *vec_push(w->a, &w->files) =
        (struct file){str_fmt(w->a, ".registry/resources/%.*s.crd.yaml", STR(plural)), buf_str(&b)};
}

static const struct package *package_of(struct world *w)
{
    finish_package(w);
    return w->packages.n ? w->packages.p[w->packages.n - 1] : NULL;
}

/* ---- The cluster. ---- */

static void read_cluster(struct world *w, const struct case_section *s)
{
    str rest = s->text, line;
    while (next_line(&rest, &line)) {
        struct case_section words = {.args = line};
        struct plan_crd *crd = vec_push(w->a, &w->cluster);
        *crd = (struct plan_crd){
            .name = first_word(line),
            .kind = case_arg(&words, S("kind")),
            .is_cluster_scoped = case_has_arg(&words, S("cluster")),
            .is_deleting = case_has_arg(&words, S("deleting")),
            .family = case_arg(&words, S("family")),
            .source = case_arg(&words, S("source")),
        };
        crd->is_managed = crd->family.n > 0;
        str_cut(crd->name, '.', &crd->plural, &crd->group);
    }
}

static void read_satisfied(struct world *w, const struct case_section *s)
{
    str rest = s->text, line;
    while (next_line(&rest, &line))
        *vec_push(w->a, &w->satisfied) = line;
}

static bool find_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    (void)a;
    const struct world *w = ctx;
    vec_each(&w->cluster, crd)
    {
        if (str_eq(crd->name, name)) {
            *ret = *crd;
            return true;
        }
    }
    return false;
}

static size_t find_group(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    const struct world *w = ctx;
    VEC(struct plan_crd) list = {0};
    vec_each(&w->cluster, crd)
    {
        if (str_eq(crd->group, group))
            *vec_push(a, &list) = *crd;
    }
    *ret = list.p;
    return list.n;
}

static bool is_satisfied(void *ctx, const struct package_requirement *requirement)
{
    const struct world *w = ctx;
    vec_each(&w->satisfied, package)
    {
        if (str_eq(*package, requirement->package))
            return true;
    }
    return false;
}

/* ---- The plan. ---- */

static void read_install(struct world *w, const struct case_section *s)
{
    struct err err;
    if (yaml_decode(w->a, s->text, NULL, NULL, &w->install_object, &err) < 0)
        case_fail(w->c, s, "%s", err.msg);
    bool is_stack = str_eq(object_api_version(&w->install_object), S("stacks.crossplane.io/v1alpha1"));
    w->install_findings = (struct findings){.arena = w->a};
    plan_install_read(w->a, is_stack ? &dialect_stacks : &dialect_packages, &w->install_object, &w->install,
                      &w->install_findings);
    w->is_planned = false;
}

static struct plan_facts facts_of(struct world *w)
{
    return (struct plan_facts){.ctx = w, .crd = find_crd, .crds_of_group = find_group, .has_package = is_satisfied};
}

static struct plan make_plan(struct world *w, const struct package *p)
{
    struct plan_facts facts = facts_of(w);
    struct plan_args args = {.package = p, .install = &w->install, .facts = &facts, .options = w->options};
    struct plan plan;
    plan_make(w->a, &args, &plan);
    return plan;
}

static void ensure_plan(struct world *w)
{
    const struct package *p = package_of(w);
    if (p && !w->is_planned && w->install.dialect)
        w->plan = make_plan(w, p);
    w->is_planned = true;
}

/* ---- What came out, as text. ---- */

static void add_strs(struct buf *b, struct strs list)
{
    strs_each(list, it)
    {
        if (it != list.p)
            buf_add_str(b, S(", "));
        buf_add_str(b, it->n ? *it : S("core"));
    }
}

static void add_rule(struct buf *b, const struct rule *rule)
{
    add_strs(b, rule->verbs);
    buf_add_str(b, S(" on "));
    add_strs(b, rule->api_groups);
    buf_add_str(b, S(": "));
    add_strs(b, rule->resources);
    if (rule->resource_names.n || rule->non_resource_urls.n)
        buf_add_str(b, S(" and more"));
    buf_add_char(b, '\n');
}

static void add_grants(struct buf *b, struct plan_grants grants)
{
    static const char *const who[] = {"controller", "admin", "edit", "view"};
    for (size_t i = 0; i < grants.n; i++) {
        const struct plan_grant *g = &grants.p[i];
        rules_each(g->rules, rule)
        {
            buf_fmt(b, "%s %.*s: ", who[g->who], STR(g->is_cluster_wide ? S("everywhere") : g->namespace));
            add_rule(b, rule);
        }
    }
}

static void add_findings(struct buf *b, const struct findings *f)
{
    vec_each(&f->list, it)
    {
        if (it->reason.n)
            buf_fmt(b, "%.*s ", STR(it->reason));
        buf_add_str(b, it->message);
        buf_add_char(b, '\n');
    }
}

typedef VEC(struct json) object_vec;

static object_vec objects_of(struct world *w)
{
    object_vec list = {0};
    for (size_t i = 0; i < w->plan.n_roles; i++)
        *vec_push(w->a, &list) = w->plan.roles[i];
    if (!json_is_null(&w->plan.cluster_role))
        *vec_push(w->a, &list) = w->plan.cluster_role;
    if (!json_is_null(&w->plan.account))
        *vec_push(w->a, &list) = w->plan.account;
    for (size_t i = 0; i < w->plan.n_bindings; i++)
        *vec_push(w->a, &list) = w->plan.bindings[i];
    if (!json_is_null(&w->plan.deployment))
        *vec_push(w->a, &list) = w->plan.deployment;
    return list;
}

static void add_objects(struct world *w, struct buf *b)
{
    object_vec list = objects_of(w);
    vec_each(&list, o)
    {
        str namespace = object_namespace(o);
        buf_fmt(b, "%.*s %.*s%s%.*s\n", STR(object_kind(o)), STR(namespace), namespace.n ? "/" : "",
                STR(object_name(o)));
    }
}

static const struct json *find_object(struct world *w, str kind, str name)
{
    object_vec list = objects_of(w);
    vec_each(&list, o)
    {
        if ((kind.n == 0 || str_eq(object_kind(o), kind)) && str_eq(object_name(o), name))
            return o;
    }
    return NULL;
}

static void add_object(struct world *w, const struct case_section *s, struct buf *b)
{
    str rest;
    str_cut(s->args, ' ', &(str){0}, &rest);
    const struct json *o = find_object(w, first_word(rest), second_word(rest));
    if (o)
        yaml_encode(b, o);
}

static void add_rules(struct world *w, const struct case_section *s, struct buf *b)
{
    const struct json *role = find_object(w, (str){0}, second_word(s->args));
    struct rules rules = {0};
    rules_from_json(w->a, json_get(role, S("rules")), &rules, NULL);
    rules_each(rules, rule)
    {
        add_rule(b, rule);
    }
}

/* ---- What is shared. ---- */

static struct strs names_of(struct world *w, str list)
{
    VEC(str) names = {0};
    str name;
    while (list.n) {
        str_cut(list, ',', &name, &list);
        *vec_push(w->a, &names) = name;
    }
    return (struct strs){names.p, names.n};
}

static void add_shared(struct world *w, const struct case_section *s, struct buf *b)
{
    const struct package *p = package_of(w);
    struct strs namespaces = names_of(w, case_arg(s, S("namespaces"))),
                records = names_of(w, case_arg(s, S("records")));
    struct plan_sharers sharers = {namespaces.p, namespaces.n, records.p, records.n};
    struct plan_facts facts = facts_of(w);
    struct plan_args args = {.package = p, .install = &w->install, .facts = &facts};
    str name = second_word(s->args);
    const struct package_crd *crd = package_find_crd(p, name);
    const struct json *roles;
    struct json body, shared;
    size_t n = plan_roles(w->a, &args, &sharers, &roles);
    for (size_t i = 0; i < n; i++)
        if (str_eq(object_name(&roles[i]), name))
            yaml_encode(b, object_meta(&roles[i]));
    if (crd && package_crd_body(p, crd, w->a, &body, NULL) == 0) {
        shared = plan_crd(w->a, w->install.dialect, p, crd, &body, &sharers);
        yaml_encode(b, object_meta(&shared));
    }
}

/* Packages are there in the order in which they are told, each in an install of its own. */
static struct family_side *sides_of(struct world *w, size_t n)
{
    struct family_side *sides = ARENA_ARRAY(w->a, struct family_side, n + 1);
    for (size_t i = 0; i < n; i++)
        sides[i] = (struct family_side){.package = w->packages.p[i],
                                        .install = str_fmt(w->a, "%zu", i),
                                        .since = str_fmt(w->a, "%04zu", i),
                                        .is_cluster = w->packages.p[i]->scope == PACKAGE_CLUSTER};
    return sides;
}

static int no_live(void *ctx, struct arena *a, str name, struct family_live *ret, struct err *err)
{
    (void)ctx;
    (void)a;
    (void)name;
    (void)err;
    *ret = (struct family_live){.body = json_null()};
    return 0;
}

static void add_family(struct world *w, struct buf *b)
{
    const struct package *p = package_of(w);
    size_t n = w->packages.n - 1;
    struct findings findings = {.arena = w->a};
    struct family_side *sides = sides_of(w, n + 1);
    struct family_question q = {.candidate = p, .self = sides[n], .others = sides, .n_others = n, .live = no_live};
    struct family_answer answer = {0};
    struct err err;
    q.self.package = NULL;
    for (size_t i = 0; i < n; i++)
        family_check_identity(p, sides[i].package, &findings);
    if (!findings.list.n && family_check_crds(w->a, &q, &answer, &findings, &err) < 0)
        buf_fmt(b, "%s\n", err.msg);
    add_findings(b, &findings);
    vec_each(&answer.needs, need)
    {
        buf_fmt(b, "ApprovalRequired %.*s\n", STR(need->text));
    }
}

static void add_united(struct world *w, const struct case_section *s, struct buf *b)
{
    struct json out = json_obj();
    struct family_crd made;
    struct err err;
    package_of(w);
    if (family_crd(w->a, sides_of(w, w->packages.n), w->packages.n, second_word(s->args), NULL, &made, &err) < 0) {
        buf_fmt(b, "%s\n", err.msg);
        return;
    }
    const struct json *version = json_get(json_get(&made.body, S("spec")), S("versions"))->items;
    json_add(w->a, &out, S("owner"), json_str(made.owner->version));
    json_add(w->a, &out, S("properties"), *json_dig(version, "schema.openAPIV3Schema.properties"));
    yaml_encode(b, &out);
}

static void add_truncated(struct world *w, const struct case_section *s, struct buf *b)
{
    uint64_t length = 0, suffix = 0;
    str_to_uint64(case_arg(s, S("length")), &length);
    str_to_uint64(case_arg(s, S("suffix")), &suffix);
    buf_add_str(b, plan_truncate(w->a, second_word(s->args), length, suffix));
}

static void add_changes(struct world *w, struct buf *b, bool gained)
{
    struct plan_grants after = {w->plan.grants, w->plan.n_grants}, before = {0};
    if (w->packages.n > 1) {
        struct plan earlier = make_plan(w, w->packages.p[w->packages.n - 2]);
        before = (struct plan_grants){earlier.grants, earlier.n_grants};
    }
    add_grants(b, gained ? plan_grants_added(w->a, before, after) : plan_grants_added(w->a, after, before));
}

static void expect(struct world *w, const struct case_section *s)
{
    struct buf b = {.arena = w->a};
    str what = first_word(s->args);
    ensure_plan(w);
    if (str_eq(what, S("objects")))
        add_objects(w, &b);
    else if (str_eq(what, S("object")))
        add_object(w, s, &b);
    else if (str_eq(what, S("rules")))
        add_rules(w, s, &b);
    else if (str_eq(what, S("grants")))
        add_grants(&b, (struct plan_grants){w->plan.grants, w->plan.n_grants});
    else if (str_eq(what, S("gained")) || str_eq(what, S("lost")))
        add_changes(w, &b, str_eq(what, S("gained")));
    else if (str_eq(what, S("findings"))) {
        add_findings(&b, &w->install_findings);
        add_findings(&b, &w->plan.findings);
    } else if (str_eq(what, S("warnings")))
        add_findings(&b, &w->plan.warnings);
    else if (str_eq(what, S("waits")))
        for (size_t i = 0; i < w->plan.n_waits; i++)
            buf_fmt(&b, "%.*s\n", STR(w->plan.waits[i]));
    else if (str_eq(what, S("shared")))
        add_shared(w, s, &b);
    else if (str_eq(what, S("family")))
        add_family(w, &b);
    else if (str_eq(what, S("united")))
        add_united(w, s, &b);
    else if (str_eq(what, S("truncated")))
        add_truncated(w, s, &b);
    else if (str_eq(what, S("label")))
        buf_add_str(&b, plan_family_label(w->a, second_word(s->args)));
    else
        case_fail(w->c, s, "what is expected?");
    case_expect(w->c, s, buf_str(&b));
}

static void run(struct case_file *c)
{
    struct world w = {.c = c, .a = c->arena};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("package")))
            begin_package(&w, s);
        else if (str_eq(s->name, S("file")))
            *vec_push(w.a, &w.files) = (struct file){first_word(s->args), s->text};
        else if (str_eq(s->name, S("crd")))
            add_crd(&w, s);
        else if (str_eq(s->name, S("install")))
            read_install(&w, s);
        else if (str_eq(s->name, S("cluster")))
            read_cluster(&w, s);
        else if (str_eq(s->name, S("satisfied")))
            read_satisfied(&w, s);
        else if (str_eq(s->name, S("options")))
            w.options = (struct plan_options){.pass_full_deployment = case_has_arg(s, S("full-deployment")),
                                              .namespaced_groups = case_arg(s, S("groups"))};
        else if (str_eq(s->name, S("expect")))
            expect(&w, s);
        else
            case_fail(c, s, "unknown section");
    }
    vec_each(&w.packages, p) package_unref(*p);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
