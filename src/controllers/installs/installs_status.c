/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/installs/installs_status.h"

#include "object/object.h"

static const char *const types[STATUS_TYPES] = {"Unpacked", "Installed",    "Healthy",
                                                "Synced",   "CRDsRetained", "Terminating"};
static const char *const values[] = {"", "True", "False", "Unknown"};

/* Reasons of what is under way: nothing is wrong. */
static const char *const patient[] = {"Pulling",          "WaitingForCRDs",         "WaitingForRights",
                                      "WaitingForOthers", "WaitingForDependencies", "WaitingForDeployment",
                                      "Uninstalling"};

static bool is_patient(str reason)
{
    for (size_t i = 0; i < COUNT(patient); i++) {
        if (str_eq(reason, str_of(patient[i])))
            return true;
    }
    return false;
}

void status_refuse(struct status_report *r, str reason, str message)
{
    status_say(r, STATUS_SYNCED, STATUS_FALSE, reason, message);
}

/* ---- Ready follows from the others. ---- */

static struct condition ready_of(const struct json *conditions, const struct status_report *r)
{
    const struct json *list[STATUS_TYPES];
    for (int i = 0; i < STATUS_TYPES; i++)
        list[i] = condition_find(conditions, str_of(types[i]));
    const struct json *bad = NULL;
    if (!str_eq(json_get_text(list[STATUS_INSTALLED], S("status")), S("True"))) {
        /* Whatever stands in the way has the word: a refusal, then the first step that is not done. */
        if (str_eq(json_get_text(list[STATUS_SYNCED], S("status")), S("False")))
            bad = list[STATUS_SYNCED];
        else if (!str_eq(json_get_text(list[STATUS_UNPACKED], S("status")), S("True")))
            bad = list[STATUS_UNPACKED];
        else
            bad = list[STATUS_INSTALLED];
        if (!bad)
            return (struct condition){
                .type = S("Ready"), .status = S("False"), .reason = S("Pending"), .message = S("")};
    } else if (str_eq(json_get_text(list[STATUS_HEALTHY], S("status")), S("False"))) {
        bad = list[STATUS_HEALTHY];
    } else if (str_eq(json_get_text(list[STATUS_SYNCED], S("reason")), S("ApprovalRequired"))) {
        bad = list[STATUS_SYNCED]; /* it runs without access that its package needs */
    }
    /* What is asked for is not what runs; Healthy says how that fares. */
    if (str_eq(json_get_text(list[STATUS_SYNCED], S("reason")), S("Blocked")))
        bad = list[STATUS_SYNCED];
    if (bad)
        return (struct condition){.type = S("Ready"),
                                  .status = S("False"),
                                  .reason = json_get_text(bad, S("reason")),
                                  .message = json_get_text(bad, S("message"))};
    const struct json *healthy = list[STATUS_HEALTHY];
    bool is_idle = str_eq(json_get_text(healthy, S("reason")), S("NoWorkloads"));
    return (struct condition){.type = S("Ready"),
                              .status = S("True"),
                              .reason = r->why.n  ? r->why
                                        : is_idle ? S("NoWorkloads")
                                                  : S("Available"),
                              .message = r->why.n  ? r->why_message
                                         : is_idle ? json_get_text(healthy, S("message"))
                                                   : S("")};
}

/* ---- The next status. ---- */

static void set_text(struct arena *a, struct json *status, str key, str text)
{
    if (text.n)
        json_set(a, status, key, json_str(text));
    else
        json_remove(status, key);
}

static void set_installed(struct arena *a, struct json *status, const struct status_report *r)
{
    set_text(a, status, S("installedPackage"), r->package);
    set_text(a, status, S("resolvedPackage"), r->digest);
    set_text(a, status, S("version"), r->version);
    if (r->accepted.n)
        json_set(a, status, S("acceptedAt"), json_str(r->accepted));
    json_remove(status, S("replaces"));
    if (r->old_package.n) {
        struct json old = json_obj();
        json_add(a, &old, S("package"), json_str(r->old_package));
        json_add(a, &old, S("digest"), json_str(r->old_digest));
        json_set(a, status, S("replaces"), old);
    }
}

static struct json reference_to(struct arena *a, const struct json *object)
{
    struct json ref = json_obj();
    json_add(a, &ref, S("apiVersion"), json_str(object_api_version(object)));
    json_add(a, &ref, S("kind"), json_str(object_kind(object)));
    if (object_namespace(object).n)
        json_add(a, &ref, S("namespace"), json_str(object_namespace(object)));
    json_add(a, &ref, S("name"), json_str(object_name(object)));
    json_add(a, &ref, S("uid"), json_str(object_uid(object)));
    return ref;
}

static void set_member(struct arena *a, struct json *status, str key, struct json value)
{
    if (json_is_null(&value))
        json_remove(status, key);
    else
        json_set(a, status, key, value);
}

