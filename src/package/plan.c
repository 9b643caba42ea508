/* SPDX-License-Identifier: Apache-2.0 */
#include "package/plan.h"
#include "object/name.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/plan_internal.h"
#include "package/pod.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>

static void carry(struct findings *to, const struct findings *from)
{
    vec_each(&from->list, it)
    {
        findings_add(to, it->reason, "%.*s", STR(it->message));
    }
    to->more += from->more;
}

/* ---- Grants. ---- */

struct granting {
    struct arena *a;
    VEC(struct plan_grant) list;
};

/* namespace: empty for the whole cluster. */
static void grant(struct granting *g, enum plan_subject who, str namespace, struct rules rules)
{
    if (rules.n)
        *vec_push(g->a, &g->list) = (struct plan_grant){
            .who = who, .is_cluster_wide = namespace.n == 0, .namespace = namespace, .rules = rules};
}

static void add_grants(struct arena *a, const struct plan_args *args, const struct plan_rights *rights,
                       struct plan *plan)
{
    struct granting g = {.a = a};
    str where = args->install->is_cluster ? (str){0} : args->install->namespace;
    grant(&g, PLAN_CONTROLLER, where, rights->system);
    grant(&g, PLAN_CONTROLLER, (str){0}, rights->system_cluster);
    for (int i = 0; i < PLAN_PERSONAS; i++)
        grant(&g, (enum plan_subject)(PLAN_ADMIN + i), where, rights->persona[i]);
    plan->grants = g.list.p;
    plan->n_grants = g.list.n;
}

/* ---- What people should know before they agree. ---- */

static void warn_of_cluster_wide(const struct plan_install *install, const struct rule *rule, struct findings *warnings)
{
    strs_each(rule->api_groups, group)
    {
        strs_each(rule->resources, resource)
        {
            findings_add(warnings, (str){0},
                         "ServiceAccount %.*s/%.*s may read and change all %.*s.%.*s: they belong to no namespace",
                         STR(install->namespace), STR(install->name), STR(*resource), STR(*group));
        }
    }
}

/* Rights to all of a group grow with the group, and nobody agrees to that a second time. */
static void warn_of_groups(const struct plan_args *args, struct findings *warnings)
{
    const struct package *p = args->package;
    const struct plan_install *install = args->install;
    struct map told = {0};
    for (size_t i = 0; i < p->n_dependencies; i++) {
        if (str_eq(p->dependencies[i].plural, S("*")) && !map_set(&told, p->dependencies[i].group, &told))
            findings_add(warnings, (str){0},
                         "ServiceAccount %.*s/%.*s may read and change whatever kinds %.*s gets later, too",
                         STR(install->namespace), STR(install->name), STR(p->dependencies[i].group));
    }
    map_done(&told);
}

static void add_warnings(const struct plan_args *args, const struct plan_rights *rights, struct findings *warnings)
{
    const struct plan_install *install = args->install;
    if (install->is_cluster)
        findings_add(warnings, (str){0},
                     "ServiceAccount %.*s/%.*s may read and change ConfigMaps, Events and Secrets in all namespaces",
                     STR(install->namespace), STR(install->name));
    rules_each(rights->system_cluster, rule)
    {
        warn_of_cluster_wide(install, rule, warnings);
    }
    warn_of_groups(args, warnings);
    if (args->options.pass_full_deployment && !json_is_null(&args->package->deployment))
        findings_add(warnings, (str){0}, "the Deployment may do on its node whatever install.yaml asks for");
    else
        package_warn_of_pod(args->package, warnings);
}

/* ---- The plan. ---- */

static void add_objects(struct arena *a, const struct plan_args *args, const struct plan_rights *rights,
                        struct plan *plan)
{
    const struct plan_install *install = args->install;
    struct plan_sharers alone = {.namespaces = &install->namespace, .n_namespaces = !install->is_cluster};
    struct plan_objects roles = plan_roles_of(a, args, rights, &alone);
    struct plan_objects bindings = plan_bindings_of(a, args, rights);
    plan->roles = roles.p;
    plan->n_roles = roles.n;
    plan->bindings = bindings.p;
    plan->n_bindings = bindings.n;
    plan->cluster_role = plan_cluster_role_of(a, args, rights);
    plan->account = plan_account_of(a, install);
    plan->deployment = plan_deployment_of(a, args);
}

