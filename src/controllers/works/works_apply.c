/* SPDX-License-Identifier: Apache-2.0 */
/* One object of a work, made what its manifest says.
 *
 *   known and equal ─► nothing
 *   else: the server's own copy ─┬─ none ─► created; if one of that name appears meanwhile, that is refused, and looked at again
 *                                ├─ going, or foreign ─► said so, untouched
 *                                ├─ foreign, and its owner lets works change it ─► adopted: patched or applied, never owned
 *                                ├─ another work's as well ─► shared if it means the same, else said so: first come stays
 *                                └─ ours ─► patched, applied, or deleted and made anew (roleRef) */
#include "controllers/garbage/garbage_patch.h"
#include "controllers/works/works_content.h"
#include "controllers/works/works_ignore.h"
#include "controllers/works/works_internal.h"
#include "controllers/works/works_owners.h"
#include "controllers/works/works_roles.h"
#include "object/fleet.h"
#include "object/meta.h"
#include "object/object.h"

#define CONFLICT_NS (15 * NS_PER_S)  /* what is in the way is not watched */
#define NAMESPACE_NS (10 * NS_PER_S) /* those are */
#define GOING_NS (1 * NS_PER_S)

enum { TRIES = 4 }; /* when others write at the same time */

/* ---- What became of it. ---- */

static void refuse(struct work_item *item, str reason, str problem)
{
    item->report.reason = reason;
    item->report.problem = problem;
}

static void fail(struct visit *v, struct work_item *item, const struct err *err)
{
    refuse(item, S(REPORT_FAILED), str_dup(v->a, str_of(err->msg)));
    if (v->failure.code == 0)
        v->failure = *err;
}

static void conflict(struct visit *v, struct work_item *item, str problem)
{
    refuse(item, S(REPORT_CONFLICT), problem);
    item->is_in_conflict = true;
    v->waits = true;
    visit_again(v, CONFLICT_NS);
}

static void found(struct work_item *item, const struct json *live)
{
    item->live = *live;
    item->report.live = &item->live;
    item->report.presence = REPORT_THERE;
}

static void missing(struct work_item *item)
{
    item->live = json_null();
    item->report.live = NULL;
    item->report.presence = REPORT_ABSENT;
}

static void written(struct work_item *item, const struct json *live)
{
    found(item, live);
    item->uid = item->is_adopted ? (str){0} : object_uid(&item->live);
}

static struct client_ref ref_of(const struct work_item *item)
{
    return (struct client_ref){.resource = &item->resource, .namespace = item->namespace, .name = item->name};
}

static struct client_write_options options_of(const struct work_item *item)
{
    return (struct client_write_options){.field_manager = item->report.manifest->field_manager};
}

/* ---- Without asking. ---- */

static bool is_create_only(const struct work_item *item)
{
    return item->report.manifest->strategy == MANIFEST_CREATE_ONLY;
}

static bool is_labelled(const struct json *live)
{
    return str_eq(object_label(live, S(FLEET_LABEL_DELIVERED)), S("true"));
}

static bool is_recorded_one(const struct work_item *item, const struct json *live)
{
    return item->recorded.n && str_eq(item->recorded, object_uid(live));
}

/* What is wanted of the object depends on whether it was there before. */
static void set_adoption(struct visit *v, struct work_item *item, bool is_adopted, bool leads)
{
    if (!is_adopted && !item->is_adopted)
        return;
    item->is_adopted = is_adopted;
    item->want = content_want(v->a, item->report.manifest, item->namespace);
    if (is_adopted)
        item->want = content_want_adopted(v->a, &item->want, leads ? v->applied_name : (str){0});
    if (!content_is_rbac(&item->want))
        item->hash = content_hash(v->a, &item->want);
}

static void see_adoption(struct visit *v, struct work_item *item, const struct json *live, const struct owners *owners)
{
    set_adoption(v, item, owners->is_adoptable && !is_recorded_one(item, live), !owners->leader.n);
}

static bool is_marked(const struct visit *v, const struct work_item *item, const struct json *live, bool leads)
{
    if (!item->is_adopted)
        return is_labelled(live);
    return str_eq(object_label(live, S(FLEET_LABEL_DELIVERED)), S(FLEET_ADOPTED)) &&
           (!leads || str_eq(object_annotation(live, S(FLEET_ANNOTATION_ADOPTED_BY)), v->applied_name));
}

