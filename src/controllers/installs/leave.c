/* SPDX-License-Identifier: Apache-2.0 */
/* Uninstalling: people's data first, then Deployment, bindings, what was shared, account, record, finalizer. Needs nothing of the
 * package itself: an image that is gone from its registry can be uninstalled. */
#include "controllers/installs/accept.h"
#include "controllers/installs/inside.h"
#include "controllers/installs/status.h"
#include "object/object.h"

static const int64_t second = INT64_C(1000000000);

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
}

/* ---- People's data. ---- */

/* Names of the CRDs of the family that nobody else has; false: somebody who may have one was not visited yet. */
static bool only_ours(struct visit *v, str label, const str **ret, size_t *ret_n)
{
    const struct crd_row *rows;
    size_t n = crd_table_of_family(v->s->crds, v->a, label, &rows), at = 0, k = 0;
    str *names = ARENA_ARRAY(v->a, str, n), key;
    bool *is_taken = ARENA_ARRAY(v->a, bool, n);
    void *value;
    installs_lock(v->s);
    bool is_complete = awaited_find(v->s, label, object_uid(&v->install)) == NULL;
    while (is_complete && map_next(&v->s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        if (h->is_leaving || str_eq(h->uid, object_uid(&v->install)) || !h->now)
            continue;
        for (size_t i = 0; i < n; i++)
            is_taken[i] |= package_find_crd(h->now, rows[i].crd.name) != NULL ||
                           (h->old && package_find_crd(h->old, rows[i].crd.name));
    }
    installs_unlock(v->s);
    for (size_t i = 0; i < n; i++) {
        if (!is_taken[i])
            names[k++] = rows[i].crd.name;
    }
    *ret = names;
    *ret_n = k;
    return is_complete;
}

/* Whether nothing stands in the way any more. */
static int clear_instances(struct visit *v, str label, bool *ret, struct err *err)
{
    const str *names;
    size_t n;
    struct instances left;
    *ret = false;
    if (!only_ours(v, label, &names, &n)) {
        v->r->again_ns = second / 2;
        return 0;
    }
    int code = instances_count(v->r->client, v->s, v->a, names, n, &left, err);
    if (code < 0 || left.n == 0) {
        *ret = code == 0;
        return code;
    }
    v->r->again_ns = second;
    const char *advice =
        "delete them, or annotate this object with " ANNOTATION_DELETE_INSTANCES "=true to have them deleted";
    if (str_eq(object_annotation(&v->install, S(ANNOTATION_DELETE_INSTANCES)), S("true"))) {
        uint64_t found;
        say(v, S("Uninstalling"), str_fmt(v->a, "deleting %.*s", STR(left.text)));
        if ((code = instances_delete(v, names, n, &found, err)) < 0 || found)
            return code;
        advice = "they are not for this install to delete: they are elsewhere, or no version serves them";
    }
    say(v, S("InUse"), str_fmt(v->a, "still there: %.*s; %s", STR(left.text), advice));
    return 0;
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
    bool is_leaving, may = true;
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    is_leaving = h && h->is_leaving;
    installs_unlock(v->s);
    int code = is_leaving ? 0 : clear_instances(v, label, &may, err);
    if (code == 0 && may && !is_leaving && old.n && !str_eq(old, label))
        code = clear_instances(v, old, &may, err);
    if (code < 0 || !may)
        return code;
    if (!is_leaving)
        tell_lost(v);
    if ((code = own_remove(v, record, false, err)) < 0 || !take_back_all(v, old, label, record))
        return code;
    if ((code = own_remove(v, record, true, err)) < 0 || (code = record_delete(v, err)) < 0)
        return code;
    recorder_event(v->s->recorder, &v->install, RECORDER_NORMAL, S("Uninstalled"),
                   S("its rights are taken back, its objects are gone"));
    return finish(v, err);
}
