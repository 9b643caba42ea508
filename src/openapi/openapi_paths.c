/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of an OpenAPI document: which requests a kind knows, with what parameters, bodies and answers. */
#include "kinds/builtin.h"
#include "openapi/openapi_render.h"

enum on { ON_COLLECTION, ON_OBJECT };
enum content { NOTHING, OBJECT, LIST, STATUS, OPTIONS, PATCH };

/* One kind of request. Ids of operations are made of prefix, group, version, infix, the kind and so on. */
struct operation {
    unsigned verb;
    enum on on;
    const char *method, *action, *prefix, *infix;
    enum content body, answer;
    const char *parameters; /* parted by blanks; '?' marks a boolean, '#' a number */
    const char *codes;      /* of good answers */
};

#define WRITE_PARAMETERS "dryRun fieldManager fieldValidation"
#define LIST_PARAMETERS                                                                                      \
    "?allowWatchBookmarks continue fieldSelector labelSelector #limit resourceVersion resourceVersionMatch " \
    "?sendInitialEvents #timeoutSeconds ?watch"
#define DELETE_PARAMETERS                                                                             \
    "dryRun #gracePeriodSeconds ?ignoreStoreReadErrorWithClusterBreakingPotential ?orphanDependents " \
    "propagationPolicy"

static const struct operation operations[] = {
    {VERB_LIST, ON_COLLECTION, "get", "list", "list", "", NOTHING, LIST, LIST_PARAMETERS, "200"},
    {VERB_CREATE, ON_COLLECTION, "post", "post", "create", "", OBJECT, OBJECT, WRITE_PARAMETERS, "200 201 202"},
    {VERB_DELETECOLLECTION, ON_COLLECTION, "delete", "deletecollection", "delete", "Collection", OPTIONS, STATUS,
     DELETE_PARAMETERS " continue fieldSelector labelSelector #limit resourceVersion resourceVersionMatch "
                       "?sendInitialEvents #timeoutSeconds",
     "200"},
    {VERB_GET, ON_OBJECT, "get", "get", "read", "", NOTHING, OBJECT, "resourceVersion", "200"},
    {VERB_UPDATE, ON_OBJECT, "put", "put", "replace", "", OBJECT, OBJECT, WRITE_PARAMETERS, "200 201"},
    {VERB_DELETE, ON_OBJECT, "delete", "delete", "delete", "", OPTIONS, STATUS, DELETE_PARAMETERS, "200 202"},
    {VERB_PATCH, ON_OBJECT, "patch", "patch", "patch", "", PATCH, OBJECT, WRITE_PARAMETERS " ?force", "200 201"},
};

enum { N_OPERATIONS = COUNT(operations) };

/* Where requests go, and what they are about there. */
struct place {
    const struct kind *kind;
    const struct kind_subresource *sub; /* or NULL */
    bool is_all_namespaces;
};

/* ---- Names. ---- */

/* Letters, digits and _ stay, whatever else there is makes the next letter a capital: "rbac.authorization" →
 * rbacAuthorization. */
static void add_identifier(struct buf *b, str s, bool capital)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_small = c >= 'a' && c <= 'z', is_letter = is_small || char_is_upper(c) || c == '_';
        if (!is_letter && !(i > 0 && char_is_digit(c))) {
            capital = true;
            continue;
        }
        buf_add_char(b, capital && is_small ? (char)(c - 'a' + 'A') : c);
        capital = false;
    }
}

static str group_identifier(const struct kind *k)
{
    str group = k->group[0] ? str_of(k->group) : S("core"), suffix = S(".k8s.io");
    return str_has_suffix(group, suffix) ? str_upto(group, group.n - suffix.n) : group;
}

static void add_operation_id(struct buf *b, const struct operation *op, const struct place *at)
{
    const struct kind *k = at->kind;
    buf_add_str(b, str_of(op->prefix));
    add_identifier(b, group_identifier(k), true);
    add_identifier(b, str_of(k->version), true);
    buf_add_str(b, str_of(op->infix));
    if (k->namespaced && !at->is_all_namespaces)
        add_lit(b, "Namespaced");
    add_identifier(b, str_of(k->kind), true);
    if (at->is_all_namespaces)
        add_lit(b, "ForAllNamespaces");
    if (at->sub)
        add_identifier(b, str_of(at->sub->name), true);
}