/* What is to be applied over what is there: some fields may be others' to change. */
static int want_over(struct visit *v, const struct work_item *item, const struct json *live, struct json *ret,
                     struct err *err)
{
    const struct manifest *m = item->report.manifest;
    *ret = item->want;
    if (m->strategy != MANIFEST_SERVER_SIDE || !json_len(m->ignored))
        return 0;
    return ignore_fields(v->a, m, &item->want, live, str_eq(object_annotation(live, S(CONTENT_HASH)), item->hash), ret,
                         err);
}

static bool is_settled(struct visit *v, struct work_item *item, const struct json *live)
{
    struct owners owners = owners_read(v, live);
    struct json want;
    see_adoption(v, item, live, &owners);
    if (want_over(v, item, live, &want, NULL) < 0)
        return false;
    if (object_is_deleting(live) || !owners_are_right(v, item, live) || !is_marked(v, item, live, !owners.leader.n))
        return false;
    if (owners.leader.n)
        return content_means_same(v->a, &item->want, live);
    return is_create_only(item) || content_is_equal(v->a, &want, item->hash, live);
}

/* It is there, ours, and says this role. */
static bool is_standing(struct visit *v, const struct work_item *item)
{
    return item->report.live && is_recorded_one(item, &item->live) && !object_is_deleting(&item->live) &&
           !content_needs_recreation(v->a, &item->want, &item->live);
}

/* What the role of a binding is now may not turn it away for long. */
static void wait_for_role(struct visit *v)
{
    v->waits = true;
    visit_again(v, CONFLICT_NS);
}

/* As far as is known without asking: the role is no reason to touch the binding. */
static bool has_role(struct visit *v, const struct work_item *item)
{
    enum role_stand stand;
    str role;
    if (roles_stand(v, item, false, &stand, &role, NULL) < 0)
        return false;
    if (stand == ROLE_DIFFERS && is_standing(v, item))
        wait_for_role(v);
    return stand == ROLE_FREE || stand == ROLE_OURS || (stand == ROLE_DIFFERS && is_standing(v, item));
}

void apply_look(struct visit *v, struct work_item *item)
{
    struct json live;
    item->is_refused = item->report.reason.n > 0;
    if (!item->resource.kind.n || item->report.manifest->strategy == MANIFEST_READ_ONLY)
        return;
    enum target_answer answer = targets_read(v->w->targets, v->a, &item->resource, item->namespace, item->name, &live);
    if (answer == TARGET_ABSENT)
        missing(item);
    if (answer != TARGET_THERE)
        return;
    found(item, &live);
    if (!item->report.reason.n && is_settled(v, item, &item->live) && has_role(v, item)) {
        written(item, &live);
        item->is_done = true;
    }
}

/* ---- Creating. ---- */

/* No object has this version, so an apply that names it creates one or is refused. */
#define NO_VERSION "9223372036854775807"

static bool is_applied(const struct work_item *item)
{
    return !content_is_rbac(&item->want) && !is_create_only(item);
}

static int post(struct visit *v, struct work_item *item, const struct json *object, struct err *err)
{
    struct client_ref ref = ref_of(item);
    struct client_write_options options = options_of(item);
    struct json live;
    /* What is applied later has to be applied from the beginning: the server knows what to drop by who applied it. */
    int code = is_applied(item) ? client_apply(v->managed, v->a, &ref, object, &options, &live, err)
                                : client_create(v->managed, v->a, &ref, object, &options, &live, err);
    if (code == 0)
        written(item, &live);
    return code;
}

