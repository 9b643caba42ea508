/* SPDX-License-Identifier: Apache-2.0 */
/* Uninstalling: people's data first, then Deployment, bindings, what was shared, account, record, finalizer. Needs nothing of the
 * package itself: an image that is gone from its registry can be uninstalled. */
#include "controllers/installs/installs_accept.h"
#include "controllers/installs/installs_internal.h"
#include "controllers/installs/installs_status.h"
#include "object/object.h"

static int drop_finalizer(struct visit *v, struct err *err)
{
    struct json patch = json_obj(), meta = json_obj(), list = json_arr();
    const struct json *now = object_finalizers(&v->install);
    json_each_item(now, f)
    {
        if (!str_eq(json_text(f), S(FINALIZER_UNINSTALL)))
            json_push(v->a, &list, *f);
    }
    json_add(v->a, &meta, S("finalizers"), list);
    json_add(v->a, &meta, S("resourceVersion"), json_str(object_rv(&v->install)));
    json_add(v->a, &patch, S("metadata"), meta);
    struct client_ref ref = visit_ref(v);
    struct client_patch_args args = {CLIENT_PATCH_MERGE, &patch, {.field_manager = S(FIELD_MANAGER_PACKAGES)}};
    int code = client_patch(v->r->client, v->a, &ref, &args, NULL, err);
    return code == ERR_NOT_FOUND ? 0 : code;
}

static int finish(struct visit *v, struct err *err)
{
    str uid = object_uid(&v->install);
    int code = object_has_finalizer(&v->install, S(FINALIZER_UNINSTALL)) ? drop_finalizer(v, err) : 0;
    if (code < 0)
        return code;
    pull_forget(v->s, uid);
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, uid);
    if (h && !h->is_unshared)
        shares_enqueue(v->s, h->label); /* somebody took the finalizer away */
    holding_drop(v->s, uid);
    awaited_drop(v->s, uid);
    installs_unlock(v->s);
    v->install = json_null(); /* it is gone: there is no status to write */
    return 0;
}

/* Ready, as long as it is, has the same word. */
static void say(struct visit *v, str reason, str message)
{
    v->report->why = reason;
    v->report->why_message = message;
    status_refuse(v->report, reason, message);
    status_say(v->report, STATUS_TERMINATING, STATUS_TRUE, reason, message);
}

/* ---- People's data. ---- */

typedef VEC(struct instances_of) instances_vec;

static bool has_crd(const struct holding *h, str name)
{
    return (h->now && package_find_crd(h->now, name)) || (h->old && package_find_crd(h->old, name));
}

/* An upgrade may have dropped a CRD of which the namespace has instances still: the label stays until they are gone, see installs_retain.c. */
static bool has_label(const struct json *crd, str namespace)
{
    struct arena scratch ARENA_SCOPE = {0};
    return object_label(crd, str_fmt(&scratch, LABEL_NAMESPACE_PREFIX "%.*s", STR(namespace))).n != 0;
}

static bool retains_crd(struct visit *v, const struct holding *h, str label, const struct crd_row *row)
{
    struct json crd;
    return h->retained.n && !h->lane->is_cluster && str_eq(h->label, label) &&
           informer_read(v->s->crd_informer, v->a, (str){0}, row->crd.name, &crd) && has_label(&crd, h->namespace);
}

/* An install that was given a CRD serves its instances: all of them, or those of its namespace. They keep it from being uninstalled. Those
 * in namespaces without an install are left to the last install that has the CRD, because the CRD goes with it. */
static void add_concern(struct visit *v, const struct crd_row *row, bool is_taken, instances_vec *list)
{
    const struct holding *self = holding_get(v->s, object_uid(&v->install));
    struct json crd;
    if (!is_taken)
        *vec_push(v->a, list) = (struct instances_of){.crd = row->crd.name};
    else if (!v->lane->is_cluster && (!self || !self->now || has_crd(self, row->crd.name) ||
                                      (informer_read(v->s->crd_informer, v->a, (str){0}, row->crd.name, &crd) &&
                                       has_label(&crd, object_namespace(&v->install)))))
        *vec_push(v->a, list) = (struct instances_of){row->crd.name, object_namespace(&v->install)};
}

/* The instances that keep this install from being uninstalled, if there are any. Under the lock. False: an install that may have one of
 * the CRDs was not visited yet. */