void plan_make(struct arena *a, const struct plan_args *args, struct plan *ret)
{
    *ret = (struct plan){.findings = {.arena = a}, .warnings = {.arena = a}};
    struct plan_rights rights = plan_rights_of(a, args);
    carry(&ret->findings, &args->package->findings);
    carry(&ret->warnings, &args->package->warnings);
    plan_conflicts(args, &rights, &ret->findings);
    ret->waits = rights.waits;
    ret->n_waits = rights.n_waits;
    if (ret->findings.list.n)
        return; /* fail closed: what must not be carried out is not there */
    add_objects(a, args, &rights, ret);
    add_grants(a, args, &rights, ret);
    add_warnings(args, &rights, &ret->warnings);
}

struct rules plan_cluster_access(const struct plan_install *install, const struct plan *plan)
{
    for (size_t i = 0; !install->is_cluster && i < plan->n_grants; i++) {
        if (plan->grants[i].who == PLAN_CONTROLLER && plan->grants[i].is_cluster_wide)
            return plan->grants[i].rules;
    }
    return (struct rules){0};
}

/* ---- A cluster that has nothing. ---- */

static bool no_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    (void)ctx;
    (void)a;
    (void)name;
    (void)ret;
    return false;
}

static size_t no_crds(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    (void)ctx;
    (void)a;
    (void)group;
    (void)ret;
    return 0;
}

void plan_make_alone(struct arena *a, const struct package *p, struct plan_options options, struct plan *ret)
{
    static const struct plan_facts nothing = {.crd = no_crd, .crds_of_group = no_crds};
    const bool is_cluster = p->scope == PACKAGE_CLUSTER;
    struct plan_install *install = ARENA_NEW(a, struct plan_install);
    *install = (struct plan_install){
        .dialect = &dialect_packages,
        .is_cluster = is_cluster,
        .name = p->name,
        .namespace = is_cluster ? S(ENVIRONMENT_NAMESPACE) : S("default"),
        .image = p->name,
        .pull_secrets = json_null(),
        .account_annotations = json_null(),
    };
    plan_make(a, &(struct plan_args){.package = p, .install = install, .facts = &nothing, .options = options}, ret);
}

/* ---- What of an install the plan needs. ---- */

/* What of an install the plan needs. The schema of its CRD has checked most of it; what an older server, or one without that
 * schema, let through is found here. */

#define REASON S("InvalidInstall")

struct reading {
    struct arena *a;
    const struct json *spec;
    struct findings *findings;
};

/* The text of a field of spec that may be left out. */
static str text_of(struct reading *r, const char *field)
{
    const struct json *v = json_get(r->spec, str_of(field));
    if (!json_is_null(v) && !json_is_str(v))
        findings_add(r->findings, REASON, "spec.%s: must be a string, not %s", field, json_type_name(v));
    return json_text(v);
}

static str read_image(struct reading *r, str source)
{
    const struct json *field = json_get(r->spec, S("package"));
    str package = text_of(r, "package");
    struct oci_reference parsed;
    struct err err;
    if (json_is_null(field) || (json_is_str(field) && package.n == 0))
        findings_add(r->findings, REASON, "spec.package: must name an image, such as acme/wordpress:1.0");
    if (package.n == 0)
        return package;
    str image = oci_reference_with_source(r->a, package, source);
    if (oci_reference_parse(image, &parsed, &err) < 0)
        findings_add(r->findings, REASON, "spec.package: %s", err.msg);
    return image;
}

