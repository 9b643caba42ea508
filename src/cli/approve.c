/* SPDX-License-Identifier: Apache-2.0 */
/* reeve approve: shows what an install or a ClusterPermission waits for, and approves just that.
 *
 *   [KIND/]NAME ─► the objects of that name ─► the one that waits ─► shown ─► its annotation
 *
 * What is approved is named by an id or a generation, so an object that changed meanwhile is not approved by this. */
#include "cli/cli_installs.h"

#include "cli/help.h"
#include "cli/term.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"
#include "json/yaml.h"

struct approvable {
    struct client_resource resource;
    const char *short_name; /* as kubectl has it; NULL: none */
    const char *annotation;
};

#define INSTALL(group, plural, kind, is_namespaced, short_name)                                       \
    {                                                                                                 \
        CLIENT_RESOURCE(group ".crossplane.io", "v1alpha1", plural, kind, is_namespaced), short_name, \
            group ".crossplane.io/approved"                                                           \
    }

static const struct approvable approvables[] = {
    INSTALL("packages", "packageinstalls", "PackageInstall", true, "pi"),
    INSTALL("packages", "clusterpackageinstalls", "ClusterPackageInstall", false, "cpi"),
    INSTALL("stacks", "stackinstalls", "StackInstall", true, "si"),
    INSTALL("stacks", "clusterstackinstalls", "ClusterStackInstall", false, "csi"),
    {CLIENT_RESOURCE(FLEET_PERMISSIONS), NULL, FLEET_ANNOTATION_APPROVED},
};
enum { APPROVABLES = COUNT(approvables) };

struct found {
    const struct approvable *kind;
    struct json object;
    str value;    /* of the annotation that approves it; empty: it does not wait */
    bool is_done; /* it has been approved already */
};

struct approve {
    struct command c;
    str type, name; /* type empty: any */
    int dry_run, output;
    bool is_forgiving;
    VEC(struct found) found;
    struct err refusal; /* of a kind that may not be read; code 0: none */
};

/* ---- Finding it. ---- */

static bool is_kind(struct arena *a, const struct approvable *kind, str type)
{
    str word = str_lower(a, type), bare, group;
    if (str_cut(word, '.', &bare, &group) && !str_eq(group, kind->resource.group))
        return false;
    if (!group.n)
        bare = word;
    return str_eq(bare, str_lower(a, kind->resource.kind)) || str_eq(bare, kind->resource.plural) ||
           (kind->short_name && str_eq(bare, str_of(kind->short_name)));
}

/* Generation that the condition Approved=False speaks of, if it is of now. */
static void read_permission(struct arena *a, struct found *f)
{
    const struct json *c = condition_find(json_dig(&f->object, "status.conditions"), S("Approved"));
    int64_t observed, generation = object_generation(&f->object);
    str value = str_fmt(a, "%lld", (long long)generation);
    if (!c || !json_to_int(json_get(c, S("observedGeneration")), &observed) || observed != generation)
        return;
    f->is_done = str_eq(object_annotation(&f->object, S(FLEET_ANNOTATION_APPROVED)), value);
    if (str_eq(json_get_text(c, S("status")), S("False")))
        f->value = value;
}

static void read_install(struct found *f)
{
    const struct json *status = json_get(&f->object, S("status"));
    str given = json_get_text(json_get(status, S("approval")), S("id"));
    f->value = json_get_text(json_get(status, S("pendingApproval")), S("id"));
    f->is_done = given.n && str_eq(given, object_annotation(&f->object, str_of(f->kind->annotation)));
}

static int find_one(struct approve *p, const struct approvable *kind, struct err *err)
{
    struct arena *a = &p->c.arena;
    struct client_ref ref = {.resource = &kind->resource,
                             .namespace = kind->resource.namespaced ? command_namespace(&p->c) : (str){0},
                             .name = p->name};
    struct found f = {.kind = kind};
    command_needs(&p->c, (struct command_need){"get", ref.resource->group, ref.resource->plural, (str){0},
                                               ref.namespace, ref.name});
    int code = client_get(p->c.session.client, a, &ref, &f.object, err);
    if (code == ERR_FORBIDDEN && p->refusal.code == 0)
        p->refusal = *err;
    /* Those that this user may not read, or that the server does not have, are passed over if there are others. */
    if (code == ERR_NOT_FOUND || code == ERR_FORBIDDEN)
        return 0;
    if (code < 0)
        return code;
    if (str_eq(kind->resource.group, S(FLEET_PERMISSION_GROUP)))
        read_permission(a, &f);
    else
        read_install(&f);
    *vec_push(a, &p->found) = f;
    return 0;
}

