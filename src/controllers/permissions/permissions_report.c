/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions_report.h"

#include "controllers/permissions/permissions_resources.h"
#include "controllers/permissions/permissions_text.h"
#include "object/conditions.h"
#include "object/name.h"
#include "object/object.h"

/* Of a condition. A message may have 32768, less what is added. */
enum { REASON_BYTES = 1024, MESSAGE_BYTES = 32000 };
/* Of failures: so many objects are named, each with so much of what its agent says. */
enum { CAUSES = 5, CAUSE_BYTES = 1024, NAME_BYTES = 253 };

/* From bad to good. */
enum rank { RANK_FAILED, RANK_UNKNOWN, RANK_NOT_COMPLETE, RANK_FINE };

/* How far the works are, all in all. */
struct verdict {
    enum rank rank;
    str reason, message;
    str work; /* that it is about; empty: none */
};

struct report {
    struct arena *a;
    const struct json *permission;
    const struct permission_progress *progress;
    const struct permission_build *build;
    const struct clock *clock;
    struct verdict verdict;
    struct json conditions;
};

static bool is_reason(str reason)
{
    return reason.n <= REASON_BYTES && name_is(NAME_CONDITION_REASON, reason);
}

static void set(struct report *r, str type, str status, str reason, str message)
{
    struct condition c = {
        .type = type,
        .status = status,
        .reason = is_reason(reason) ? reason : S("Unknown"),
        .message = permission_clip(r->a, message, MESSAGE_BYTES),
        .observed_generation = object_generation(r->permission),
    };
    condition_set(r->a, &r->conditions, &c, r->clock);
}

static str truth(bool is)
{
    return is ? S("True") : S("False");
}

static str list_of(struct arena *a, const str *items, size_t n)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < n; i++)
        permission_note(&b, items[i], MESSAGE_BYTES / 2);
    return buf_str(&b);
}

/* ---- Of what was built. ---- */

static void set_validation(struct report *r)
{
    bool is_invalid = r->build->outcome == PERMISSION_INVALID;
    set(r, S("Validation"), truth(!is_invalid), is_invalid ? r->build->reason : S("ValidationSucceeded"),
        is_invalid ? r->build->message : S("the permission is valid"));
}

static void set_subjects(struct report *r)
{
    const struct permission_build *b = r->build;
    if (b->n_missing)
        set(r, S("SubjectPresent"), S("False"), S("SubjectsNotFound"),
            str_fmt(r->a, "The following ManagedServiceAccounts were not found: %.*s",
                    STR(list_of(r->a, b->missing, b->n_missing))));
    else if (b->no_subjects.n)
        set(r, S("SubjectPresent"), S("False"), S("NoSubjects"),
            str_fmt(r->a, "Bindings without subjects grant nothing: %.*s", STR(b->no_subjects)));
    else
        set(r, S("SubjectPresent"), S("True"), S("AllSubjectsFound"),
            b->has_accounts ? S("All ManagedServiceAccounts were found") : S("No subject is a ManagedServiceAccount"));
}

static void set_approved(struct report *r)
{
    const struct permission_progress *p = r->progress;
    if (p->approval.n)
        set(r, S("Approved"), truth(!p->waits_approval), p->waits_approval ? S("WaitsForApproval") : S("Approved"),
            p->approval);
    else
        condition_remove(&r->conditions, S("Approved"));
}

/* ---- Of the works. ---- */

/* Whether a condition of a work speaks of the spec that it has now. */
static bool is_current(const struct json *work, const struct json *condition)
{
    int64_t observed = 0;
    (void)json_to_int(json_get(condition, S("observedGeneration")), &observed);
    return condition && observed >= object_generation(work);
}

static const struct json *applied_of(const struct json *work)
{
    const struct json *applied = condition_find(json_dig(work, "status.conditions"), S("Applied"));
    return is_current(work, applied) ? applied : NULL;
}

