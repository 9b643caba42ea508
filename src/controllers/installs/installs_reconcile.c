/* SPDX-License-Identifier: Apache-2.0 */
/* One install, from what it asks for to what it has. Each visit goes through all steps again and does what is missing:
 *
 *   asked well? ─► alone in its place? ─► pulled? ─► planned? ─► accepted ─► shared ─► own objects ─► rights ─► Deployment
 *        └──────────────┴───────────────────┴───────────┴──────────┴─► refused: nothing is changed but its status;
 *                                                                      what is installed already is kept as it is (Blocked) */
#include "control/applyset.h"
#include "controllers/installs/installs_accept.h"
#include "controllers/installs/installs_internal.h"
#include "controllers/installs/installs_needs.h"
#include "controllers/installs/installs_status.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/rival.h"

static const int64_t recheck = INT64_C(15000000000);           /* of what was refused: whoever is in its way may go */
static const int64_t recheck_roles = 4 * INT64_C(15000000000); /* roles of foreign bindings are not watched */
static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);

str visit_title(struct arena *a, const struct lane *lane, str namespace, str name)
{
    if (lane->is_cluster)
        return str_fmt(a, "%.*s %.*s", STR(lane->install.kind), STR(name));
    return str_fmt(a, "%.*s %.*s/%.*s", STR(lane->install.kind), STR(namespace), STR(name));
}

struct client_ref visit_ref(const struct visit *v)
{
    return (struct client_ref){
        .resource = &v->lane->install, .namespace = object_namespace(&v->install), .name = object_name(&v->install)};
}

/* ---- Own objects. ---- */

/* The environment's namespace is made when it is missing; it stays when the package goes. */
static int need_namespace(struct visit *v, struct err *err)
{
    if (!v->lane->is_cluster)
        return 0;
    struct json namespace = json_obj(), meta = json_obj();
    json_add(v->a, &meta, S("name"), json_str(v->asked.namespace));
    json_add(v->a, &namespace, S("apiVersion"), json_str(S("v1")));
    json_add(v->a, &namespace, S("kind"), json_str(namespaces.kind));
    json_add(v->a, &namespace, S("metadata"), meta);
    struct client_ref ref = {.resource = &namespaces, .name = v->asked.namespace};
    int code = client_get_metadata(v->r->client, v->a, &ref, NULL, err);
    if (code != ERR_NOT_FOUND)
        return code;
    ref.name = (str){0};
    struct client_write_options options = {.field_manager = S(FIELD_MANAGER_PACKAGES)};
    code = client_create(v->r->client, v->a, &ref, &namespace, &options, NULL, err);
    return code == ERR_ALREADY_EXISTS ? 0 : code;
}

static bool changes(const struct own_work *work, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (work->plan.p[i].action != APPLYSET_KEEP)
            return true;
    }
    return false;
}

/* Account and bindings, then the rights, then the Deployment, then what is of no use any more. */
static int keep_own(struct visit *v, const struct plan *plan, const struct json *record, bool *ret_done,
                    struct err *err)
{
    struct own_work work;
    bool is_in_force = true;
    bool was_installed = condition_is(&v->install, S("Installed"), S("True"));
    v->is_settled = was_installed && v->report->old_package.n == 0 &&
                    str_eq(object_uid(record), json_get_text(json_dig(&v->install, "status.packageRecord"), S("uid")));
    *ret_done = false;
    int code = need_namespace(v, err);
    if (code < 0 || (code = own_unbind(v, record, plan, err)) < 0 || (code = own_plan(v, record, plan, &work, err)) < 0)
        return code;
    if (work.conflict.n) {
        status_refuse(v->report, S("Conflict"), work.conflict);
        v->r->again_ns = recheck; /* what others have is not watched */
        return 0;
    }
    if ((code = own_run(v, record, &work, 0, work.before, err)) < 0)
        return code;
    if (changes(&work, 0, work.before))
        rights_forget(v);
    if (!was_installed || changes(&work, 0, work.plan.n))
        code = rights_are_in_force(v, plan, &is_in_force, err);
    if (code < 0)
        return code;
    if (!is_in_force) {
        status_say(v->report, STATUS_INSTALLED, STATUS_FALSE, S("WaitingForRights"),
                   S("the server does not yet grant what it was told to"));
        return 0;
    }
    *ret_done = true;
    return own_run(v, record, &work, work.before, work.plan.n, err);
}

/* ---- From accepted to installed. ---- */