static str title_of(struct arena *a, const struct found *f)
{
    str namespace = object_namespace(&f->object);
    return str_fmt(a, "%.*s %.*s%s%.*s", STR(f->kind->resource.kind), STR(namespace), namespace.n ? "/" : "",
                   STR(object_name(&f->object)));
}

/* The one that waits, else the only one. NULL: there is none, which is forgiven. */
static int choose(struct approve *p, const struct found **ret, struct err *err)
{
    struct arena *a = &p->c.arena;
    struct buf titles = {.arena = a};
    size_t waiting = 0;
    *ret = p->found.n ? &p->found.p[0] : NULL;
    vec_each(&p->found, f)
    {
        if (!f->value.n)
            continue;
        *ret = f;
        waiting++;
        buf_fmt(&titles, "%s%.*s", titles.n ? ", " : "", STR(title_of(a, f)));
    }
    if (!*ret && p->refusal.code) {
        *err = p->refusal;
        return err->code;
    }
    if (!*ret && p->is_forgiving)
        return 0;
    if (!*ret)
        return err_set(err, ERR_NOT_FOUND, "no install or ClusterPermission \"%.*s\" found%s%.*s", STR(p->name),
                       command_namespace(&p->c).n ? " in the cluster or in namespace " : "",
                       STR(command_namespace(&p->c)));
    if (waiting > 1)
        return err_set(err, ERR_BAD_REQUEST, "%zu objects of this name wait for approval: %.*s\nhint: use KIND/NAME",
                       waiting, STR(buf_str(&titles)));
    if ((*ret)->value.n || (*ret)->is_done)
        return 0;
    if (p->is_forgiving) {
        *ret = NULL;
        return 0;
    }
    return err_set(err, ERR_INVALID, "%.*s does not wait for approval", STR(title_of(a, *ret)));
}

/* ---- Showing it. ---- */

static void add_access(struct approve *p, struct buf *b, const struct json *access)
{
    str verb = json_get_text(access, S("verb")), group = json_get_text(access, S("group")),
        sub = json_get_text(access, S("subresource")), name = json_get_text(access, S("name"));
    buf_fmt(b, "  %.*s on %.*s%s%.*s%s%.*s%s%.*s\n", STR(cli_visible(&p->c.arena, verb)),
            STR(cli_visible(&p->c.arena, json_get_text(access, S("resource")))), sub.n ? "/" : "",
            STR(cli_visible(&p->c.arena, sub)), group.n ? "." : "", STR(cli_visible(&p->c.arena, group)),
            name.n ? " " : "", STR(cli_visible(&p->c.arena, name)));
}

static void show_install(struct approve *p, const struct found *f, struct buf *b)
{
    const struct json *pending = json_get(json_get(&f->object, S("status")), S("pendingApproval"));
    const struct json *reasons = json_get(pending, S("reasons")), *access = json_get(pending, S("access"));
    json_each_item(reasons, reason) buf_fmt(b, "  %.*s\n", STR(cli_visible(&p->c.arena, json_text(reason))));
    buf_add_str(b, S("Approving it takes this access, cluster-wide:\n"));
    json_each_item(access, one) add_access(p, b, one);
}

static void show_permission(struct approve *p, const struct found *f, struct buf *b)
{
    const struct json *c = condition_find(json_dig(&f->object, "status.conditions"), S("Approved"));
    const struct json *spec = json_get(&f->object, S("spec"));
    str message = json_get_text(c, S("message"));
    ptrdiff_t end = str_find(message, S("; to approve it:"));
    buf_fmt(b, "  %.*s\nIt grants:\n",
            STR(cli_visible(&p->c.arena, end < 0 ? message : str_upto(message, (size_t)end))));
    struct buf yaml = {.arena = &p->c.arena};
    if (spec)
        yaml_encode(&yaml, spec);
    str rest = buf_str(&yaml), line;
    while (rest.n) {
        if (!str_cut(rest, '\n', &line, &rest))
            line = rest, rest = (str){0};
        buf_fmt(b, "  %.*s\n", STR(cli_visible(&p->c.arena, line)));
    }
}