static str read_policy(struct reading *r)
{
    str policy = text_of(r, "imagePullPolicy");
    if (policy.n && !str_eq(policy, S("Always")) && !str_eq(policy, S("IfNotPresent")) && !str_eq(policy, S("Never")))
        findings_add(r->findings, REASON, "spec.imagePullPolicy: must be Always, IfNotPresent or Never, not \"%.*s\"",
                     STR(policy));
    return policy;
}

static struct json read_secrets(struct reading *r)
{
    const struct json *list = json_get(r->spec, S("imagePullSecrets"));
    struct json secrets = json_null();
    if (json_is_null(list))
        return secrets;
    if (!json_is_arr(list)) {
        findings_add(r->findings, REASON, "spec.imagePullSecrets: must be a list of {name: …}");
        return secrets;
    }
    secrets = json_arr_sized(r->a, json_len(list));
    json_each_item(list, item)
    {
        str name = json_get_text(item, S("name"));
        struct json secret = json_obj();
        if (!name_is(NAME_DNS_SUBDOMAIN, name))
            findings_add(r->findings, REASON, "spec.imagePullSecrets[%zu].name: must be the name of a Secret",
                         (size_t)(item - list->items));
        json_add(r->a, &secret, S("name"), json_str(name));
        json_push(r->a, &secrets, secret);
    }
    return secrets;
}

static struct json read_annotations(struct reading *r)
{
    const struct json *account = json_get(r->spec, S("serviceAccount"));
    const struct json *annotations = json_get(account, S("annotations"));
    struct field_errors errs = {.arena = r->a};
    if (!json_is_null(account) && !json_is_obj(account))
        findings_add(r->findings, REASON, "spec.serviceAccount: must be an object, not %s", json_type_name(account));
    name_validate_annotations(&errs, S("spec.serviceAccount.annotations"), annotations);
    vec_each(&errs.list, e)
    {
        struct buf text = {.arena = r->a};
        field_error_format(&text, e);
        findings_add(r->findings, REASON, "%.*s", STR(buf_str(&text)));
    }
    return annotations ? *annotations : json_null();
}

static str read_namespace(struct reading *r)
{
    str namespace = text_of(r, "namespace");
    if (namespace.n == 0)
        return S(ENVIRONMENT_NAMESPACE);
    struct name_faults faults = name_check(NAME_DNS_LABEL, namespace);
    if (faults.n)
        findings_add(r->findings, REASON, "spec.namespace: \"%.*s\": %s", STR(namespace), faults.texts[0]);
    return namespace;
}

static str held_source(struct arena *a, str reference)
{
    struct oci_reference ref;
    return oci_reference_parse(reference, &ref, NULL) < 0 ? (str){0} : oci_reference_source(a, &ref);
}

void plan_install_read(struct arena *a, const struct dialect *dialect, const struct json *install,
                       struct plan_install *ret, struct findings *findings)
{
    struct reading r = {.a = a, .spec = json_get(install, S("spec")), .findings = findings};
    bool is_cluster = str_eq(object_kind(install), dialect->install[1].kind);
    str source = text_of(&r, "source");
    str held = json_get_text(json_get(install, S("status")), S("installedPackage"));
    *ret = (struct plan_install){
        .dialect = dialect,
        .is_cluster = is_cluster,
        .name = object_name(install),
        .namespace = is_cluster ? read_namespace(&r) : object_namespace(install),
        .image = read_image(&r, source),
        .source = source,
        .held_source = held_source(a, held),
        .pull_policy = read_policy(&r),
        .pull_secrets = read_secrets(&r),
        .account_annotations = read_annotations(&r),
    };
    if (!is_cluster && !str_eq(object_kind(install), dialect->install[0].kind))
        findings_add(findings, REASON, "kind: must be %.*s or %.*s, not \"%.*s\"", STR(dialect->install[0].kind),
                     STR(dialect->install[1].kind), STR(object_kind(install)));
}

enum {
    DEPLOYMENT_NAME_BASE = 52, /* with "-controller" it fits into a label, which pods have */
    HASH_SUFFIX = 6,
    SHA1_BYTES = 20,
    SHA1_LETTERS = 32, /* in base32 */
    FAMILY_LABEL = 63,
    FAMILY_LETTERS = 26, /* 130 bits: nobody finds two families that have the same */
};