static void say_installed(struct visit *v, const struct plan *plan, const struct package *p)
{
    struct buf text = {.arena = v->a};
    for (size_t i = 0; i < plan->n_waits && i < 5; i++)
        buf_fmt(&text, "%s%.*s", i ? ", " : "", STR(plan->waits[i]));
    if (plan->n_waits > 5)
        buf_fmt(&text, " and %zu more", plan->n_waits - 5);
    if (plan->n_waits)
        status_say(v->report, STATUS_INSTALLED, STATUS_TRUE, S("WaitingForDependencies"),
                   str_fmt(v->a, "not there yet: %.*s; rights to them follow when they are", STR(buf_str(&text))));
    else
        status_say(v->report, STATUS_INSTALLED, STATUS_TRUE, S("Installed"),
                   str_fmt(v->a, "%.*s %.*s", STR(p->family), STR(p->version)));
}

/* Only of an install that ever had something to report. */
static void say_retained(struct visit *v, str text)
{
    if (text.n)
        status_say(v->report, STATUS_RETAINED, STATUS_TRUE, S("InUse"), text);
    else if (condition_is(&v->install, S("CRDsRetained"), S("True")))
        status_say(v->report, STATUS_RETAINED, STATUS_FALSE, S("NoInstances"), S(""));
}

/* The old version's roles and bindings have been left: forgets it. */
static void leave_old(struct visit *v, const struct accepted *accepted)
{
    v->report->old_package = v->report->old_digest = (str){0};
    if (!accepted->old)
        return;
    installs_lock(v->s);
    struct holding *h = holding_get(v->s, object_uid(&v->install));
    if (h && h->old == accepted->old) {
        struct holding next = *h;
        str old_label = plan_family_label(v->a, h->old->family);
        next.old = NULL;
        next.is_shared = next.is_in_force = true;
        h = holding_put(v->s, &next);
        shares_enqueue(v->s, h->label);
        shares_enqueue(v->s, old_label);
    }
    installs_unlock(v->s);
}

static int go_on(struct visit *v, const struct accepted *accepted, const struct plan *plan, struct err *err)
{
    struct status_report *r = v->report;
    r->has_counts =
        accepted->is_in_force || !condition_is(&v->install, S("Installed"), S("True")); /* else: not known yet */
    r->wanted = accepted->wanted;
    r->established = accepted->established;
    if (accepted->problem.n) {
        status_say(r, STATUS_INSTALLED, STATUS_FALSE, S("ApplyFailed"), accepted->problem);
        return 0;
    }
    if (!accepted->is_in_force) {
        if (!condition_is(&v->install, S("Installed"), S("True")))
            status_say(r, STATUS_INSTALLED, STATUS_FALSE, S("WaitingForCRDs"),
                       str_fmt(v->a, "%zu of %zu CRDs are established", r->established, r->wanted));
        return 0;
    }
    bool is_done;
    if (accepted->conflict.n)
        status_refuse(r, S("Conflict"), accepted->conflict);
    if (accepted->is_lacking && accepted->old) { /* what runs fits what is there better than what it would become */
        status_say(r, STATUS_INSTALLED, STATUS_FALSE, S("Conflict"), accepted->conflict);
        return 0;
    }
    int code = keep_own(v, plan, &accepted->record, &is_done, err);
    if (code < 0 || !is_done)
        return code;
    leave_old(v, accepted);
    say_retained(v, accepted->retained);
    say_installed(v, plan, accepted->package);
    if (accepted->is_lacking)
        status_say(r, STATUS_INSTALLED, STATUS_FALSE, S("Conflict"), accepted->conflict);
    return health_report(v, plan, err);
}

/* ---- Deciding what to install. ---- */

/* What was refused, though something is installed: that is kept as it is. */
static void say_blocked(struct visit *v, str reason, str message, const struct package *running)
{
    v->report->why = S("Blocked");
    v->report->why_message =
        str_fmt(v->a, "%.*s: %.*s; %.*s keeps running", STR(reason), STR(message), STR(running->version));
    status_refuse(v->report, S("Blocked"), v->report->why_message);
}

static void say_refused(struct visit *v, const struct findings *findings)
{
    str reason = findings->list.p[0].reason, text = findings_text(v->a, findings);
    status_refuse(v->report, reason.n ? reason : S("InvalidPackage"), text);
    status_say(v->report, STATUS_INSTALLED, STATUS_FALSE, v->report->words[STATUS_SYNCED].reason, text);
}