static struct verdict not_complete(str work)
{
    return (struct verdict){RANK_NOT_COMPLETE, S("ApplyRBACManifestWorkNotComplete"),
                            S("Apply RBAC manifestWork not complete"), work};
}

static str title_of(struct arena *a, const struct json *meta)
{
    str kind = json_get_text(meta, S("kind")), namespace = json_get_text(meta, S("namespace"));
    str name = permission_clip(a, json_get_text(meta, S("name")), NAME_BYTES);
    if (!namespace.n)
        return str_fmt(a, "%.*s \"%.*s\"", STR(permission_clip(a, kind, NAME_BYTES)), STR(name));
    return str_fmt(a, "%.*s \"%.*s/%.*s\"", STR(permission_clip(a, kind, NAME_BYTES)),
                   STR(permission_clip(a, namespace, NAME_BYTES)), STR(name));
}

/* What the agent says of the objects that failed; of all of them together it says only that some did. */
static str failure_of(struct arena *a, const struct json *work, str message)
{
    struct buf b = {.arena = a};
    size_t failed = 0;
    buf_add_str(&b, permission_clip(a, message, MESSAGE_BYTES / 2));
    json_each_item(json_dig(work, "status.resourceStatus.manifests"), manifest)
    {
        const struct json *applied = condition_find(json_get(manifest, S("conditions")), S("Applied"));
        if (!str_eq(json_get_text(applied, S("status")), S("False")) || ++failed > CAUSES)
            continue;
        str reason = json_get_text(applied, S("reason"));
        buf_fmt(&b, "\n%.*s: %.*s", STR(title_of(a, json_get(manifest, S("resourceMeta")))),
                STR(permission_clip(a, json_get_text(applied, S("message")), CAUSE_BYTES)));
        if (is_reason(reason))
            buf_fmt(&b, " (%.*s)", STR(reason));
    }
    if (failed > CAUSES)
        buf_fmt(&b, "\n%zu more objects failed", failed - CAUSES);
    return buf_str(&b);
}

static struct verdict verdict_of(struct arena *a, const struct json *work)
{
    const struct json *applied = applied_of(work);
    str status = json_get_text(applied, S("status"));
    if (!applied || object_is_deleting(work))
        return not_complete(object_name(work));
    str message = json_get_text(applied, S("message"));
    bool is_failed = str_eq(status, S("False"));
    return (struct verdict){
        .rank = is_failed                   ? RANK_FAILED
                : str_eq(status, S("True")) ? RANK_FINE
                                            : RANK_UNKNOWN,
        .reason = json_get_text(applied, S("reason")),
        .message = is_failed ? failure_of(a, work, message) : message,
        .work = object_name(work),
    };
}

static const struct json *work_named(const struct permission_progress *p, str name)
{
    for (size_t i = 0; i < p->n_works; i++) {
        if (str_eq(object_name(&p->works[i]), name))
            return &p->works[i];
    }
    return NULL;
}

static bool is_built(const struct permission_build *b, str name)
{
    for (size_t i = 0; i < b->n; i++) {
        if (str_eq(b->works[i].name, name))
            return true;
    }
    return false;
}

static void worsen(struct verdict *v, struct verdict other)
{
    if (v->work.n == 0 || other.rank < v->rank)
        *v = other;
}

/* The worst of all parts; of equal ones the first. A part that was not written yet, and one that is still to go, are not complete:
 * only when the others tell of no failure. */
static struct verdict worst_of(const struct report *r)
{
    struct verdict v = {0};
    for (size_t i = 0; i < r->build->n; i++) {
        const struct permission_work *want = &r->build->works[i];
        const struct json *work = work_named(r->progress, want->name);
        worsen(&v, work && permission_work_is(want, work) ? verdict_of(r->a, work) : not_complete(want->name));
    }
    for (size_t i = 0; i < r->progress->n_works; i++) {
        str name = object_name(&r->progress->works[i]);
        if (!is_built(r->build, name))
            worsen(&v, not_complete(name));
    }
    return v;
}

