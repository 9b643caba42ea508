/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/question.h"
#include "cli/cli_access.h"

int resource_all(struct command *c, const struct client_discovery **ret, struct err *err)
{
    if (!c->discovery) {
        struct client_discovery *found = ARENA_NEW(&c->arena, struct client_discovery);
        int code = client_discover(c->session.client, &c->arena, found, err);
        if (code < 0) {
            (void)err_wrap(err, "ask which resources there are");
            return code;
        }
        c->discovery = found;
    }
    *ret = c->discovery;
    return 0;
}

/* ---- What somebody may have meant. ---- */

typedef VEC(const char *) words;

static void add_word(struct arena *a, words *list, str word)
{
    if (word.n)
        *vec_push(a, list) = str_cstr(a, word);
}

/* Of those in the group, if there is one. */
static const char *nearest(struct arena *a, const struct client_discovery *d, str type, const str *group)
{
    words list = {0};
    for (size_t i = 0; i < d->n; i++) {
        const struct client_discovered *x = &d->p[i];
        if (group && !str_eq(x->resource.group, *group))
            continue;
        add_word(a, &list, x->resource.plural);
        add_word(a, &list, x->singular);
        for (size_t k = 0; k < x->n_short_names; k++)
            add_word(a, &list, x->short_names[k]);
    }
    *vec_push(a, &list) = NULL;
    return flags_nearest(str_cstr(a, str_lower(a, type)), list.p);
}

/* "deployments.apps" for deployments.batch: the same in another group. */
static str elsewhere(struct arena *a, const struct client_discovery *d, str name)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct client_resource *r = &d->p[i].resource;
        if (str_eq(r->plural, name))
            return str_fmt(a, "%.*s%s%.*s", STR(name), r->group.n ? "." : "", STR(r->group));
    }
    return (str){0};
}

static str guess(struct arena *a, const struct client_discovery *d, str name, const str *group)
{
    str other = group ? elsewhere(a, d, name) : (str){0};
    const char *meant = other.n ? NULL : nearest(a, d, name, group);
    if (!meant || str_eq(str_of(meant), name))
        return other;
    return group ? str_fmt(a, "%s.%.*s", meant, STR(*group)) : str_of(meant);
}

/* ERR_NOT_FOUND, and what else there is to say about it. */
static int unknown(struct command *c, const struct client_discovery *d, str type, struct err *err)
{
    str name, group;
    bool has_group = str_cut(type, '.', &name, &group);
    str meant = guess(&c->arena, d, name, has_group ? &group : NULL);
    struct buf b = {.arena = &c->arena};
    buf_fmt(&b, "the server has no resource \"%.*s\"", STR(name));
    if (has_group)
        buf_fmt(&b, " in the group \"%.*s\"", STR(group));
    if (meant.n)
        buf_fmt(&b, ", did you mean \"%.*s\"?", STR(meant));
    if (d->text.n)
        buf_fmt(&b, " (%.*s)", STR(d->text));
    return err_set(err, ERR_NOT_FOUND, "%.*s", STR(buf_str(&b)));
}

/* ---- Words. ---- */

/* What is not known is taken at its word: "widgets.example.com/x". */
static void take_word(str type, struct resource_named *ret)
{
    if (!str_cut(type, '.', &ret->resource, &ret->group))
        ret->resource = type;
    ret->is_namespaced = true;
}

int resource_find(struct command *c, str text, struct resource_named *ret, struct err *err)
{
    const struct client_discovery *d = NULL;
    struct resource_named r = {0};
    str type;
    *ret = r;
    if (str_has_prefix(text, S("/"))) {
        ret->path = text;
        return 0;
    }
    bool has_name = str_cut(text, '/', &type, &r.name);
    if (type.n == 0 || (has_name && r.name.n == 0))
        return err_set(err, ERR_BAD_REQUEST, "\"%.*s\" is not TYPE, TYPE/NAME or a path that begins with /", STR(text));
    take_word(type, &r);
    *ret = r;
    if (str_eq(type, S("*"))) {
        ret->group = type;
        return 0;
    }
    int code = resource_all(c, &d, err);
    if (code < 0)
        return code;
    const struct client_discovered *found = client_discovery_named(d, type);
    if (!found)
        return unknown(c, d, type, err);
    ret->group = found->resource.group;
    ret->resource = found->resource.plural;
    ret->is_namespaced = found->resource.namespaced;
    ret->what = found;
    return 0;
}

static bool is_among(str text, const char *const *list)
{
    for (; *list; list++)
        if (str_eq(text, str_of(*list)))
            return true;
    return false;
}

/* ---- What. ---- */

static const char *const verbs[] = {
    "get",         "list", "watch",   "create", "update",   "patch",  "delete", "deletecollection", "use", "bind",
    "impersonate", "*",    "approve", "sign",   "escalate", "attest", NULL};