/* keep: of an object that was deleted to make room; labels, annotations and owners of others are taken over. */
static int create(struct visit *v, struct work_item *item, const struct json *keep, struct err *err)
{
    set_adoption(v, item, false, false);
    struct json object = content_object(v->a, &item->want, is_applied(item) ? item->hash : (str){0});
    struct json *meta = meta_of(v->a, &object);
    if (is_applied(item)) /* never onto an object that appeared after it was looked for */
        json_set(v->a, meta, S("resourceVersion"), json_str(S(NO_VERSION)));
    static const char *const notes[] = {"labels", "annotations"};
    for (size_t i = 0; keep && i < COUNT(notes); i++) {
        const struct json *ours = json_get(meta, str_of(notes[i]));
        struct json all = json_is_obj(ours) ? json_dup_top(v->a, ours) : json_obj();
        json_each_member(json_get(object_meta(keep), str_of(notes[i])), m)
        {
            if (!json_find(&all, json_key(m)))
                json_add(v->a, &all, json_key(m), m->val);
        }
        if (json_len(&all))
            json_set(v->a, meta, str_of(notes[i]), all);
    }
    struct json owners = owners_next(v, item, keep, false);
    if (json_len(&owners))
        json_set(v->a, meta, S("ownerReferences"), owners);
    return post(v, item, &object, err);
}

/* The namespace is not there: it is waited for. */
static void await_namespace(struct visit *v, struct work_item *item, const struct err *err)
{
    refuse(item, S(REPORT_FAILED), str_dup(v->a, str_of(err->msg)));
    targets_want_namespaces(v->w->targets);
    v->waits = true;
    visit_again(v, NAMESPACE_NS);
}

static void note_failure(struct visit *v, struct work_item *item, const struct err *err)
{
    if (err->code == ERR_NOT_FOUND && client_is_gone(err) && item->namespace.n) {
        await_namespace(v, item, err);
        return;
    }
    if (err->code == ERR_NOT_FOUND)
        targets_doubt(v->w->targets, &item->resource);
    fail(v, item, err);
}

/* ---- Changing. ---- */

static int send_patch(struct visit *v, struct work_item *item, struct json patch, const struct json *live,
                      struct err *err)
{
    struct client_ref ref = ref_of(item);
    struct json *meta = meta_of(v->a, &patch), now;
    json_set(v->a, meta, S("uid"), json_str(object_uid(live)));
    json_set(v->a, meta, S("resourceVersion"), json_str(object_rv(live)));
    struct client_patch_args args = {.type = CLIENT_PATCH_MERGE, .patch = &patch, .options = options_of(item)};
    int code = client_patch(v->managed, v->a, &ref, &args, &now, err);
    if (code == 0)
        written(item, &now);
    return code;
}

static void set_owners(struct visit *v, struct work_item *item, struct json *patch, const struct json *live,
                       bool is_first)
{
    if (!is_first && owners_are_right(v, item, live))
        return;
    struct json owners = owners_next(v, item, live, is_first);
    json_set(v->a, meta_of(v->a, patch), S("ownerReferences"), json_len(&owners) ? owners : json_null());
}

/* Owner and label alone; of an adopted object the label and who adopted it. */
static int mark(struct visit *v, struct work_item *item, const struct json *live, struct err *err)
{
    struct json patch = json_obj(), labels = json_obj(), annotations = json_obj();
    json_add(v->a, &labels, S(FLEET_LABEL_DELIVERED), json_str(item->is_adopted ? S(FLEET_ADOPTED) : S("true")));
    json_add(v->a, &annotations, S(FLEET_ANNOTATION_ADOPTED_BY), json_str(v->applied_name));
    if (!is_marked(v, item, live, true))
        json_set(v->a, meta_of(v->a, &patch), S("labels"), labels);
    if (item->is_adopted)
        json_set(v->a, meta_of(v->a, &patch), S("annotations"), annotations);
    set_owners(v, item, &patch, live, false);
    return send_patch(v, item, patch, live, err);
}

/* roleRef cannot be changed. The name is taken as long as the old one stands, so that has to go first. */
static int recreate(struct visit *v, struct work_item *item, const struct json *live, struct err *err)
{
    struct client_ref ref = ref_of(item);
    struct client_delete_options options = {
        .propagation = S("Background"), .uid = object_uid(live), .version = object_rv(live)};
    int code = applied_forget_uid(v, item, err);
    if (code == 0)
        code = client_delete(v->managed, v->a, &ref, &options, NULL, err);
    if (code < 0 && !client_is_gone(err))
        return code;
    item->uid = item->recorded = (str){0};
    missing(item);
    return create(v, item, live, err);
}