/* ---- Parts of an operation. ---- */

static void add_parameter(struct buf *b, str name, const char *type, bool is_in_path)
{
    buf_fmt(b, "{\"name\":\"%.*s\",\"in\":\"%s\",%s\"schema\":{\"type\":\"%s\",\"uniqueItems\":true}}", STR(name),
            is_in_path ? "path" : "query", is_in_path ? "\"required\":true," : "", type);
}

static void add_parameters(struct buf *b, const char *list)
{
    str rest = str_of(list), one;
    add_lit(b, "\"parameters\":[");
    for (bool is_first = true; rest.n; is_first = false) {
        str_cut(rest, ' ', &one, &rest);
        if (!is_first)
            buf_add_char(b, ',');
        const char *type = one.p[0] == '?' ? "boolean" : one.p[0] == '#' ? "integer" : "string";
        add_parameter(b, type[0] == 's' ? one : str_from(one, 1), type, false);
    }
    add_lit(b, "],");
}

/* The kind that a subresource speaks of, if it is not the one it belongs to. */
static const struct kind *kind_of_subresource(const struct kind_subresource *sub)
{
    struct arena scratch ARENA_SCOPE = {0};
    return kind_builtin_by_body(str_fmt(&scratch, "%s/%s", sub->group, sub->version), str_of(sub->kind));
}

static void add_reference(struct buf *b, const struct place *at, enum content what)
{
    static const char meta[] = "io.k8s.apimachinery.pkg.apis.meta.v1.";
    const struct kind *other = at->sub && at->sub->group ? kind_of_subresource(at->sub) : NULL;
    add_lit(b, "{\"schema\":{\"$ref\":\"#/components/schemas/");
    if (what == LIST)
        openapi_add_name(b, at->kind, at->kind->list_kind);
    else if (what == STATUS)
        buf_fmt(b, "%sStatus", meta);
    else if (what == OPTIONS)
        buf_fmt(b, "%sDeleteOptions", meta);
    else if (what == PATCH)
        buf_fmt(b, "%sPatch", meta);
    else if (other)
        openapi_add_name(b, other, other->kind);
    else
        openapi_add_name(b, at->kind, at->kind->kind);
    add_lit(b, "\"}}");
}

static void add_content(struct buf *b, const struct place *at, enum content what, const char *types)
{
    str rest = str_of(types), one;
    add_lit(b, "\"content\":{");
    for (bool is_first = true; rest.n; is_first = false) {
        str_cut(rest, ' ', &one, &rest);
        buf_fmt(b, "%s\"%.*s\":", is_first ? "" : ",", STR(one));
        add_reference(b, at, what);
    }
    buf_add_char(b, '}');
}

static void add_body(struct buf *b, const struct place *at, enum content what)
{
    bool is_custom = at->kind->flags & KIND_CUSTOM;
    const char *types = is_custom ? "application/json application/yaml" : "*/*";
    if (what == NOTHING)
        return;
    if (what == PATCH && is_custom)
        types = "application/apply-patch+yaml application/json-patch+json application/merge-patch+json";
    else if (what == PATCH)
        types = "application/apply-patch+yaml application/json-patch+json application/merge-patch+json "
                "application/strategic-merge-patch+json";
    add_lit(b, "\"requestBody\":{");
    add_content(b, at, what, types);
    buf_add_str(b, what == OPTIONS ? S("},") : S(",\"required\":true},"));
}

static void add_answers(struct buf *b, const struct operation *op, const struct place *at)
{
    str rest = str_of(op->codes), code;
    add_lit(b, "\"responses\":{");
    while (rest.n) {
        str_cut(rest, ' ', &code, &rest);
        buf_fmt(b, "\"%.*s\":{\"description\":\"%s\",", STR(code),
                code.p[2] == '0'   ? "OK"
                : code.p[2] == '1' ? "Created"
                                   : "Accepted");
        add_content(b, at, op->answer, "application/json application/yaml");
        add_lit(b, "},");
    }
    add_lit(b, "\"401\":{\"description\":\"Unauthorized\"}},");
}