static void set_crds(struct arena *a, struct json *status, const struct status_report *r)
{
    const struct json *now = json_get(status, S("crds"));
    struct json crds = json_is_obj(now) ? json_dup_top(a, now) : json_obj();
    if (r->has_counts) {
        json_set(a, &crds, S("wanted"), json_int((int64_t)r->wanted));
        json_set(a, &crds, S("established"), json_int((int64_t)r->established));
    }
    if (r->crds_approved.n)
        json_set(a, &crds, S("approvedAt"), json_str(r->crds_approved));
    if (crds.n)
        json_set(a, status, S("crds"), crds);
}

static struct json next_status(struct visit *v, const struct status_report *r)
{
    struct arena *a = v->a;
    const struct json *now = json_get(&v->install, S("status"));
    int64_t generation = object_generation(&v->install);
    struct json status = now ? json_dup(a, now) : json_obj();
    json_set(a, &status, S("observedGeneration"), json_int(generation));
    if (r->package.n)
        set_installed(a, &status, r);
    if (!json_is_null(&r->record))
        json_set(a, &status, S("packageRecord"), reference_to(a, &r->record));
    if (r->has_approval) {
        set_member(a, &status, S("approval"), r->approval);
        set_member(a, &status, S("pendingApproval"), r->pending);
    }
    set_crds(a, &status, r);
    struct json holder = json_obj();
    json_add(a, &holder, S("status"), status);
    struct json *conditions = conditions_of(a, &holder);
    for (int i = 0; i < STATUS_TYPES; i++) {
        const struct status_word *w = &r->words[i];
        if (w->value == STATUS_KEEP)
            continue;
        condition_set(a, conditions,
                      &(struct condition){.type = str_of(types[i]),
                                          .status = str_of(values[w->value]),
                                          .reason = w->reason,
                                          .message = w->message,
                                          .observed_generation = generation},
                      &v->s->clock);
    }
    struct condition ready = ready_of(conditions, r);
    ready.observed_generation = generation;
    (void)json_to_int(json_get(condition_find(conditions, S("Installed")), S("observedGeneration")),
                      &ready.observed_generation); /* while that is of before, this is, too */
    condition_set(a, conditions, &ready, &v->s->clock);
    return *json_get(&holder, S("status"));
}

/* ---- Telling and writing. ---- */

static void tell(struct visit *v, const struct json *was, const struct json *now)
{
    for (int i = 0; i < STATUS_TYPES; i++) {
        const struct json *before = condition_find(json_get(was, S("conditions")), str_of(types[i]));
        const struct json *after = condition_find(json_get(now, S("conditions")), str_of(types[i]));
        str reason = json_get_text(after, S("reason"));
        if (!after || (str_eq(json_get_text(before, S("status")), json_get_text(after, S("status"))) &&
                       str_eq(json_get_text(before, S("reason")), reason)))
            continue;
        bool is_false = str_eq(json_get_text(after, S("status")), S("False")), is_bad = is_false && !is_patient(reason);
        if (i == STATUS_TERMINATING)
            continue; /* Synced says the same */
        if (!is_bad && (is_false || i == STATUS_SYNCED || str_eq(reason, S("NoWorkloads"))))
            continue; /* nothing that anybody would have to know */
        str message = json_get_text(after, S("message"));
        recorder_event(v->s->recorder, &v->install, is_bad ? RECORDER_WARNING : RECORDER_NORMAL, reason,
                       message.n ? message
                                 : str_fmt(v->a, "%s is %.*s", types[i], STR(json_get_text(after, S("status")))));
    }
}

/* A merge patch that also takes away what is no longer there. */
static struct json patch_of(struct arena *a, const struct json *was, const struct json *now)
{
    struct json status = json_dup_top(a, now), patch = json_obj();
    json_each_member(was, m)
    {
        if (!json_get(now, json_key(m)))
            json_add(a, &status, json_key(m), json_null());
    }
    json_add(a, &patch, S("status"), status);
    return patch;
}

int status_write(struct visit *v, const struct status_report *report, struct err *err)
{
    const struct json *was = json_get(&v->install, S("status"));
    struct json now = next_status(v, report);
    if (was && json_equal(was, &now))
        return 0;
    struct json patch = patch_of(v->a, was, &now);
    struct client_ref ref = visit_ref(v);
    ref.subresource = S("status");
    struct client_patch_args args = {CLIENT_PATCH_MERGE, &patch, {.field_manager = S(FIELD_MANAGER_PACKAGES)}};
    struct json written;
    int code = client_patch(v->r->client, v->a, &ref, &args, &written, err);
    if (code < 0)
        return err_wrap(err, "write the status of %.*s",
                        STR(visit_title(v->a, v->lane, object_namespace(&v->install), object_name(&v->install))));
    tell(v, was, &now);
    v->install = written;
    installs_lock(v->s);
    struct holding *h = holding_get(v->s, object_uid(&written));
    if (h)
        holding_set_written(h, object_rv(&written));
    installs_unlock(v->s);
    return 0;
}
