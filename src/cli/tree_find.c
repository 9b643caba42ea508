/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tree_find.h"

#include "base/shell.h"
#include "cli/help.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/dialect.h"

/* ---- Packages: by the roles that they brought, or by the record of an install. ---- */

/* "repo/name:version" as roles have it: "repo:name:version". */
static str from_reference(struct arena *a, str word)
{
    struct oci_reference ref;
    if (str_find_char(word, '/') < 0 || oci_reference_parse(word, &ref, NULL) < 0)
        return word;
    struct oci_digest none = {0};
    struct oci_identity id = oci_reference_identity(a, &ref, ref.tag.n ? ref.tag : S("-"), &none);
    if (ref.tag.n == 0)
        return str_fmt(a, "%.*s:%.*s", STR(id.repo), STR(id.name));
    return str_fmt(a, "%.*s:%.*s:%.*s", STR(id.repo), STR(id.name), STR(id.version));
}

static str package_of(struct arena *a, const struct json *record)
{
    const struct json *spec = json_get(record, S("spec"));
    str family = json_get_text(spec, S("family")), version = json_get_text(spec, S("version"));
    return version.n ? str_fmt(a, "%.*s:%.*s", STR(family), STR(version)) : family;
}

/* Records of this name. What one may not see counts as absent, and is remembered. */
struct search {
    struct command *c;
    str name;
    str package;    /* as roles have it */
    bool has_roles; /* roles say that they are of that package */
    VEC(struct json) records;
    struct err refused;
};

static int look_in(struct search *s, const struct client_resource *resource, struct err *err)
{
    struct command *c = s->c;
    struct json found;
    str fields = str_fmt(&c->arena, "metadata.name=%.*s", STR(s->name));
    struct client_ref ref = {.resource = resource, .namespace = resource->namespaced ? c->namespace : (str){0}};
    struct client_list_options options = {.field_selector = fields};
    command_needs(
        c, (struct command_need){
               .verb = "list", .group = resource->group, .resource = resource->plural, .namespace = ref.namespace});
    int code = client_list(c->session.client, &c->arena, &ref, &options, &found, NULL, err);
    if (code == ERR_FORBIDDEN)
        s->refused = *err;
    if (code == ERR_FORBIDDEN || code == ERR_NOT_FOUND) /* not found: the kind is not there */
        return 0;
    if (code < 0)
        return code;
    json_each_item(&found, record) * vec_push(&c->arena, &s->records) = *record;
    return 0;
}

/* Installs are named like hosts; anything else would make no sense in a selector. */
static bool can_be_install(str word)
{
    for (size_t i = 0; i < word.n; i++) {
        char ch = word.p[i];
        if (!char_is_lower(ch) && !char_is_digit(ch) && ch != '-' && ch != '.')
            return false;
    }
    return true;
}

static int find_records(struct search *s, struct err *err)
{
    static const struct dialect *const dialects[] = {&dialect_packages, &dialect_stacks};
    int code = 0;
    for (size_t i = 0; code == 0 && i < 4 && can_be_install(s->name); i++) {
        const struct dialect *d = dialects[i / 2];
        bool is_cluster = i % 2;
        const struct client_resource resource = {d->group, d->version, d->record[is_cluster].plural,
                                                 d->record[is_cluster].kind, !is_cluster};
        code = look_in(s, &resource, err);
    }
    return code;
}

/* The same package in several namespaces is one; others have to be told apart. */
static int choose_record(struct search *s, struct tree_target *ret, struct err *err)
{
    struct arena *a = &s->c->arena;
    struct buf all = {.arena = a};
    bool is_same = true;
    vec_each(&s->records, record)
    {
        str package = package_of(a, record), namespace = object_namespace(record);
        is_same &= str_eq(package, package_of(a, s->records.p));
        buf_fmt(&all, "%s%.*s in %.*s", all.n ? ", " : "", STR(package),
                STR(namespace.n ? namespace : S("the whole cluster")));
    }
    if (!is_same)
        return err_set(err, ERR_CONFLICT,
                       "%.*s is the name of several installs: %.*s. Say which with -n, or by package/REPO/NAME",
                       STR(s->name), STR(buf_str(&all)));
    *ret = (struct tree_target){TREE_PACKAGE, package_of(a, s->records.p), s->records.p[0]};
    return 0;
}

/* ---- What a word means. ---- */

