/* SPDX-License-Identifier: Apache-2.0 */
/* One permission, from what it says to what its status says. Each visit goes through all of it and writes what differs:
 *
 *   read it and its works ─► build ─┬─► nothing is asked for   ─► works go
 *                                   ├─► invalid, broken        ─► works stay as they are
 *                                   ├─► waits for approval     ─► works stay as they are
 *                                   └─► works are written      ─► status */
#include "controllers/permissions/permissions_internal.h"
#include "controllers/permissions/permissions_report.h"
#include "object/conditions.h"
#include "object/object.h"

static const int64_t recheck_rights = INT64_C(300000000000); /* of who asked for what waits for approval */

/* ---- Events. ---- */

/* Conditions that people are told of when they turn. False is a problem. */
static const char *const told[] = {"Validation", "Approved", "AppliedRBACManifestWork", "SubjectPresent"};

/* A problem has a reason that says more than that the agent is still at work. Empty: there is none. */
static str problem_of(const struct json *condition)
{
    str reason = json_get_text(condition, S("reason"));
    bool is_bad = str_eq(json_get_text(condition, S("status")), S("False"));
    return is_bad && !str_eq(reason, S("ApplyRBACManifestWorkNotComplete")) ? reason : (str){0};
}

/* A problem that is new, once, though several conditions may tell of it; and the end of one. What goes well from the beginning is
 * nobody's news: a hub has tens of thousands of permissions. */
static void tell(struct visit *v, const struct json *was, const struct json *now)
{
    str last = {0};
    for (size_t i = 0; i < COUNT(told); i++) {
        const struct json *before = condition_find(json_get(was, S("conditions")), str_of(told[i])),
                          *after = condition_find(json_get(now, S("conditions")), str_of(told[i]));
        str old = problem_of(before), new = problem_of(after), reason = json_get_text(after, S("reason"));
        bool is_fine = str_eq(json_get_text(after, S("status")), S("True"));
        if (str_eq(old, new) || str_eq(reason, last) || !(new.n || is_fine))
            continue;
        last = reason;
        recorder_event(v->all->recorder, &v->permission, new.n ? RECORDER_WARNING : RECORDER_NORMAL, reason,
                       json_get_text(after, S("message")));
    }
}

/* ---- The status. ---- */

static int write_status(struct visit *v, struct json status, struct err *err)
{
    const struct json *was = json_get(&v->permission, S("status"));
    struct json next = json_dup_top(v->a, &v->permission), answer;
    struct client_ref ref = {.resource = &permissions_resource,
                             .namespace = v->r->namespace,
                             .name = v->r->name,
                             .subresource = S("status")};
    if (was && json_equal(was, &status))
        return 0;
    json_set(v->a, &next, S("status"), status);
    int code = client_update(v->r->client, v->a, &ref, &next,
                             &(struct client_write_options){.field_manager = S("reeve-permissions")}, &answer, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err))
        return 0;
    if (code < 0)
        return err_wrap(err, "write the status of ClusterPermission %.*s/%.*s", STR(v->r->namespace), STR(v->r->name));
    echo_wrote(v->all->echoes, v->r->namespace, v->r->name, (str){0}, object_rv(&answer));
    tell(v, was, &status);
    return 0;
}

static int report(struct visit *v, const struct permission_build *build, const struct works *w,
                  const struct approval *approval, struct err *err)
{
    struct permission_progress progress = {.build = build,
                                           .works = w->own.p,
                                           .n_works = w->own.n,
                                           .denied = w->problem,
                                           .waits_approval = approval->is_awaited,
                                           .approval = approval->text};
    return write_status(v, permission_status(v->a, &v->permission, &progress, &v->all->clock), err);
}

/* ---- The visit. ---- */

static int go_through(struct visit *v, struct err *err)
{
    struct works works = {0};
    struct permission_build build = {0};
    struct approval approval = {0};
    int code = works_read(v, &works, err);
    if (code == 0)
        code = facts_build(v, works.own.n > 0, &build, err);
    if (code == 0)
        code = approval_decide(v, &build, &approval, err);
    if (code < 0)
        return code;
    if (approval.is_awaited && build.outcome == PERMISSION_BUILT)
        v->r->again_ns = recheck_rights;
    if (build.is_empty)
        code = works_delete_all(v, &works, err);
    else if (build.outcome == PERMISSION_BUILT && !approval.is_awaited)
        code = works_write(v, &works, &build, err);
    if (code == 0)
        code = report(v, &build, &works, &approval, err);
    if (code == 0 && works.code < 0) /* it has been told; whoever refused may think better of it */
        return err_set(err, (enum err_code)works.code, "%.*s", STR(works.problem));
    return code;
}

/* One that is being deleted takes its works with it, by their owner reference. */
static int look(struct visit *v, struct err *err)
{
    struct client_ref ref = {.resource = &permissions_resource, .namespace = v->r->namespace, .name = v->r->name};
    int code = client_get(v->r->client, v->a, &ref, &v->permission, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err))
        return 0;
    if (code < 0)
        return err_wrap(err, "read ClusterPermission %.*s/%.*s", STR(v->r->namespace), STR(v->r->name));
    return object_is_deleting(&v->permission) ? 0 : go_through(v, err);
}

int permissions_visit(void *ctx, struct reconcile *r, struct err *err)
{
    struct permissions *p = ctx;
    struct visit v = {.all = p, .r = r, .a = r->arena};
    echo_begin(p->echoes, r->namespace, r->name);
    int code = look(&v, err);
    if (echo_end(p->echoes, r->namespace, r->name))
        control_enqueue(p->controller, r->namespace, r->name);
    return code;
}
