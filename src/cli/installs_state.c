/* SPDX-License-Identifier: Apache-2.0 */
/* How an install fares, from its status alone. What a condition said of an earlier spec does not count: each has the generation it
 * speaks of.
 *
 *   Unpacked ─► crds {wanted, established} ─► Installed ─► Healthy ─► Ready          one step each, in this order
 *        └─────────────┴──────────────────────────┴─► Synced=False: something is in the way; the reason says for how long */
#include "cli/installs.h"

#include "object/conditions.h"
#include "object/object.h"

/* What stays as it is until somebody does something. */
static const char *const final[] = {"AlreadyInstalled",
                                    "Blocked",
                                    "CRDConflict",
                                    "Conflict",
                                    "GroupNotAllowed",
                                    "InvalidInstall",
                                    "InvalidPackage",
                                    "NameConflict",
                                    "ScopeMismatch",
                                    "ServiceAccountConflict",
                                    NULL};

static bool is_among(str reason, const char *const *list)
{
    for (; *list; list++) {
        if (str_eq(reason, str_of(*list)))
            return true;
    }
    return false;
}

#define DIGEST "sha256:"
enum { DIGITS = 12 };

struct reading {
    const struct json *conditions;
    int64_t generation;
};

/* The condition, if it speaks of what is asked for now. */
static const struct json *current(const struct reading *r, const char *type)
{
    const struct json *c = condition_find(r->conditions, str_of(type));
    int64_t observed;
    if (!c || !json_to_int(json_get(c, S("observedGeneration")), &observed) || observed != r->generation)
        return NULL;
    return c;
}

static bool says(const struct json *condition, const char *status)
{
    return str_eq(json_get_text(condition, S("status")), str_of(status));
}

static bool has_reason(const struct json *condition, const char *reason)
{
    return str_eq(json_get_text(condition, S("reason")), str_of(reason));
}

static uint64_t count(const struct json *v)
{
    int64_t n;
    return json_to_int(v, &n) && n > 0 ? (uint64_t)n : 0;
}

/* ---- The steps. ---- */

static void read_package(const struct reading *r, struct progress_step *step)
{
    const struct json *unpacked = current(r, "Unpacked");
    step->state = says(unpacked, "True") ? PROGRESS_DONE : PROGRESS_RUNNING;
    step->note = json_get_text(unpacked, S("message"));
    if (str_has_prefix(step->note, S(DIGEST))) /* enough to know it by; the number of CRDs is told by the next step */
        step->note = str_upto(step->note, sizeof DIGEST - 1 + DIGITS);
}

static void read_crds(const struct reading *r, const struct json *counts, struct progress_step *step)
{
    const struct json *installed = current(r, "Installed");
    step->at = count(json_get(counts, S("established")));
    step->of = count(json_get(counts, S("wanted")));
    step->state =
        says(installed, "True") || has_reason(installed, "WaitingForRights") ? PROGRESS_DONE : PROGRESS_RUNNING;
    step->note = step->of ? S("established") : step->state == PROGRESS_DONE ? S("none") : (str){0};
}

static void read_rights(const struct reading *r, struct progress_step *step)
{
    const struct json *installed = current(r, "Installed");
    step->state = says(installed, "True") ? PROGRESS_DONE : PROGRESS_RUNNING;
    step->note = step->state == PROGRESS_DONE ? S("in force") : json_get_text(installed, S("message"));
}

static void read_deployment(const struct reading *r, struct progress_step *step)
{
    const struct json *healthy = current(r, "Healthy");
    if (has_reason(healthy, "NoController"))
        step->note = S("none");
    else if (has_reason(healthy, "NoWorkloads"))
        step->note = S("written; nothing here runs it");
    else
        step->note = says(healthy, "True") ? S("available") : healthy ? S("not available yet") : (str){0};
    step->state = healthy && !says(healthy, "False") ? PROGRESS_DONE : PROGRESS_RUNNING;
}

/* What follows a step that is not done is ahead, whatever its condition still says. */
static void order(struct progress_step *steps)
{
    bool is_ahead = false;
    for (size_t i = 0; i < INSTALLS_STEPS; i++) {
        if (is_ahead)
            steps[i] = (struct progress_step){.name = steps[i].name};
        else
            is_ahead = steps[i].state != PROGRESS_DONE;
    }
}

static void read_steps(const struct reading *r, const struct json *status, struct installs_state *ret)
{
    static const char *const names[INSTALLS_STEPS] = {"package", "CRDs", "rights", "Deployment"};
    for (size_t i = 0; i < INSTALLS_STEPS; i++)
        ret->steps[i].name = names[i];
    read_package(r, &ret->steps[INSTALLS_PACKAGE]);
    read_crds(r, json_get(status, S("crds")), &ret->steps[INSTALLS_CRDS]);
    read_rights(r, &ret->steps[INSTALLS_RIGHTS]);
    read_deployment(r, &ret->steps[INSTALLS_DEPLOYMENT]);
    order(ret->steps);
}

/* ---- The whole. ---- */

static void explain(struct installs_state *ret, const struct json *condition)
{
    ret->reason = json_get_text(condition, S("reason"));
    ret->message = json_get_text(condition, S("message"));
}

/* Blocked: what is asked for cannot be, and what was installed runs on. The message begins with the reason, which says for how long. */
static bool is_final(const struct installs_state *s)
{
    bool is_blocked = str_eq(s->reason, S("Blocked"));
    return is_among(s->reason, final) && !(is_blocked && str_has_prefix(s->message, S("PullFailed:")));
}

static void read_stand(const struct reading *r, struct installs_state *ret)
{
    const struct json *synced = current(r, "Synced"), *ready = current(r, "Ready"),
                      *installed = current(r, "Installed");
    ret->stand = INSTALLS_UNDER_WAY;
    if (says(synced, "False")) {
        explain(ret, synced);
        ret->stand = is_final(ret) ? INSTALLS_REFUSED : INSTALLS_TROUBLED;
        for (size_t i = 0; ret->stand == INSTALLS_REFUSED && i < INSTALLS_STEPS; i++) {
            if (ret->steps[i].state == PROGRESS_RUNNING) /* none of these went wrong: they were not begun */
                ret->steps[i] = (struct progress_step){.name = ret->steps[i].name};
        }
    } else if (has_reason(installed, "ApplyFailed")) {
        explain(ret, installed);
        ret->stand = INSTALLS_TROUBLED;
    } else if (says(ready, "True") && says(synced, "True")) {
        explain(ret, has_reason(installed, "WaitingForDependencies") ? installed : NULL);
        ret->stand = INSTALLS_READY;
    } else {
        explain(ret, ready);
    }
}

/* The finalizer keeps the object until all is taken back; Synced says what is going on. */
static void read_leaving(const struct reading *r, struct installs_state *ret)
{
    const struct json *synced = condition_find(r->conditions, S("Synced"));
    ret->stand = INSTALLS_LEAVING;
    if (!says(synced, "False"))
        return;
    explain(ret, synced);
    if (has_reason(synced, "InUse"))
        ret->stand = INSTALLS_IN_USE;
}

void cli_installs_read(const struct json *install, struct installs_state *ret)
{
    const struct json *status = json_get(install, S("status"));
    struct reading r = {.conditions = json_get(status, S("conditions")), .generation = object_generation(install)};
    int64_t observed;
    *ret = (struct installs_state){.stand = INSTALLS_UNSEEN};
    read_steps(&r, status, ret);
    if (object_is_deleting(install))
        read_leaving(&r, ret);
    else if (json_to_int(json_get(status, S("observedGeneration")), &observed) && observed == r.generation)
        read_stand(&r, ret);
}