str plan_join(struct arena *a, str head, str tail)
{
    struct buf b = {.arena = a};
    buf_grow(&b, head.n + tail.n);
    buf_add_str(&b, head);
    buf_add_str(&b, tail);
    return buf_str(&b);
}

/* ---- Names. ---- */

/* The first letters of the hash in base32 (RFC 4648), small, as many as fit into its bits. */
static void add_letters(struct buf *b, const unsigned char *hash, size_t letters)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned bits = 0, n_bits = 0;
    for (size_t at = 0; letters > 0; letters--) {
        if (n_bits < 5) {
            bits = (bits << 8 | hash[at++]) & 0xfff;
            n_bits += 8;
        }
        n_bits -= 5;
        buf_add_char(b, alphabet[bits >> n_bits & 31]);
    }
}

static void digest(const EVP_MD *kind, str text, unsigned char hash[EVP_MAX_MD_SIZE])
{
    if (EVP_Digest(text.n ? text.p : "", text.n, hash, NULL, kind, NULL) != 1)
        abort(); /* out of memory */
}

str plan_truncate(struct arena *a, str text, size_t length, size_t suffix)
{
    assert(suffix >= 2 && suffix <= SHA1_LETTERS + 1 && length >= suffix);
    if (text.n <= length)
        return text;
    unsigned char hash[EVP_MAX_MD_SIZE];
    digest(EVP_sha1(), text, hash); /* for names that people know from elsewhere; nothing relies on its strength */
    str head = str_upto(text, length - suffix);
    while (head.n && head.p[head.n - 1] == '.')
        head.n--;
    struct buf b = {.arena = a};
    buf_add_str(&b, head);
    buf_add_char(&b, '-');
    add_letters(&b, hash, suffix - 1);
    return buf_str(&b);
}

str plan_deployment_name(struct arena *a, str install)
{
    str base = plan_truncate(a, install, DEPLOYMENT_NAME_BASE, HASH_SUFFIX);
    return str_fmt(a, "%.*s-controller", STR(base));
}

str plan_role_name(struct arena *a, const struct dialect *dialect, const struct package *p, const char *role)
{
    return str_fmt(a, "%.*s:%.*s:%.*s:%s", STR(dialect->word), STR(p->family), STR(p->version), role);
}

/* Components of image names have no two dots in a row, so these part repo from name for certain. What is shortened always has 63
 * bytes and what is not never has, so that no family is named like the hash of another. */
str plan_family_label(struct arena *a, str family)
{
    struct buf b = {.arena = a};
    str repo, name;
    str_cut(family, ':', &repo, &name);
    buf_add_str(&b, repo);
    buf_add_str(&b, S(".."));
    buf_add_str(&b, name);
    if (b.n < FAMILY_LABEL)
        return buf_str(&b);
    unsigned char hash[EVP_MAX_MD_SIZE];
    digest(EVP_sha256(), family, hash);
    b.n = FAMILY_LABEL - 1 - FAMILY_LETTERS;
    buf_add_char(&b, '-');
    add_letters(&b, hash, FAMILY_LETTERS);
    return buf_str(&b);
}

/* ---- CRDs. ---- */

/* CRDs as they are written: the author's, with labels that say for whom they are and whose. Cost is linear in those who share
 * one: labels are added, not looked for, because the package manager's keys are not the author's to use. */

static bool is_ours(str key)
{
    return str_has_prefix(key, S(ANNOTATION_PREFIX));
}

/* What the author wrote, without keys that only Reeve writes. */
static struct json author_map(struct arena *a, const struct json *map, size_t room)
{
    struct json copy = json_obj_sized(a, json_len(map) + room);
    json_each_member(map, m)
    {
        if (!crd_key_is_reserved(json_key(m)))
            json_add(a, &copy, json_key(m), m->val);
    }
    return copy;
}