static int apply(struct visit *v, struct work_item *item, const struct json *live, struct err *err)
{
    const struct manifest *m = item->report.manifest;
    struct client_ref ref = ref_of(item);
    struct client_write_options options = options_of(item);
    struct json want, removals, now;
    if (want_over(v, item, live, &want, err) < 0) {
        refuse(item, S(REPORT_IGNORE_FIELDS), str_dup(v->a, str_of(err->msg)));
        return 0;
    }
    struct json object = content_object(v->a, &want, item->hash);
    struct json *meta = meta_of(v->a, &object), owners = owners_next(v, item, live, false);
    options.force = m->strategy == MANIFEST_UPDATE || m->is_forced;
    json_set(v->a, meta, S("uid"), json_str(object_uid(live)));
    if (json_len(&owners) && !item->is_adopted)
        json_set(v->a, meta, S("ownerReferences"), owners);
    int code = client_apply(v->managed, v->a, &ref, &object, &options, &now, err);
    if (code < 0)
        return code;
    written(item, &now);
    bool has_removals = content_removals(v->a, &item->want, &item->live, &removals);
    if (!has_removals)
        removals = json_obj();
    set_owners(v, item, &removals, &item->live, false);
    return has_removals || json_len(&removals) ? send_patch(v, item, removals, &item->live, err) : 0;
}

static str title(struct visit *v, const struct work_item *item)
{
    if (item->namespace.n)
        return str_fmt(v->a, "%.*s \"%.*s/%.*s\"", STR(item->resource.kind), STR(item->namespace), STR(item->name));
    return str_fmt(v->a, "%.*s \"%.*s\"", STR(item->resource.kind), STR(item->name));
}

static int change(struct visit *v, struct work_item *item, const struct json *live, bool is_first, struct err *err)
{
    if (is_create_only(item))
        return mark(v, item, live, err);
    if (!content_is_rbac(&item->want))
        return apply(v, item, live, err);
    bool is_unchangeable = content_needs_recreation(v->a, &item->want, live);
    if (is_unchangeable && item->is_adopted) {
        conflict(
            v, item,
            str_fmt(v->a, "%.*s is adopted and has another roleRef, which cannot be changed", STR(title(v, item))));
        return 0;
    }
    if (is_unchangeable)
        return recreate(v, item, live, err);
    struct json patch = content_patch(v->a, &item->want, live);
    set_owners(v, item, &patch, live, is_first);
    return send_patch(v, item, patch, live, err);
}

/* ---- Deciding. ---- */

static int share(struct visit *v, struct work_item *item, const struct json *live, const struct owners *owners,
                 struct err *err)
{
    if (content_means_same(v->a, &item->want, live))
        return item->is_adopted || owners_are_right(v, item, live) ? (written(item, live), 0)
                                                                   : mark(v, item, live, err);
    /* Of one ClusterPermission that is delivered in parts an object has moved, and changed: the part that it moved to is right. */
    if (!owners->is_ours && owners_are_siblings(v, owners->leader))
        return change(v, item, live, true, err);
    str work;
    bool is_here = applied_work_of(v->w, owners->leader, &work);
    conflict(v, item,
             is_here ? str_fmt(v->a, "%.*s is delivered by ManifestWork \"%.*s\" with other content",
                               STR(title(v, item)), STR(work))
                     : str_fmt(v->a, "%.*s is delivered by AppliedManifestWork \"%.*s\" with other content",
                               STR(title(v, item)), STR(owners->leader)));
    return 0;
}

static int act_on(struct visit *v, struct work_item *item, const struct json *live, struct err *err)
{
    struct owners owners = owners_read(v, live);
    found(item, live);
    see_adoption(v, item, live, &owners);
    if (object_is_deleting(live)) {
        refuse(item, S(REPORT_FAILED), str_fmt(v->a, "%.*s is being deleted", STR(title(v, item))));
        v->waits = true;
        visit_again(v, GOING_NS);
        return 0;
    }
    if (owners.leader.n)
        return share(v, item, live, &owners, err);
    if (!owners.is_ours && !is_recorded_one(item, live) && !is_labelled(live) && !item->is_adopted) {
        conflict(
            v, item,
            str_fmt(v->a,
                    "%.*s exists already and was not created by this agent; it is left as it is. Its owner can let "
                    "works change it by annotation " FLEET_ANNOTATION_ADOPT
                    ": \"true\" on that object of the managed cluster",
                    STR(title(v, item))));
        return 0;
    }
    if (is_settled(v, item, live)) { /* the copy was behind */
        written(item, live);
        return 0;
    }
    return change(v, item, live, false, err);
}

