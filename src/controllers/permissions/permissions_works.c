/* SPDX-License-Identifier: Apache-2.0 */
/* The ManifestWorks of a permission: those with a controller reference to its uid. Others are never touched, whatever their names.
 *
 * A visit looks at the works themselves, not at the cache: that one only knows which there are, besides the first. */
#include "controllers/permissions/permissions_internal.h"
#include "object/fleet.h"
#include "object/object.h"

#include <stdlib.h>

#define MANAGER S("reeve-permissions")

static const int64_t recheck = INT64_C(15000000000); /* of what is in the way and is not watched */

static bool is_own(const struct visit *v, const struct json *work)
{
    const struct json *owners = object_owners(work);
    json_each_item(owners, owner)
    {
        if (json_true(json_get(owner, S("controller"))))
            return str_eq(json_get_text(owner, S("uid")), object_uid(&v->permission));
    }
    return false;
}

static struct client_ref ref_of(const struct visit *v, str name)
{
    return (struct client_ref){.resource = &permissions_works, .namespace = v->r->namespace, .name = name};
}

/* ---- Reading. ---- */

/* Names have the number of their part at the end: by length, then by text. */
static int by_part(const void *l, const void *r)
{
    str a = object_name(l), b = object_name(r);
    return a.n != b.n ? (a.n < b.n ? -1 : 1) : str_cmp(a, b);
}

static int read_one(struct visit *v, struct works *w, str name, struct err *err)
{
    struct json work;
    struct client_ref ref = ref_of(v, name);
    int code = client_get(v->r->client, v->a, &ref, &work, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err))
        return 0;
    if (code < 0)
        return err_wrap(err, "read ManifestWork %.*s/%.*s", STR(v->r->namespace), STR(name));
    if (is_own(v, &work))
        *vec_push(v->a, &w->own) = work;
    return 0;
}

int works_read(struct visit *v, struct works *w, struct err *err)
{
    str first = permission_work_name(v->a, &v->permission, 0);
    struct items known ITEMS_SCOPE = informer_by_owner(v->all->works, object_uid(&v->permission));
    int code = read_one(v, w, first, err);
    for (size_t i = 0; code == 0 && i < known.n; i++) {
        bool is_here = str_eq(item_namespace(known.p[i]), v->r->namespace);
        if (is_here && !str_eq(item_name(known.p[i]), first))
            code = read_one(v, w, item_name(known.p[i]), err);
    }
    if (code == 0 && w->own.n)
        qsort(w->own.p, w->own.n, sizeof *w->own.p, by_part);
    return code;
}

/* ---- Writing. ---- */

static struct json owner_reference(struct visit *v)
{
    struct json owner = json_obj();
    json_add(v->a, &owner, S("apiVersion"), json_str(client_api_version(v->a, &permissions_resource)));
    json_add(v->a, &owner, S("kind"), json_str(permissions_resource.kind));
    json_add(v->a, &owner, S("name"), json_str(object_name(&v->permission)));
    json_add(v->a, &owner, S("uid"), json_str(object_uid(&v->permission)));
    json_add(v->a, &owner, S("controller"), json_bool(true));
    json_add(v->a, &owner, S("blockOwnerDeletion"), json_bool(true));
    return owner;
}

static struct json new_work(struct visit *v, const struct shift_step *step)
{
    struct json work = json_obj(), meta = json_obj(), owners = json_arr();
    json_push(v->a, &owners, owner_reference(v));
    json_add(v->a, &meta, S("name"), json_str(step->name));
    json_add(v->a, &meta, S("namespace"), json_str(v->r->namespace));
    json_add(v->a, &meta, S("ownerReferences"), owners);
    json_add(v->a, &work, S("apiVersion"), json_str(client_api_version(v->a, &permissions_works)));
    json_add(v->a, &work, S("kind"), json_str(permissions_works.kind));
    json_add(v->a, &work, S("metadata"), meta);
    json_add(v->a, &work, S("spec"), step->spec);
    return work;
}

/* The name is taken: by one of ours that no cache had, or by somebody else's. */
static int look_who(struct visit *v, struct works *w, str name, struct err *err)
{
    struct json work;
    struct client_ref ref = ref_of(v, name);
    int code = client_get(v->r->client, v->a, &ref, &work, err);
    if (code == 0 && !is_own(v, &work)) {
        w->problem =
            str_fmt(v->a, "ManifestWork %.*s does not belong to this ClusterPermission and is left alone", STR(name));
        v->r->again_ns = recheck;
        return 0;
    }
    return err_set(err, ERR_CONFLICT, "ManifestWork %.*s/%.*s has changed", STR(v->r->namespace), STR(name));
}

