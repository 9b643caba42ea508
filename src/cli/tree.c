/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"
#include "cli/cli_access.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/tree_internal.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/dialect.h"

/* What somebody means by a word: a role, a package or a namespace. */

enum tree_kind { TREE_ALL, TREE_ROLE, TREE_PACKAGE, TREE_NAMESPACE, TREE_KINDS };

struct tree_target {
    enum tree_kind kind;
    str name;           /* of a package: "repo:name:version", or as much of it as was said */
    struct json record; /* of an install that was named, else null: its inventory has the roles */
};

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

/* By exact names: first roles, then packages (repo/name, repo/name:version, or the name of an install), then namespaces. role/NAME,
 * package/NAME and namespace/NAME leave no doubt. What else a word could mean is said. */
static int tree_find(struct command *c, struct tree_graph *g, str word, struct tree_target *ret, struct err *err)
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

/* reeve tree: what aggregates into what. */

enum form { FORM_TABLE, FORM_WIDE, FORM_JSON, FORM_YAML, FORM_DOT, FORM_SVG, FORM_HTML };
static const char *const forms[] = {
    [FORM_TABLE] = "table", [FORM_WIDE] = "wide", [FORM_JSON] = "json", [FORM_YAML] = "yaml",
    [FORM_DOT] = "dot",     [FORM_SVG] = "svg",   [FORM_HTML] = "html", NULL};

/* ---- What is shown. ---- */

static void add_once(struct tree_graph *g, tree_roles *list, struct tree_role *role)
{
    vec_each(list, known)
    {
        if (*known == role)
            return;
    }
    *vec_push(g->arena, list) = role;
}

/* Those that say so themselves, and those that the record of an install names. */
static struct tree_view view_package(struct tree_graph *g, const struct tree_target *target)
{
    tree_roles roles = tree_find_package(g, target->name);
    const struct json *inventory = json_dig(&target->record, "spec.inventory");
    json_each_item(inventory, part)
    {
        enum authz_kind kind = authz_kind_of(json_get_text(part, S("kind")));
        struct tree_role *role =
            tree_graph_find(g, kind, json_get_text(part, S("namespace")), json_get_text(part, S("name")));
        if (role)
            add_once(g, &roles, role);
    }
    return tree_view_package(g, target->name, roles);
}

static struct tree_view view_of(struct tree_graph *g, const struct tree_target *target)
{
    switch (target->kind) {
    case TREE_ROLE:
        return tree_view_role(g, tree_graph_find(g, AUTHZ_CLUSTER_ROLE, (str){0}, target->name));
    case TREE_PACKAGE:
        return view_package(g, target);
    case TREE_NAMESPACE:
        return tree_view_namespace(g, target->name);
    default:
        return tree_view_all(g);
    }
}

/* Who is bound is only asked for where it is shown: many may read roles, and fewer bindings. */
static int load(struct command *c, str word, struct rights *r, struct tree_graph *g, struct tree_target *target,
                struct err *err)
{
    static const unsigned bindings = 1U << AUTHZ_CLUSTER_ROLE_BINDING | 1U << AUTHZ_ROLE_BINDING;
    int code = rights_load_kinds(c, 1U << AUTHZ_CLUSTER_ROLE, (str){0}, r, err);
    if (code < 0)
        return code;
    tree_graph_make(&c->arena, r->index, g);
    if (word.n)
        code = tree_find(c, g, word, target, err);
    if (code < 0 || target->kind == TREE_ALL || target->kind == TREE_ROLE)
        return code;
    unsigned more = target->kind == TREE_PACKAGE && json_is_obj(&target->record) ? 1U << AUTHZ_ROLE : 0; /* of stacks */
    code = rights_load_kinds(c, bindings | more, target->kind == TREE_NAMESPACE ? target->name : (str){0}, r, err);
    if (code < 0)
        return code;
    tree_graph_make(&c->arena, r->index, g);
    tree_graph_bind(g, r->index);
    return 0;
}

/* ---- How it is shown. ---- */

#define DRAWING_NS (60 * NS_PER_S) /* for Graphviz, whose time grows much faster than what it draws */

/* Without Graphviz there is still what it would have been given, or a page without the picture. */
static int print_picture(struct command *c, const struct tree_view *view, enum form form)
{
    struct buf dot = {.arena = &c->arena}, page = {.arena = &c->arena};
    struct err err;
    str svg = {0};
    tree_dot(&dot, view);
    int code = graphviz_draw(&c->arena, buf_str(&dot), DRAWING_NS, &svg, &err);
    if (code < 0 && code != ERR_NOT_FOUND)
        return command_fail(c, &err);
    if (form == FORM_HTML) {
        if (code < 0)
            term_say(&c->term, "The page has no picture: %s.", err.msg);
        tree_page(&page, view, svg);
        output_text(buf_str(&page));
        return CLI_OK;
    }
    output_text(code < 0 ? buf_str(&dot) : svg);
    if (code == 0)
        return CLI_OK;
    term_complain(c->name, "this is text for Graphviz, not a picture: %s. Where it is: dot -Tsvg", err.msg);
    return CLI_FAILED;
}

static int print(struct command *c, const struct tree_view *view, enum form form)
{
    struct buf text = {.arena = &c->arena};
    if (form == FORM_SVG || form == FORM_HTML)
        return print_picture(c, view, form);
    if (form == FORM_JSON || form == FORM_YAML) {
        struct json document = tree_document(&c->arena, view);
        output_tree(&document, form == FORM_YAML);
        return CLI_OK;
    }
    if (form == FORM_DOT)
        tree_dot(&text, view);
    else if (view->parts[0].roots.n)
        tree_draw(&text, &c->term, view, form == FORM_WIDE);
    else
        term_say(&c->term, "No role selects others.");
    output_text(buf_str(&text));
    return CLI_OK;
}

static int run(struct command *c, str word, enum form form)
{
    struct rights rights = {0};
    struct tree_graph graph;
    struct tree_target target = {0};
    struct err err;
    int code = command_connect(c, &err);
    if (code == 0)
        code = load(c, word, &rights, &graph, &target, &err);
    if (code < 0) {
        code = command_fail(c, &err);
    } else {
        struct tree_view view = view_of(&graph, &target);
        code = print(c, &view, form);
    }
    rights_done(&rights);
    return code;
}

int cli_tree(int argc, char **argv)
{
    struct command c = {.name = "tree", .takes = TAKES_SERVER | TAKES_NAMESPACE};
    int form = FORM_TABLE;
    const struct flag flags[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &form, .words = forms},
    };
    struct flag_words words;
    int code = command_start(&c, flags, COUNT(flags), argc, argv, &words);
    if (!c.is_over && words.n > 1)
        code = command_misused(&c, "one ROLE, PACKAGE or NAMESPACE at a time");
    else if (!c.is_over)
        code = run(&c, words.n ? str_of(words.p[0]) : (str){0}, (enum form)form);
    return command_end(&c, code);
}