static bool find_concerns(struct visit *v, str label, instances_vec *ret)
{
    const struct crd_row *rows;
    size_t n = crd_table_of_family(v->s->crds, v->a, label, &rows), at = 0;
    bool *is_taken = ARENA_ARRAY(v->a, bool, n);
    str key;
    void *value;
    if (awaited_find(v->s, label, object_uid(&v->install)))
        return false;
    while (map_next(&v->s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        if (h->is_going || h->is_leaving || str_eq(h->uid, object_uid(&v->install)))
            continue;
        for (size_t i = 0; i < n; i++)
            is_taken[i] |= has_crd(h, rows[i].crd.name) || retains_crd(v, h, label, &rows[i]);
    }
    for (size_t i = 0; i < n; i++)
        add_concern(v, &rows[i], is_taken[i], ret);
    return true;
}

/* One decision in a family at a time: of two installs that are uninstalled at once, one is the last that has a CRD. */
struct leaving {
    str labels[2]; /* of the package, and of the one that it replaces, if that is of another family */
    size_t n;
    instances_vec concerns;
    bool is_incomplete; /* an install of the family was not visited yet */
};

static bool begin_decision(struct visit *v, struct leaving *l)
{
    bool may = true;
    installs_lock(v->s);
    for (size_t i = 0; may && i < l->n; i++) {
        l->is_incomplete = !find_concerns(v, l->labels[i], &l->concerns);
        may = !l->is_incomplete && !map_get(&v->s->deciding, l->labels[i]);
    }
    for (size_t i = 0; may && i < l->n; i++)
        map_set(&v->s->deciding, l->labels[i], v);
    installs_unlock(v->s);
    return may;
}

/* From now on nobody counts on it, before anything of it is removed. */
static void end_decision(struct visit *v, const struct leaving *l, str record, bool is_going)
{
    installs_lock(v->s);
    struct holding *h = holding_get(v->s, object_uid(&v->install));
    for (size_t i = 0; i < l->n; i++)
        map_del(&v->s->deciding, l->labels[i]);
    if (is_going && h)
        h->is_going = true;
    else if (is_going)
        holding_put(v->s, &(struct holding){.lane = v->lane,
                                            .uid = object_uid(&v->install),
                                            .namespace = object_namespace(&v->install),
                                            .name = object_name(&v->install),
                                            .place = v->asked.namespace,
                                            .record = record,
                                            .label = l->labels[0],
                                            .is_going = true});
    installs_unlock(v->s);
}

static int say_in_use(struct visit *v, const struct leaving *l, const struct instances *left, struct err *err)
{
    const char *advice =
        "delete them, or annotate this object with " ANNOTATION_DELETE_INSTANCES "=true to have them deleted";
    v->r->again_ns = NS_PER_S;
    if (str_eq(object_annotation(&v->install, S(ANNOTATION_DELETE_INSTANCES)), S("true"))) {
        uint64_t found;
        say(v, S("Uninstalling"), str_fmt(v->a, "deleting %.*s", STR(left->text)));
        int code = instances_delete(v, l->concerns.p, l->concerns.n, &found, err);
        if (code < 0 || found)
            return code;
        advice = "they are not for this install to delete: they are elsewhere, or no version serves them";
    }
    say(v, S("InUse"), str_fmt(v->a, "still there: %.*s; %s", STR(left->text), advice));
    return 0;
}

/* Whether nothing stands in the way any more. */
static int decide_leaving(struct visit *v, struct leaving *l, str record, bool *ret, struct err *err)
{
    struct instances left;
    *ret = false;
    if (!begin_decision(v, l)) {
        v->r->again_ns = l->is_incomplete ? NS_PER_S / 2 : NS_PER_S / 50;
        return 0;
    }
    int code = instances_count(v->r->client, v->s, v->a, l->concerns.p, l->concerns.n, &left, err);
    *ret = code == 0 && left.n == 0;
    end_decision(v, l, record, *ret);
    return code == 0 && left.n ? say_in_use(v, l, &left, err) : code;
}

/* ---- What is shared. ---- */

/* True: nothing that it shared with this family is left. */
static bool take_back(struct visit *v, str label, str record)
{
    installs_lock(v->s);
    struct holding *h = holding_get(v->s, object_uid(&v->install));
    if (!h || !h->is_leaving || !str_eq(h->label, label)) {
        struct holding next = {.lane = v->lane,
                               .uid = object_uid(&v->install),
                               .namespace = object_namespace(&v->install),
                               .name = object_name(&v->install),
                               .place = v->asked.namespace,
                               .record = record,
                               .label = label,
                               .now = h ? h->now : NULL,
                               .is_going = true,
                               .is_leaving = true};
        h = holding_put(v->s, &next);
        shares_enqueue(v->s, label);
    }
    bool is_unshared = h->is_unshared;
    str problem = str_dup(v->a, h->problem);
    installs_unlock(v->s);
    if (!is_unshared)
        say(v, problem.n ? S("ApplyFailed") : S("Uninstalling"), problem.n ? problem : S("taking back CRDs and roles"));
    return is_unshared;
}

/* Of what it was before an upgrade that is still under way, if that was another package, and then of what it is. */
static bool take_back_all(struct visit *v, str old, str label, str record)
{
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    bool is_second = h && h->is_leaving && str_eq(h->label, label);
    installs_unlock(v->s);
    if (old.n && !str_eq(old, label) && !is_second && !take_back(v, old, record))
        return false;
    return take_back(v, label, record);
}

static void tell_lost(struct visit *v)
{
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    const struct package *p = h && h->now ? package_ref(h->now) : NULL;
    installs_unlock(v->s);
    grants_tell(v, p, NULL);
    package_unref(p);
}

int leave_visit(struct visit *v, struct err *err)
{
    const struct json *status = json_get(&v->install, S("status"));
    str package = json_get_text(status, S("installedPackage"));
    str record = json_get_text(json_get(status, S("packageRecord")), S("uid"));
    if (!object_has_finalizer(&v->install, S(FINALIZER_UNINSTALL)))
        return finish(v, err);
    if (package.n == 0) /* it came no further than its record */
        return record_delete(v, err) < 0 ? err->code : finish(v, err);
    str label = installs_family_label(v->a, package);
    str old = installs_family_label(v->a, json_get_text(json_get(status, S("replaces")), S("package")));
    struct leaving l = {.labels = {label, old}, .n = old.n && !str_eq(old, label) ? 2 : 1};
    bool is_decided, may = true;
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    is_decided = h && (h->is_going || h->is_leaving);
    installs_unlock(v->s);
    int code = is_decided ? 0 : decide_leaving(v, &l, record, &may, err);
    if (code < 0 || !may)
        return code;
    if (!is_decided)
        tell_lost(v);
    if ((code = own_remove(v, record, false, err)) < 0 || !take_back_all(v, old, label, record))
        return code;
    if ((code = own_remove(v, record, true, err)) < 0 || (code = record_delete(v, err)) < 0)
        return code;
    recorder_event(v->s->recorder, &v->install, RECORDER_NORMAL, S("Uninstalled"),
                   S("its rights are taken back, its objects are gone"));
    return finish(v, err);
}