/* Nothing is to be delivered, though something is asked for. */
static str why_nothing(const struct permission_build *b)
{
    return b->no_namespaces.n ? S("unable to find any Namespace using NamespaceSelector")
                              : S("no binding has a subject that is present");
}

static struct verdict judge(const struct report *r)
{
    const struct permission_progress *p = r->progress;
    if (r->build->outcome != PERMISSION_BUILT)
        return (struct verdict){RANK_FAILED, r->build->reason, r->build->message, {0}};
    if (p->waits_approval)
        return (struct verdict){RANK_FAILED, S("WaitsForApproval"), p->approval, {0}};
    if (p->denied.n)
        return (struct verdict){RANK_FAILED, S("FailedWriteManifestWork"), p->denied, {0}};
    if (r->build->n == 0 && p->n_works == 0)
        return (struct verdict){RANK_FAILED, S("FailedBuildManifestWork"), why_nothing(r->build), {0}};
    return worst_of(r);
}

static void set_applied(struct report *r)
{
    static const str statuses[] = {
        [RANK_FAILED] = S_INIT("False"),
        [RANK_UNKNOWN] = S_INIT("Unknown"),
        [RANK_NOT_COMPLETE] = S_INIT("False"),
        [RANK_FINE] = S_INIT("True"),
    };
    const struct verdict *v = &r->verdict;
    str message = permission_clip(r->a, v->message, MESSAGE_BYTES - 1000);
    if (v->work.n)
        message = str_fmt(r->a,
                          "%.*s\nRun the following command to check the ManifestWork status:\n"
                          "kubectl -n %.*s get ManifestWork %.*s -o yaml",
                          STR(message), STR(object_namespace(r->permission)), STR(v->work));
    set(r, S("AppliedRBACManifestWork"), statuses[v->rank], v->reason, message);
}

/* Whether the works that are wanted stand; what they say may be from before. */
static void set_created(struct report *r)
{
    const struct permission_progress *p = r->progress;
    bool is_created = p->n_works > 0;
    for (size_t i = 0; i < r->build->n; i++)
        is_created = is_created && work_named(p, r->build->works[i].name);
    if (!is_created)
        set(r, S("RBACManifestWorkCreated"), S("False"), S("ManifestWorkNotCreated"), r->verdict.message);
    else if (p->n_works == 1)
        set(r, S("RBACManifestWorkCreated"), S("True"), S("ManifestWorkCreated"),
            str_fmt(r->a, "ManifestWork %.*s", STR(object_name(p->works))));
    else
        set(r, S("RBACManifestWorkCreated"), S("True"), S("ManifestWorkCreated"),
            str_fmt(r->a, "%zu ManifestWorks, the first is %.*s", p->n_works, STR(object_name(p->works))));
}

static bool is_stale(const struct report *r)
{
    const struct permission_progress *p = r->progress;
    return p->n_works && !r->build->is_empty &&
           (r->build->outcome != PERMISSION_BUILT || p->waits_approval || p->denied.n);
}

static void set_stale(struct report *r)
{
    if (is_stale(r))
        set(r, S("Stale"), S("True"), S("LastGoodStateKept"),
            str_fmt(r->a, "What was delivered before stays until the permission is fixed or deleted: %.*s",
                    STR(r->verdict.message)));
    else
        condition_remove(&r->conditions, S("Stale"));
}

/* ---- Roles that are looked for. ---- */

/* All works have told of all that they have now. Without a word on availability roles count as missing, as in OCM. */
static bool is_told(const struct permission_progress *p)
{
    for (size_t i = 0; i < p->n_works; i++) {
        const struct json *available = condition_find(json_dig(&p->works[i], "status.conditions"), S("Available"));
        if (!applied_of(&p->works[i]) || (available && !is_current(&p->works[i], available)))
            return false;
    }
    return true;
}