static const char *const url_verbs[] = {"get", "put", "post", "head", "options", "delete", "patch", "*", NULL};

static void warn_verb(struct command *c, str verb, bool is_url)
{
    const char *const *list = is_url ? url_verbs : verbs;
    if (is_among(verb, list))
        return;
    const char *meant = flags_nearest(str_cstr(&c->arena, verb), list);
    term_say(&c->term, "Warning: verb \"%.*s\" is not a known verb%s%s%s", STR(verb), meant ? ", did you mean \"" : "",
             meant ? meant : "", meant ? "\"?" : "");
}

/* What rights are about without being served: whom to act as, and whose certificates to sign. It is in no namespace. */
static bool is_virtual(const struct resource_named *r)
{
    static const struct {
        const char *group, *resource;
    } known[] = {
        {"", "users"},
        {"", "groups"},
        {"authentication.k8s.io", "uids"},
        {"authentication.k8s.io", "userextras"},
        {"certificates.k8s.io", "signers"},
    };
    for (size_t i = 0; !r->what && i < COUNT(known); i++)
        if (str_eq(r->group, str_of(known[i].group)) && str_eq(r->resource, str_of(known[i].resource)))
            return true;
    return false;
}

static void warn_part(struct command *c, const struct resource_named *r, str subresource)
{
    bool has_part = false, is_part = false;
    for (size_t i = 0; r->what && i < r->what->n_subresources; i++) {
        has_part |= str_eq(r->what->subresources[i], subresource);
        is_part |= str_eq(r->what->subresources[i], r->name);
    }
    if (is_part && subresource.n == 0)
        term_say(&c->term, "Note: this asks about the %.*s named \"%.*s\"; use --subresource=%.*s for the subresource",
                 STR(r->what->singular), STR(r->name), STR(r->name));
    if (r->what && subresource.n && !has_part && !str_eq(subresource, S("*")))
        term_say(&c->term, "Warning: the server says of no subresource \"%.*s\" of %.*s", STR(subresource),
                 STR(r->resource));
}

void question_warn_place(struct command *c, str namespace)
{
    if (namespace.n && command_lacks_namespace(c, namespace))
        term_say(&c->term, "Warning: there is no namespace \"%.*s\"", STR(namespace));
}

void question_note_place(struct command *c, str namespace, const char *others)
{
    if (c->namespace.n == 0 && namespace.n)
        term_say(&c->term, "Note: this is about the namespace \"%.*s\"; %s.", STR(namespace), others);
}

/* A namespace is in itself: who may read what is in it by name may read it. */
static str place_of(struct command *c, const struct resource_named *r)
{
    bool is_namespace = r->group.n == 0 && str_eq(r->resource, S("namespaces"));
    if (is_namespace)
        return r->name;
    if (!r->is_namespaced && c->namespace.n)
        term_say(&c->term, "Warning: %.*s are not in namespaces, so -n does not count", STR(r->resource));
    if (!r->is_namespaced || c->all_namespaces)
        return (str){0};
    question_warn_place(c, command_namespace(c));
    return command_namespace(c);
}

int question_what(struct command *c, const char *verb, const char *type, str subresource, struct question *ret,
                  struct err *err)
{
    struct resource_named r;
    struct err unknown;
    if (!str_is_utf8(str_of(verb)) || !str_is_utf8(str_of(type)) || !str_is_utf8(subresource))
        return err_set(err, ERR_BAD_REQUEST, "the words are not UTF-8");
    int code = resource_find(c, str_of(type), &r, &unknown);
    if (code < 0 && code != ERR_NOT_FOUND) {
        *err = unknown;
        return code;
    }
    bool is_url = r.path.n > 0;
    warn_verb(c, str_of(verb), is_url);
    if (is_url && subresource.n)
        return err_set(err, ERR_BAD_REQUEST, "a path has no subresource");
    ret->what = (struct authz_attributes){.verb = str_of(verb), .path = r.path, .is_resource = !is_url};
    ret->is_known = code == 0;
    if (is_url)
        return 0;
    if (code == ERR_NOT_FOUND && !is_virtual(&r))
        term_say(&c->term, "Warning: %s", unknown.msg);
    if (is_virtual(&r))
        r.is_namespaced = false;
    warn_part(c, &r, subresource);
    ret->what.group = r.group;
    ret->what.resource = r.resource;
    ret->what.subresource = subresource;
    ret->what.name = r.name;
    ret->what.namespace = place_of(c, &r);
    ret->everywhere = c->all_namespaces && r.is_namespaced;
    return 0;
}

/* ---- Who. ---- */

struct spoken {
    const char *prefix;
    enum authz_subject_kind kind;
};

static const struct spoken spoken[] = {
    {"user/", AUTHZ_USER},
    {"group/", AUTHZ_GROUP},
    {"serviceaccount/", AUTHZ_SERVICE_ACCOUNT},
    {"sa/", AUTHZ_SERVICE_ACCOUNT},
};