static int create(struct visit *v, struct works *w, const struct shift_step *step, struct json *ret, struct err *err)
{
    struct json work = new_work(v, step);
    struct client_ref ref = ref_of(v, (str){0});
    int code = client_create(v->r->client, v->a, &ref, &work, &(struct client_write_options){.field_manager = MANAGER},
                             ret, err);
    return code == ERR_ALREADY_EXISTS ? look_who(v, w, step->name, err) : code;
}

/* The version makes sure that nobody's change is undone that was not looked at. */
static int update(struct visit *v, const struct shift_step *step, struct json *ret, struct err *err)
{
    struct json work = json_dup_top(v->a, step->have);
    struct client_ref ref = ref_of(v, step->name);
    json_set(v->a, &work, S("spec"), step->spec);
    int code = client_update(v->r->client, v->a, &ref, &work, &(struct client_write_options){.field_manager = MANAGER},
                             ret, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err))
        return err_set(err, ERR_CONFLICT, "ManifestWork %.*s/%.*s is gone", STR(v->r->namespace), STR(step->name));
    return code;
}

static int delete (struct visit *v, const struct json *work, struct err *err)
{
    struct client_ref ref = ref_of(v, object_name(work));
    struct client_delete_options options = {.propagation = S("Background"), .uid = object_uid(work)};
    int code = client_delete(v->r->client, v->a, &ref, &options, NULL, err);
    return code == ERR_NOT_FOUND && client_is_gone(err) ? 0 : code;
}

/* The server understood it and will not have it: people must know. Everything else is tried again without a word. */
static bool is_refusal(int code)
{
    return code == ERR_BAD_REQUEST || code == ERR_FORBIDDEN || code == ERR_INVALID || code == ERR_TOO_LARGE ||
           code == ERR_METHOD_NOT_ALLOWED;
}

static void keep_answer(struct visit *v, struct works *w, const struct json *answer)
{
    echo_wrote(v->all->echoes, v->r->namespace, v->r->name, object_name(answer), object_rv(answer));
    vec_each(&w->own, it)
    {
        if (str_eq(object_uid(it), object_uid(answer))) {
            *it = *answer;
            return;
        }
    }
    *vec_push(v->a, &w->own) = *answer;
}

static int carry_out(struct visit *v, struct works *w, const struct shift_step *step, struct err *err)
{
    struct json answer = json_null();
    int code = 0;
    if (step->action == SHIFT_CREATE)
        code = create(v, w, step, &answer, err);
    else if (step->action == SHIFT_UPDATE)
        code = update(v, step, &answer, err);
    else if (step->action == SHIFT_DELETE)
        code = delete (v, step->have, err);
    if (code == 0 && !json_is_null(&answer))
        keep_answer(v, w, &answer);
    if (!is_refusal(code))
        return code < 0 ? err_wrap(err, "write ManifestWork %.*s/%.*s", STR(v->r->namespace), STR(step->name)) : 0;
    w->problem = str_dup(v->a, str_of(err->msg));
    w->code = code;
    return 0;
}

/* One that is being deleted can neither be kept nor replaced. It is made anew when it is gone. */
static bool is_leaving(struct visit *v, struct works *w, str name)
{
    vec_each(&w->own, it)
    {
        if (!object_is_deleting(it) || !str_eq(object_name(it), name))
            continue;
        w->problem = str_fmt(v->a, "ManifestWork %.*s is being deleted; it is made anew when it is gone", STR(name));
        return true;
    }
    return false;
}

int works_write(struct visit *v, struct works *w, const struct permission_build *build, struct err *err)
{
    /* Answers take the place of works in the list; the plan refers to those that it was made from. */
    struct json *have = ARENA_ARRAY(v->a, struct json, w->own.n);
    size_t n = 0;
    int code = 0;
    vec_each(&w->own, it)
    {
        if (!object_is_deleting(it))
            have[n++] = *it;
    }
    struct shift_plan plan = shift_plan(v->a, &v->permission, have, n, build);
    bool has_written = false;
    for (size_t i = 0; code == 0 && i < plan.n; i++) {
        const struct shift_step *step = &plan.p[i];
        if (step->action == SHIFT_KEEP || (step->action == SHIFT_CREATE && is_leaving(v, w, step->name)))
            continue;
        code = carry_out(v, w, step, err);
        has_written = true;
    }
    /* A step on the way: the next may follow from it alone, or else from a report. */
    if (plan.is_waiting && has_written && w->problem.n == 0)
        v->r->again_ns = 1;
    if (w->own.n)
        qsort(w->own.p, w->own.n, sizeof *w->own.p, by_part);
    return code;
}

int works_delete_all(struct visit *v, struct works *w, struct err *err)
{
    int code = 0;
    vec_each(&w->own, it)
    {
        if (code == 0 && !object_is_deleting(it))
            code = delete (v, it, err);
    }
    return code < 0 ? err_wrap(err, "delete the ManifestWorks of %.*s/%.*s", STR(v->r->namespace), STR(v->r->name)) : 0;
}