static void set_found(struct report *r, str type, str missing, const char *prefix, const char *roles)
{
    if (missing.n)
        set(r, type, S("False"), str_fmt(r->a, "%sNotFound", prefix),
            str_fmt(r->a, "The following %s were not found: %.*s", roles, STR(missing)));
    else
        set(r, type, S("True"), str_fmt(r->a, "All%sFound", prefix),
            str_fmt(r->a, "All referenced %s were found", roles));
}

static void set_validated(struct report *r, const struct permission_resources *resources)
{
    const struct permission_progress *p = r->progress;
    if (p->n_works == 0 || !json_true(json_dig(r->permission, "spec.validate"))) {
        condition_remove(&r->conditions, S("ValidateRolesExist"));
        condition_remove(&r->conditions, S("ValidateClusterRolesExist"));
    } else if (is_told(p)) {
        set_found(r, S("ValidateRolesExist"), permission_resources_missing(resources, PERMISSION_ROLE), "Roles",
                  "roles");
        set_found(r, S("ValidateClusterRolesExist"), permission_resources_missing(resources, PERMISSION_CLUSTER_ROLE),
                  "ClusterRoles", "cluster roles");
    }
}

/* ---- All in all. ---- */

/* The first that is not True, or NULL. What is not approved or stale is not applied either. */
static const struct json *first_fault(const struct json *conditions)
{
    static const str types[] = {
        S_INIT("Validation"),         S_INIT("AppliedRBACManifestWork"),   S_INIT("SubjectPresent"),
        S_INIT("ValidateRolesExist"), S_INIT("ValidateClusterRolesExist"),
    };
    for (size_t i = 0; i < COUNT(types); i++) {
        const struct json *c = condition_find(conditions, types[i]);
        if (c && !str_eq(json_get_text(c, S("status")), S("True")))
            return c;
    }
    return NULL;
}

static void set_ready(struct report *r, size_t n_listed, size_t left_out)
{
    const struct json *fault = first_fault(&r->conditions);
    struct buf b = {.arena = r->a};
    if (fault) {
        set(r, S("Ready"), S("False"), json_get_text(fault, S("reason")), json_get_text(fault, S("message")));
        return;
    }
    buf_add_str(&b, S("all is delivered"));
    if (r->build->no_namespaces.n)
        buf_fmt(&b, "; unable to find any Namespace using NamespaceSelector: %.*s", STR(r->build->no_namespaces));
    if (left_out)
        buf_fmt(&b, "; resourceStatus lists %zu of %zu objects", n_listed - left_out, n_listed);
    set(r, S("Ready"), S("True"), S("Ready"), buf_str(&b));
}

static size_t count_listed(const struct permission_resources *resources)
{
    size_t n = 0;
    vec_each(&resources->list, it) n += !it->is_stub;
    return n;
}

struct json permission_status(struct arena *a, const struct json *permission,
                              const struct permission_progress *progress, const struct clock *clock)
{
    const struct json *old = json_get(permission, S("status")), *conditions = json_get(old, S("conditions"));
    struct report r = {
        .a = a,
        .permission = permission,
        .progress = progress,
        .build = progress->build,
        .clock = clock,
        .conditions = json_is_arr(conditions) ? json_dup(a, conditions) : json_arr(),
    };
    struct json status = json_is_obj(old) ? json_dup_top(a, old) : json_obj();
    struct permission_resources resources;
    size_t left_out;
    r.verdict = judge(&r);
    permission_resources_read(&resources, a, progress->works, progress->n_works);
    set_validation(&r);
    set_applied(&r);
    set_created(&r);
    set_subjects(&r);
    set_validated(&r, &resources);
    set_approved(&r);
    set_stale(&r);
    struct json list = permission_resources_status(&resources, json_get(old, S("resourceStatus")), clock, &left_out);
    set_ready(&r, count_listed(&resources), left_out);
    permission_resources_done(&resources);
    json_set(a, &status, S("conditions"), r.conditions);
    if (json_is_null(&list))
        json_remove(&status, S("resourceStatus"));
    else
        json_set(a, &status, S("resourceStatus"), list);
    return status;
}