static int read_subject(struct arena *a, str text, struct authz_subject *ret, struct err *err)
{
    *ret = (struct authz_subject){AUTHZ_USER, text, {0}};
    if (!str_is_utf8(text))
        return err_set(err, ERR_BAD_REQUEST, "the name is not UTF-8");
    for (size_t i = 0; i < COUNT(spoken); i++) {
        str prefix = str_of(spoken[i].prefix);
        if (!str_has_prefix(text, prefix))
            continue;
        ret->kind = spoken[i].kind;
        ret->name = str_from(text, prefix.n);
        if (ret->kind != AUTHZ_SERVICE_ACCOUNT)
            break;
        str rest = ret->name;
        if (!str_cut(rest, '/', &ret->namespace, &ret->name) || !ret->namespace.n || str_find_char(ret->name, '/') >= 0)
            return err_set(err, ERR_BAD_REQUEST, "\"%.*s\": say %sNAMESPACE/NAME", STR(text), spoken[i].prefix);
        break;
    }
    if (ret->kind == AUTHZ_SERVICE_ACCOUNT && ret->name.n)
        *ret = (struct authz_subject){AUTHZ_USER, authz_subject_user(a, ret), {0}};
    return ret->name.n ? 0 : err_set(err, ERR_BAD_REQUEST, "\"%.*s\" names nobody", STR(text));
}

int question_who(struct command *c, const char *user, const flag_texts *groups, struct question *ret, struct err *err)
{
    struct authz_subject subject;
    flag_texts all = {0};
    int code = read_subject(&c->arena, str_of(user), &subject, err);
    if (code < 0)
        return code;
    bool is_group = subject.kind == AUTHZ_GROUP;
    if (is_group)
        *vec_push(&c->arena, &all) = subject.name;
    for (size_t i = 0; i < groups->n; i++) {
        if (!str_is_utf8(groups->p[i]))
            return err_set(err, ERR_BAD_REQUEST, "the group is not UTF-8");
        *vec_push(&c->arena, &all) = groups->p[i];
    }
    ret->who = rights_identity(&c->arena, is_group ? (str){0} : subject.name, (struct strs){all.p, all.n});
    return 0;
}

/* A kubeconfig that makes no sense is not a fault of the command line. */
int question_fail(struct command *c, const struct err *err)
{
    return err->code == ERR_BAD_REQUEST && c->session.client ? command_misused(c, "%s", err->msg)
                                                             : command_fail(c, err);
}

/* ---- Documents. ---- */

struct json question_document(struct arena *a, const char *kind, const struct question *q)
{
    struct json doc = document_new(a, kind), request = json_obj();
    const struct authz_attributes *what = &q->what;
    document_add_text(a, &request, "user", q->who.user);
    if (q->who.groups.n)
        json_add(a, &request, S("groups"), document_texts(a, q->who.groups));
    document_add_text(a, &request, "verb", what->verb);
    document_add_text(a, &request, "path", what->path);
    document_add_text(a, &request, "group", what->group);
    document_add_text(a, &request, "resource", what->resource);
    document_add_text(a, &request, "subresource", what->subresource);
    document_add_text(a, &request, "name", what->name);
    document_add_text(a, &request, "namespace", what->namespace);
    if (q->everywhere)
        json_add(a, &request, S("allNamespaces"), json_bool(true));
    json_add(a, &doc, S("request"), request);
    return doc;
}

static struct json source_of(struct arena *a, const struct explain_source *source)
{
    struct json object = document_ref(a, authz_kind_name(AUTHZ_CLUSTER_ROLE), (str){0}, source->role->name);
    document_add_text(a, &object, "package", source->package);
    if (source->via.n)
        json_add(a, &object, S("via"), document_texts(a, source->via));
    document_add_text(a, &object, "selector", source->selector);
    return object;
}

struct json question_path(struct arena *a, const struct explain_path *path)
{
    const struct authz_grant *g = &path->grant;
    struct json object = json_obj(), sources = json_arr();
    struct json role =
        document_ref(a, authz_kind_name(g->role_kind), g->role ? g->role->namespace : (str){0}, g->role_name);
    document_add_text(a, &role, "package", path->package);
    json_add(a, &object, S("subject"), document_subject(a, &g->subject));
    json_add(a, &object, S("binding"), document_ref(a, authz_kind_name(g->kind), g->namespace, g->name));
    json_add(a, &object, S("clusterWide"), json_bool(g->kind == AUTHZ_CLUSTER_ROLE_BINDING));
    json_add(a, &object, S("role"), role);
    if (path->rule)
        json_add(a, &object, S("rule"), rules_to_json(a, (struct rules){path->rule, 1}).items[0]);
    for (size_t i = 0; i < path->n_sources; i++)
        json_push(a, &sources, source_of(a, &path->sources[i]));
    if (path->is_aggregated)
        json_add(a, &object, S("sources"), sources);
    return object;
}