static void show(struct approve *p, const struct found *f)
{
    struct buf b = {.arena = &p->c.arena};
    if (f->kind == &approvables[APPROVABLES - 1])
        show_permission(p, f, &b);
    else
        show_install(p, f, &b);
    str text = buf_str(&b);
    term_say(&p->c.term, "%.*s waits for approval:\n%.*s", STR(title_of(&p->c.arena, f)),
             STR(str_upto(text, text.n ? text.n - 1 : 0)));
}

/* ---- Approving it. ---- */

static int write_approval(struct approve *p, const struct found *f, struct err *err)
{
    struct arena *a = &p->c.arena;
    struct json patch = json_obj(), meta = json_obj(), annotations = json_obj();
    json_add(a, &annotations, str_of(f->kind->annotation), json_str(f->value));
    json_add(a, &meta, S("annotations"), annotations);
    json_add(a, &meta, S("uid"), json_str(object_uid(&f->object)));
    json_add(a, &patch, S("metadata"), meta);
    struct client_ref ref = {
        .resource = &f->kind->resource, .namespace = object_namespace(&f->object), .name = object_name(&f->object)};
    struct client_patch_args args = {
        CLIENT_PATCH_MERGE, &patch, {.field_manager = S("reeve-approve"), .dry_run = p->dry_run == DRY_RUN_SERVER}};
    command_needs(&p->c, (struct command_need){"patch", ref.resource->group, ref.resource->plural, (str){0},
                                               ref.namespace, ref.name});
    return client_patch(p->c.session.client, a, &ref, &args, NULL, err);
}

static int approve_found(struct approve *p, struct err *err)
{
    struct arena *a = &p->c.arena;
    const struct found *f = NULL;
    int code = choose(p, &f, err);
    if (code < 0 || !f)
        return code;
    if (f->value.n) {
        show(p, f);
        code = p->dry_run == DRY_RUN_CLIENT ? 0 : write_approval(p, f, err);
    }
    if (code < 0)
        return code;
    str path = str_fmt(a, "%.*s.%.*s/%.*s", STR(str_lower(a, f->kind->resource.kind)), STR(f->kind->resource.group),
                       STR(object_name(&f->object)));
    if (p->output == OUTPUT_NAME)
        output_text(str_fmt(a, "%.*s\n", STR(path)));
    else
        output_text(str_fmt(a, "%.*s approved%s%s\n", STR(path), f->value.n ? "" : " already",
                            cli_installs_dry_words[p->dry_run]));
    return 0;
}

static int run(struct approve *p, const struct flag_words *words)
{
    struct err err;
    size_t asked = 0;
    int code = 0;
    if (words->n != 1)
        return command_misused(&p->c, words->n ? "one object at a time" : "missing argument: use [KIND/]NAME");
    if (!str_cut(str_of(words->p[0]), '/', &p->type, &p->name)) {
        p->type = (str){0};
        p->name = str_of(words->p[0]);
    }
    for (size_t i = 0; i < APPROVABLES; i++)
        asked += !p->type.n || is_kind(&p->c.arena, &approvables[i], p->type);
    if (!asked || !p->name.n)
        return command_misused(&p->c, "invalid object \"%s\": use NAME or KIND/NAME, such as packageinstall/wordpress",
                               words->p[0]);
    if (command_connect(&p->c, &err) < 0)
        return command_fail(&p->c, &err);
    for (size_t i = 0; code == 0 && i < APPROVABLES; i++) {
        if (!p->type.n || is_kind(&p->c.arena, &approvables[i], p->type))
            code = find_one(p, &approvables[i], &err);
    }
    if (code == 0)
        code = approve_found(p, &err);
    return code < 0 ? command_fail(&p->c, &err) : CLI_OK;
}

int cli_approve(int argc, char **argv)
{
    static const char *const outputs[] = {"table", "name", NULL};
    struct approve p = {.c = {.name = "approve", .takes = TAKES_SERVER | TAKES_NAMESPACE}};
    const struct flag flags[] = {
        {.name = "dry-run", .kind = FLAG_WORD, .into = &p.dry_run, .words = cli_installs_dry_runs, .bare = "client"},
        {.name = "ignore-not-found", .kind = FLAG_YES, .into = &p.is_forgiving},
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &p.output, .words = outputs},
    };
    struct flag_words words;
    int code = command_start(&p.c, flags, COUNT(flags), argc, argv, &words);
    if (code == CLI_OK && !p.c.is_over) {
        p.output = p.output ? OUTPUT_NAME : OUTPUT_TABLE;
        code = run(&p, &words);
    }
    return command_end(&p.c, code);
}