/* Nothing has this name: nearly something, or a namespace that has nothing to show. */
static int miss(struct command *c, struct tree_graph *g, const char *kind, str word, struct err *err)
{
    static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);
    struct client_ref ref = {.resource = &namespaces, .name = word};
    VEC(const char *) names = {0};
    if (client_get_metadata(c->session.client, &c->arena, &ref, NULL, NULL) == 0)
        return err_set(
            err, ERR_NOT_FOUND,
            "the namespace %.*s has no persona roles. To give it some: kubectl label namespace %.*s " LABEL_MANAGED_ROLES
            "=true",
            STR(word), STR(word));
    for (size_t i = 0; i < g->n; i++) {
        *vec_push(&c->arena, &names) = str_cstr(&c->arena, g->roles[i].role->name);
        if (g->roles[i].package.n)
            *vec_push(&c->arena, &names) = str_cstr(&c->arena, g->roles[i].package);
    }
    *vec_push(&c->arena, &names) = NULL;
    const char *nearest = flags_nearest(str_cstr(&c->arena, word), names.p);
    return err_set(err, ERR_NOT_FOUND, "there is no %s \"%.*s\"%s%s%s", kind, STR(word),
                   nearest ? ", did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}

/* Of a word that could mean more than what is shown. */
static void tell_others(struct command *c, const struct tree_target *shown, str word, const bool *means)
{
    static const char *const kinds[] = {
        [TREE_ROLE] = "role", [TREE_PACKAGE] = "package", [TREE_NAMESPACE] = "namespace"};
    for (int kind = TREE_ROLE; kind <= TREE_NAMESPACE; kind++)
        if (means[kind] && kind != (int)shown->kind)
            term_say(&c->term, "This is the %s %.*s. There is a %s of that name, too: %s tree %s/%.*s",
                     kinds[shown->kind], STR(word), kinds[kind], help_program(), kinds[kind],
                     STR(shell_word(&c->arena, word)));
}

static bool takes_prefix(str *word, const char *prefix)
{
    size_t n = strlen(prefix);
    if (!str_has_prefix(*word, str_of(prefix)) || word->n == n)
        return false;
    *word = str_from(*word, n);
    return true;
}

static enum tree_kind read_prefix(str *word)
{
    if (takes_prefix(word, "role/") || takes_prefix(word, "clusterrole/"))
        return TREE_ROLE;
    if (takes_prefix(word, "package/"))
        return TREE_PACKAGE;
    if (takes_prefix(word, "namespace/") || takes_prefix(word, "ns/"))
        return TREE_NAMESPACE;
    return TREE_ALL;
}

/* What is known without asking the server any more; installs only if no package brought roles under that name. */
static int look_around(struct search *s, struct tree_graph *g, enum tree_kind only, bool *means, struct err *err)
{
    if (only == TREE_ALL || only == TREE_ROLE)
        means[TREE_ROLE] = tree_graph_find(g, AUTHZ_CLUSTER_ROLE, (str){0}, s->name) != NULL;
    if (only == TREE_ALL || only == TREE_NAMESPACE)
        means[TREE_NAMESPACE] = tree_view_namespace(g, s->name).parts[0].roots.n > 0;
    if (only == TREE_ALL || only == TREE_PACKAGE) {
        s->has_roles = tree_find_package(g, s->package).n > 0;
        int code = s->has_roles ? 0 : find_records(s, err);
        means[TREE_PACKAGE] = s->has_roles || s->records.n;
        return code;
    }
    return 0;
}

int tree_find(struct command *c, struct tree_graph *g, str word, struct tree_target *ret, struct err *err)
{
    static const char *const wanted[] = {"role, package or namespace", "role", "package", "namespace"};
    bool means[TREE_KINDS] = {0};
    enum tree_kind only = read_prefix(&word);
    struct search s = {.c = c, .name = word, .package = from_reference(&c->arena, word)};
    int code = look_around(&s, g, only, means, err);
    if (code < 0)
        return code;
    if (means[TREE_ROLE])
        *ret = (struct tree_target){.kind = TREE_ROLE, .name = word};
    else if (s.has_roles)
        *ret = (struct tree_target){.kind = TREE_PACKAGE, .name = s.package};
    else if (means[TREE_PACKAGE])
        code = choose_record(&s, ret, err);
    else if (means[TREE_NAMESPACE])
        *ret = (struct tree_target){.kind = TREE_NAMESPACE, .name = word};
    else if (s.refused.code)
        return *err = s.refused, err_wrap(err, "look for an install %.*s", STR(word));
    else
        return miss(c, g, wanted[only], word, err);
    if (code == 0)
        tell_others(c, ret, word, means);
    return code;
}