static bool is_installed(struct visit *v, const struct package *p)
{
    const struct json *status = json_get(&v->install, S("status"));
    str installed = json_get_text(status, S("installedPackage"));
    return installed.n && str_eq(json_get_text(status, S("resolvedPackage")), p->digest) &&
           str_eq(json_get_text(status, S("version")), p->version) && str_eq(rival_source(v->a, installed), p->source);
}

/* What is installed goes on without the access that is not approved. */
static int withhold_access(struct visit *v, const struct plan_args *args, struct plan *plan, str *ret_why,
                           struct err *err)
{
    bool is_given = !v->needs.n;
    struct plan_args limited = *args;
    int code = v->is_fallback ? 0 : needs_decide(v, args->package, &is_given, ret_why, err);
    if (code < 0 || is_given || v->s->allows_cluster_dependencies)
        return code;
    struct rules given = needs_given(v);
    limited.options.cluster_access = &given;
    plan_make(v->a, &limited, plan);
    return 0;
}

/* What is installed goes on, though something about it must be reported: access that is not approved, or that others gave it. */
static void report_kept(struct visit *v, str awaited, str conflict)
{
    if (v->report->words[STATUS_SYNCED].value != STATUS_TRUE || !(awaited.n || conflict.n))
        return;
    if (conflict.n)
        status_refuse(v->report, S("ServiceAccountConflict"), conflict);
    else
        status_refuse(v->report, S("ApprovalRequired"), awaited);
    v->r->again_ns = recheck; /* the requester may get that access; a role may change */
}

/* Tries to install p. False: it was refused, and findings say why. */
static int try(struct visit *v, const struct package *p, struct findings *findings, struct err *err)
{
    struct plan plan;
    struct plan_facts facts = accept_facts(v->s);
    struct plan_args args = {p, &v->asked, &facts, v->s->options, v->is_fallback || is_installed(v, p)};
    str awaited = {0}, conflict = {0};
    bool has_foreign = false;
    plan_make(v->a, &args, &plan);
    vec_each(&plan.findings.list, f)
    {
        *vec_push(v->a, &findings->list) = *f;
    }
    if (findings->list.n)
        return 0;
    v->needs.n = 0;
    v->is_kept = v->is_fallback || is_installed(v, p);
    needs_add_plan(v, &plan);
    int code = foreign_check(v, &conflict, &has_foreign, err);
    if (code == 0 && conflict.n && !v->is_kept)
        findings_add(findings, S("ServiceAccountConflict"), "%.*s", STR(conflict));
    if (code < 0 || findings->list.n)
        return code;
    if (v->is_kept)
        code = withhold_access(v, &args, &plan, &awaited, err);
    struct accepted accepted = {0};
    if (code == 0)
        code = accept_package(v, p, &plan, findings, &accepted, err);
    if (code == 0 && accepted.is_accepted)
        code = go_on(v, &accepted, &plan, err);
    accept_release(&accepted);
    report_kept(v, awaited, conflict);
    if (has_foreign && v->r->again_ns == 0)
        v->r->again_ns = recheck_roles;
    return code;
}

static void say_unpacked(struct visit *v, const struct package *p)
{
    status_say(v->report, STATUS_UNPACKED, STATUS_TRUE, S("Unpacked"),
               str_fmt(v->a, "%.*s, %zu CRDs", STR(p->digest), p->n_crds));
}

static int refused(struct visit *v, const struct findings *findings, const struct package *running, struct err *err)
{
    v->r->again_ns = recheck;
    if (!running) {
        say_refused(v, findings);
        return 0;
    }
    struct findings again = {.arena = v->a};
    str reason = findings->list.p[0].reason;
    str installed = json_get_text(json_get(&v->install, S("status")), S("installedPackage"));
    v->is_fallback = true;
    v->asked.image = installed; /* the containers that name none: what runs is not what is asked for */
    int code = try(v, running, &again, err);
    if (again.list.n)
        say_refused(v, &again);
    else
        say_blocked(v, reason, findings_text(v->a, findings), running);
    return code;
}

/* What is installed: known by heart or, after a restart, what status says. What is only reserved is not. */
static const struct package *find_running(struct visit *v, struct pull *pull)
{
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    const struct package *p = !h ? NULL : h->is_reserved ? h->old : h->now;
    if (p && p != pull->running) {
        package_unref(pull->running);
        pull->running = package_ref(p);
    }
    installs_unlock(v->s);
    return pull->running;
}