static int ask(struct visit *v, struct work_item *item, struct json *ret, struct err *err)
{
    struct client_ref ref = ref_of(item);
    int code = client_get(v->managed, v->a, &ref, ret, err);
    if (code < 0 && client_is_gone(err)) {
        *ret = json_null();
        return 0;
    }
    if (code < 0) {
        item->report.presence = REPORT_UNKNOWN;
        item->report.unknown = str_dup(v->a, str_of(err->msg));
    }
    return code;
}

/* A binding of a role that is not what a work says it is grants what nobody on the hub has asked for. */
static bool is_withheld(struct visit *v, struct work_item *item)
{
    enum role_stand stand;
    str role;
    struct err err;
    if (roles_stand(v, item, true, &stand, &role, &err) < 0) {
        fail(v, item, &err);
        return true;
    }
    if (stand == ROLE_FREE || stand == ROLE_OURS)
        return false;
    item->is_withheld = stand == ROLE_FOREIGN;
    if (stand != ROLE_FOREIGN && is_standing(v, item)) {
        wait_for_role(v);
        return false;
    }
    static const char *const causes[] = {
        [ROLE_MISSING] = "is not there yet, though a ManifestWork delivers it",
        [ROLE_DIFFERS] = "is delivered by another ManifestWork with other content",
        [ROLE_FOREIGN] = "was not delivered by this agent, though a ManifestWork delivers one of that name",
    };
    refuse(item, stand == ROLE_MISSING ? S(REPORT_FAILED) : S(REPORT_CONFLICT),
           str_fmt(v->a, "%.*s is withheld: its role, %.*s, %s", STR(title(v, item)), STR(role), causes[stand]));
    wait_for_role(v);
    return true;
}

/* What was looked at has changed meanwhile, or somebody was quicker: looks again, a few times. */
static int settle(struct visit *v, struct work_item *item, bool is_surely_absent, struct err *err)
{
    int code = 0;
    for (int i = 0; i < TRIES; i++) {
        struct json live = json_null();
        if (!is_surely_absent || i > 0)
            code = ask(v, item, &live, err);
        if (code < 0)
            return code;
        if (json_is_null(&live)) {
            missing(item);
            code = create(v, item, NULL, err);
        } else {
            code = act_on(v, item, &live, err);
        }
        if (code != ERR_CONFLICT && code != ERR_ALREADY_EXISTS)
            return code;
        if (item->report.manifest->strategy == MANIFEST_SERVER_SIDE && !json_is_null(&live))
            return code; /* fields of others: they do not change by asking again */
    }
    return code;
}

static void look_at_foreign(struct visit *v, struct work_item *item)
{
    struct json live;
    struct err err;
    int code = ask(v, item, &live, &err);
    if (code < 0 && v->failure.code == 0)
        v->failure = err;
    if (code == 0 && json_is_null(&live))
        missing(item);
    else if (code == 0)
        found(item, &live);
}

void apply_item(struct visit *v, struct work_item *item)
{
    struct err err = {0};
    if (!item->resource.kind.n)
        return;
    if (item->report.manifest->strategy == MANIFEST_READ_ONLY || item->report.reason.n || item->twin) {
        if (item->report.presence == REPORT_UNKNOWN || item->report.manifest->strategy == MANIFEST_READ_ONLY)
            look_at_foreign(v, item);
        return;
    }
    if (is_withheld(v, item))
        return;
    /* The copy shows what carries the label: an object of that name may exist without it. A create is refused then. */
    bool is_surely_absent = item->report.presence == REPORT_ABSENT && !item->is_recorded && !is_applied(item);
    int code = settle(v, item, is_surely_absent, &err);
    if (code == 0)
        return;
    err.code = (enum err_code)code;
    if (code == ERR_CONFLICT && item->report.manifest->strategy == MANIFEST_SERVER_SIDE) {
        refuse(item, S(REPORT_FAILED), str_dup(v->a, str_of(err.msg)));
        visit_again(v, CONFLICT_NS);
        return;
    }
    note_failure(v, item, &err);
}