static void add_operation(struct buf *b, const struct operation *op, const struct place *at)
{
    const struct kind *k = at->kind;
    const struct kind_subresource *sub = at->sub;
    bool is_other = sub && sub->group && !(k->flags & KIND_CUSTOM);
    buf_fmt(b, "\"%s\":{\"tags\":[\"", op->method);
    add_identifier(b, group_identifier(k), false);
    buf_add_char(b, '_');
    add_identifier(b, str_of(k->version), false);
    add_lit(b, "\"],\"operationId\":\"");
    add_operation_id(b, op, at);
    add_lit(b, "\",");
    add_parameters(b, op->parameters);
    add_body(b, at, op->body);
    add_answers(b, op, at);
    buf_fmt(b,
            "\"x-kubernetes-action\":\"%s\",\"x-kubernetes-group-version-kind\":{\"group\":\"%s\",\"version\":\"%s\",",
            op->action, is_other ? sub->group : k->group, is_other ? sub->version : k->version);
    buf_fmt(b, "\"kind\":\"%s\"}}", is_other ? sub->kind : k->kind);
}

/* ---- Paths. ---- */

/* All requests of one path; nothing when there are none. */
static void add_path(struct buf *b, const struct place *at, enum on on, unsigned verbs, bool *is_first)
{
    const struct kind *k = at->kind;
    bool in_namespace = k->namespaced && !at->is_all_namespaces, is_any = false;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        struct operation op = operations[i];
        if (at->sub && op.verb == VERB_CREATE)
            op.on = ON_OBJECT; /* POST …/NAME/token */
        if (op.verb == VERB_DELETE && k->flags & KIND_DELETE_OBJECT)
            op.answer = OBJECT;
        if (op.verb == VERB_GET && !(k->flags & KIND_CUSTOM))
            op.parameters = ""; /* it knows resourceVersion too, but nobody was ever told */
        if (!(verbs & op.verb) || op.on != on)
            continue;
        if (!is_any) {
            buf_fmt(b, "%s\"/%s%s%s/%s/", *is_first ? "" : ",", k->group[0] ? "apis" : "api", k->group[0] ? "/" : "",
                    k->group, k->version);
            buf_fmt(b, "%s%s%s%s%s\":{", in_namespace ? "namespaces/{namespace}/" : "", k->plural,
                    on == ON_OBJECT ? "/{name}" : "", at->sub ? "/" : "", at->sub ? at->sub->name : "");
        }
        add_operation(b, &op, at);
        buf_add_char(b, ',');
        is_any = true;
    }
    if (!is_any)
        return;
    *is_first = false;
    add_lit(b, "\"parameters\":[");
    if (on == ON_OBJECT) {
        add_parameter(b, S("name"), "string", true);
        buf_add_char(b, ',');
    }
    if (in_namespace) {
        add_parameter(b, S("namespace"), "string", true);
        buf_add_char(b, ',');
    }
    add_parameter(b, S("pretty"), "string", false);
    add_lit(b, "]}");
}

static void add_paths(struct buf *b, const struct kind *k, bool *is_first)
{
    struct place at = {.kind = k};
    add_path(b, &at, ON_COLLECTION, k->verbs, is_first);
    add_path(b, &at, ON_OBJECT, k->verbs, is_first);
    for (size_t i = 0; i < k->n_subresources; i++) {
        at.sub = &k->subresources[i];
        add_path(b, &at, ON_OBJECT, at.sub->verbs, is_first);
    }
    if (k->namespaced) {
        at = (struct place){.kind = k, .is_all_namespaces = true};
        add_path(b, &at, ON_COLLECTION, k->verbs & VERB_LIST, is_first);
    }
}

void openapi_render_start(struct buf *b, struct openapi_kinds kinds)
{
    bool is_custom = kinds.n && kinds.p[0]->flags & KIND_CUSTOM;
    buf_fmt(b, "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"%s\",\"version\":\"%s\"},\"paths\":{",
            is_custom ? "Kubernetes CRD Swagger" : "Kubernetes", is_custom ? "v0.1.0" : "1.32");
}

void openapi_render_paths(struct buf *b, struct openapi_kinds kinds, size_t i)
{
    bool is_first = i == 0;
    add_paths(b, kinds.p[i], &is_first);
}