static struct json labels_of(struct arena *a, const struct dialect *dialect, const struct package *p,
                             const struct json *body, const struct plan_sharers *sharers)
{
    enum { OTHERS = 2 };
    struct json labels = author_map(a, object_labels(body), sharers->n_namespaces + sharers->n_records + OTHERS);
    bool is_cluster = p->scope == PACKAGE_CLUSTER;
    json_add(a, &labels, S(LABEL_MANAGED_BY), json_str(S(LABEL_MANAGER)));
    if (dialect->has_personas)
        json_add(a, &labels, S(LABEL_SCOPE), json_str(is_cluster ? S("environment") : S("namespace")));
    if (dialect->has_personas && !is_cluster)
        plan_add_namespaces(a, &labels, sharers);
    for (size_t i = 0; i < sharers->n_records; i++)
        json_add(a, &labels, plan_join(a, S(LABEL_PARENT_PREFIX), sharers->records[i]), json_str(S("true")));
    return labels;
}

/* packages.crossplane.io/x, or stacks.crossplane.io/x where that is the dialect. */
static str spoken(struct arena *a, const struct dialect *dialect, str key)
{
    if (!is_ours(key) || str_eq(dialect->group, S("packages.crossplane.io")))
        return key;
    return str_fmt(a, "%.*s/%.*s", STR(dialect->group), STR(str_from(key, sizeof ANNOTATION_PREFIX - 1)));
}

static struct json annotations_of(struct arena *a, const struct dialect *dialect, const struct package *p,
                                  const struct package_crd *crd, const struct json *body)
{
    enum { OTHERS = 3 };
    struct json annotations = author_map(a, object_annotations(body), json_len(&crd->annotations) + OTHERS);
    str title = json_get_text(&p->metadata, S("title"));
    json_each_member(&crd->annotations, m)
    {
        json_set(a, &annotations, spoken(a, dialect, json_key(m)), m->val);
    }
    if (title.n)
        json_set(a, &annotations, str_fmt(a, "%.*s/%.*s", STR(dialect->group), STR(dialect->title_annotation)),
                 json_str(title));
    json_set(a, &annotations, S(ANNOTATION_FAMILY), json_str(p->family));
    if (p->source.n)
        json_set(a, &annotations, S(ANNOTATION_SOURCE), json_str(p->source));
    return annotations;
}

struct json plan_crd(struct arena *a, const struct dialect *dialect, const struct package *p,
                     const struct package_crd *crd, const struct json *body, const struct plan_sharers *sharers)
{
    struct json object = json_dup_top(a, body);
    struct json metadata = json_obj();
    json_add(a, &metadata, S("name"), json_str(crd->info.name));
    json_add(a, &metadata, S("labels"), labels_of(a, dialect, p, body, sharers));
    json_add(a, &metadata, S("annotations"), annotations_of(a, dialect, p, crd, body));
    json_set(a, &object, S("metadata"), metadata);
    return object;
}

/* ---- Differences. ---- */

/* What somebody holds where this grant holds: what is granted for the whole cluster holds in every namespace, too. */
static struct rules held(struct arena *a, const struct plan_grants *grants, const struct plan_grant *where)
{
    struct rules all = {0};
    for (size_t i = 0; i < grants->n; i++) {
        const struct plan_grant *g = &grants->p[i];
        bool is_here = !where->is_cluster_wide && str_eq(g->namespace, where->namespace);
        if (g->who == where->who && (g->is_cluster_wide || is_here))
            all = rules_union(a, all, g->rules);
    }
    return all;
}

struct plan_grants plan_grants_added(struct arena *a, struct plan_grants before, struct plan_grants after)
{
    VEC(struct plan_grant) list = {0};
    for (size_t i = 0; i < after.n; i++) {
        struct plan_grant g = after.p[i];
        g.rules = rules_added(a, held(a, &before, &g), g.rules, NULL);
        if (g.rules.n)
            *vec_push(a, &list) = g;
    }
    return (struct plan_grants){list.p, list.n};
}