static int install(struct visit *v, struct pull *pull, struct findings *findings, struct err *err)
{
    const struct package *running = find_running(v, pull);
    if (!running && pull->running_message.n) { /* something is installed and cannot be read: nothing is touched */
        status_refuse(v->report, S("PullFailed"), pull->running_message);
        return 0;
    }
    status_say(v->report, STATUS_SYNCED, STATUS_TRUE, S("ReconcileSuccess"), S(""));
    if (!findings->list.n && !pull->wanted) {
        findings_add(findings, pull->reason, "%.*s", STR(pull->message));
        if (!running)
            status_say(v->report, STATUS_UNPACKED, STATUS_FALSE, pull->reason, pull->message);
    }
    if (!findings->list.n && pull->wanted) {
        say_unpacked(v, pull->wanted);
        int code = try(v, pull->wanted, findings, err);
        if (code < 0 || !findings->list.n)
            return code;
        if (running && str_eq(running->digest, pull->wanted->digest) &&
            str_eq(running->version, pull->wanted->version) && str_eq(running->source, pull->wanted->source))
            running =
                NULL; /* what runs is refused by now: there is nothing else to fall back on, and nothing is undone */
    }
    return refused(v, findings, running, err);
}

static int work(struct visit *v, struct findings *findings, struct err *err)
{
    if (!findings->list.n)
        accept_check_place(v, findings);
    struct pull pull = {0};
    bool has_running = json_get_text(json_get(&v->install, S("status")), S("installedPackage")).n != 0;
    if ((!findings->list.n || has_running) && !pull_result(v->s, v->a, v->lane, &v->install, &pull)) {
        v->report->is_silent = !pull.is_slow || has_running;
        if (!pull.is_slow)
            v->r->again_ns = PULL_SLOW_NS + NS_PER_MS;
        else if (!has_running)
            status_say(v->report, STATUS_UNPACKED, STATUS_FALSE, S("Pulling"),
                       str_fmt(v->a, "pulling %.*s", STR(v->asked.image)));
        return 0;
    }
    int code = install(v, &pull, findings, err);
    pull_release(v->s, &pull);
    return code;
}

/* After a restart what is installed takes part in its family again, also while it waits to be uninstalled. Uninstalling itself needs no
 * package: one that cannot be had, or not soon, is done without. False: it is on its way. */
static bool restore(struct visit *v)
{
    struct pull pull = {0};
    installs_lock(v->s);
    bool is_known = holding_get(v->s, object_uid(&v->install)) != NULL;
    installs_unlock(v->s);
    if (is_known || json_get_text(json_get(&v->install, S("status")), S("installedPackage")).n == 0)
        return true;
    if (!pull_result(v->s, v->a, v->lane, &v->install, &pull)) {
        v->r->again_ns = PULL_SLOW_NS + NS_PER_MS;
        return pull.is_slow;
    }
    pull_release(v->s, &pull);
    return true;
}

/* The cache has not seen our own last write yet. */
static bool is_behind(struct visit *v)
{
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    bool is_behind = h && item_version_is_older(object_rv(&v->install), h->written);
    installs_unlock(v->s);
    return is_behind;
}

int installs_visit(void *ctx, struct reconcile *r, struct err *err)
{
    const struct lane *lane = ctx;
    struct status_report report = {0};
    struct visit v = {.s = lane->all, .lane = lane, .r = r, .a = r->arena, .report = &report};
    if (!informer_read(lane->installs, r->arena, r->namespace, r->name, &v.install))
        return 0; /* on_install has seen to what it held */
    if (is_behind(&v))
        return 0; /* the change that is on its way brings us back */
    struct findings findings = {.arena = r->arena};
    plan_install_read(r->arena, lane->dialect, &v.install, &v.asked, &findings);
    if (object_is_deleting(&v.install) && !restore(&v))
        return 0;
    int code = object_is_deleting(&v.install) ? leave_visit(&v, err) : work(&v, &findings, err);
    if (code == ERR_CONFLICT || (code == 0 && (json_is_null(&v.install) || report.is_silent)))
        return code; /* null: it is gone */
    struct err ignored;
    if (code < 0)
        status_refuse(&report, S("ReconcileError"), str_of(err->msg));
    int written = status_write(&v, &report, code < 0 ? &ignored : err);
    if (code < 0)
        return code;
    return written == ERR_NOT_FOUND ? 0 : written; /* it has just gone */
}
