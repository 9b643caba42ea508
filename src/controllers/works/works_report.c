/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_report.h"

#include "base/map.h"
#include "controllers/works/works_feedback.h"
#include "object/conditions.h"
#include "object/object.h"

#include <stdlib.h>

/* ---- Facts. ---- */

struct word {
    const char *type, *status;
    str reason, message;
};

static void say(struct arena *a, struct json *conditions, const struct word *w)
{
    struct json condition = json_obj_sized(a, 4);
    json_add(a, &condition, S("type"), json_str(str_of(w->type)));
    json_add(a, &condition, S("status"), json_str(str_of(w->status)));
    json_add(a, &condition, S("reason"), json_str(w->reason));
    json_add(a, &condition, S("message"), json_str(w->message));
    json_push(a, conditions, condition);
}

static void say_applied(struct arena *a, struct json *conditions, const struct report_entry *e)
{
    struct word w = {"Applied", "True", S("AppliedManifestComplete"), S("Apply manifest complete")};
    if (e->reason.n)
        w = (struct word){"Applied", "False", e->reason, str_fmt(a, "Failed to apply manifest: %.*s", STR(e->problem))};
    say(a, conditions, &w);
}

static void say_available(struct arena *a, struct json *conditions, const struct report_entry *e)
{
    struct word w = {"Available", "True", S("ResourceAvailable"), S("Resource is available")};
    if (e->presence == REPORT_ABSENT)
        w = (struct word){"Available", "False", S("ResourceNotAvailable"), S("Resource is not available")};
    else if (e->presence == REPORT_UNKNOWN && !e->plural.n)
        w = (struct word){"Available", "Unknown", S("IncompleteResourceMeta"), S("Resource meta is incomplete")};
    else if (e->presence == REPORT_UNKNOWN)
        w = (struct word){"Available", "Unknown", S("FetchingResourceFailed"),
                          str_fmt(a, "Failed to fetch resource: %.*s", STR(e->unknown))};
    say(a, conditions, &w);
}

/* Values that are not read now, because the object is not at hand, are no values. */
static struct json say_feedback(struct arena *a, struct json *conditions, const struct report_entry *e)
{
    struct word w = {"StatusFeedbackSynced", "True", S("NoStatusFeedbackSynced"), S("")};
    struct feedback f = {.values = json_arr()};
    if (e->manifest->feedback && e->live) {
        f = feedback_read(a, e->manifest->feedback, e->live);
        w.reason = S("StatusFeedbackSynced");
        if (f.problem.n)
            w = (struct word){"StatusFeedbackSynced", "False", S("StatusFeedbackSyncFailed"), f.problem};
    }
    say(a, conditions, &w);
    return f.values;
}

/* What its conditionRules say of the object. */
static void say_rules(struct arena *a, struct json *conditions, const struct report_entry *e, int64_t generation)
{
    const struct condition *list;
    size_t n = e->manifest->conditions && e->live ? feedback_conditions(a, e->manifest->conditions, e->live, &list) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json condition = json_obj_sized(a, 5);
        json_add(a, &condition, S("type"), json_str(list[i].type));
        json_add(a, &condition, S("status"), json_str(list[i].status));
        json_add(a, &condition, S("reason"), json_str(list[i].reason));
        json_add(a, &condition, S("message"), json_str(list[i].message));
        json_add(a, &condition, S("observedGeneration"), json_int(generation));
        json_push(a, conditions, condition);
    }
}

static struct json meta_of_entry(struct arena *a, const struct report_entry *e)
{
    const struct manifest *m = e->manifest;
    struct json meta = json_obj_sized(a, 7);
    json_add(a, &meta, S("ordinal"), json_int((int64_t)m->ordinal));
    json_add(a, &meta, S("group"), json_str(m->group));
    json_add(a, &meta, S("version"), json_str(m->version));
    json_add(a, &meta, S("kind"), json_str(m->kind));
    json_add(a, &meta, S("resource"), json_str(e->plural));
    json_add(a, &meta, S("name"), json_str(m->name));
    json_add(a, &meta, S("namespace"), json_str(e->namespace));
    return meta;
}

static struct json fact(struct arena *a, const struct report_entry *e, int64_t generation)
{
    struct json entry = json_obj_sized(a, 3), conditions = json_arr_sized(a, 3), feedback = json_obj();
    json_add(a, &entry, S("resourceMeta"), meta_of_entry(a, e));
    say_applied(a, &conditions, e);
    say_available(a, &conditions, e);
    struct json values = say_feedback(a, &conditions, e);
    say_rules(a, &conditions, e, generation);
    if (json_len(&values))
        json_add(a, &feedback, S("values"), values);
    json_add(a, &entry, S("statusFeedback"), feedback);
    json_add(a, &entry, S("conditions"), conditions);
    return entry;
}

/* ---- The work as a whole. ---- */

static void say_overall(struct arena *a, struct json *conditions, const struct report_entry *entries, size_t n)
{
    size_t failed = 0, absent = 0, unknown = 0;
    for (size_t i = 0; i < n; i++) {
        failed += entries[i].reason.n > 0;
        absent += entries[i].presence == REPORT_ABSENT;
        unknown += entries[i].presence == REPORT_UNKNOWN;
    }
    struct word applied = {"Applied", "True", S("AppliedManifestWorkComplete"), S("Apply manifest work complete")};
    struct word available = {"Available", "True", S("ResourcesAvailable"), S("All resources are available")};
    if (failed)
        applied = (struct word){"Applied", "False", S("AppliedManifestWorkFailed"), S("Failed to apply manifest work")};
    if (absent)
        available = (struct word){"Available", "False", S("ResourcesNotAvailable"),
                                  str_fmt(a, "%zu of %zu resources are not available", absent, n)};
    else if (unknown)
        available = (struct word){"Available", "Unknown", S("ResourcesStatusUnknown"),
                                  str_fmt(a, "%zu of %zu resources have unknown status", unknown, n)};
    say(a, conditions, &applied);
    say(a, conditions, &available);
}

/* As the work lists them, not as they were applied; what one manifest became in several namespaces, as it came. */
static int by_ordinal(const void *l, const void *r)
{
    const struct report_entry *const *left = l, *const *right = r;
    size_t a = (*left)->manifest->ordinal, b = (*right)->manifest->ordinal;
    return a != b ? (a > b) - (a < b) : (*left > *right) - (*left < *right);
}

/* About what an entry takes in the status, with its times. */
static size_t size_of(const struct report_entry *e)
{
    enum { WORDS = 800, VALUES = 1000 };
    size_t values = e->manifest->feedback || e->manifest->conditions ? VALUES : 0;
    return WORDS + values + e->manifest->name.n + e->namespace.n + e->problem.n + e->unknown.n;
}

/* One namespace may be like ten thousand others, and the status has an end. Of each manifest one entry is told, one that failed if
 * any did; then others that failed, then the rest, as many as there is room for. Sorted by ordinal; returns how many are left. */
static size_t choose(struct arena *a, const struct report_entry **order, size_t n)
{
    enum { NEEDED, FAILED, FINE, RANKS };
    unsigned char *rank = ARENA_ARRAY(a, unsigned char, n);
    size_t left = 0, bytes = 0, first = 0;
    for (size_t i = 0; i < n; i++) {
        rank[i] = order[i]->reason.n ? FAILED : FINE;
        if (order[i]->manifest->ordinal != order[first]->manifest->ordinal || i == 0)
            first = i;
        else if (rank[i] == FINE || order[first]->reason.n)
            continue;
        else
            rank[first] = FINE, first = i;
        rank[i] = NEEDED;
    }
    bool *is_chosen = ARENA_ARRAY(a, bool, n);
    for (int r = NEEDED; r < RANKS; r++)
        for (size_t i = 0; i < n; i++)
            if (rank[i] == r && (r == NEEDED || bytes + size_of(order[i]) <= REPORT_BYTES)) {
                bytes += size_of(order[i]);
                is_chosen[i] = true;
            }
    for (size_t i = 0; i < n; i++)
        if (is_chosen[i])
            order[left++] = order[i];
    return left;
}

static struct json list_facts(struct arena *a, const struct report_entry *entries, size_t n, int64_t generation)
{
    struct json manifests = json_arr();
    const struct report_entry **order = ARENA_ARRAY(a, const struct report_entry *, n);
    for (size_t i = 0; i < n; i++)
        order[i] = &entries[i];
    if (n)
        qsort(order, n, sizeof *order, by_ordinal);
    n = choose(a, order, n);
    for (size_t i = 0; i < n; i++)
        json_push(a, &manifests, fact(a, order[i], generation));
    return manifests;
}

struct json report_facts(struct arena *a, const struct json *work, const struct report_entry *entries, size_t n)
{
    struct json facts = json_obj(), conditions = json_arr(), list = json_obj();
    say_overall(a, &conditions, entries, n);
    for (uint32_t i = 0; i < conditions.n; i++)
        json_add(a, &conditions.items[i], S("observedGeneration"), json_int(object_generation(work)));
    json_add(a, &list, S("manifests"), list_facts(a, entries, n, object_generation(work)));
    json_add(a, &facts, S("conditions"), conditions);
    json_add(a, &facts, S("resourceStatus"), list);
    return facts;
}

struct json report_leaving(struct arena *a, str problem)
{
    struct json facts = json_obj(), conditions = json_arr();
    str message = S("ManifestWork is being deleted");
    if (problem.n)
        message = str_fmt(a, "%.*s. Its objects cannot be removed yet: %.*s", STR(message), STR(problem));
    say(a, &conditions, &(struct word){"Deleting", "True", S("WorkDeleting"), message});
    json_add(a, &facts, S("conditions"), conditions);
    return facts;
}

/* ---- Times. ---- */

/* What others say stays; what a rule said that is gone does not. */
static struct json still_said(struct arena *a, const struct json *was, const struct json *facts)
{
    struct json kept = json_arr_sized(a, json_len(was));
    json_each_item(was, c)
    {
        bool is_of_rule = str_has_prefix(json_get_text(c, S("reason")), S(FEEDBACK_RULE_REASON));
        if (!is_of_rule || condition_find(facts, json_get_text(c, S("type"))))
            json_push(a, &kept, json_dup(a, c));
    }
    return kept;
}

static struct json timed(struct arena *a, const struct json *was, const struct json *facts, const struct clock *clock)
{
    struct json conditions = still_said(a, was, facts);
    json_each_item(facts, f)
    {
        int64_t generation = 0;
        (void)json_to_int(json_get(f, S("observedGeneration")), &generation);
        condition_set(a, &conditions,
                      &(struct condition){.type = json_get_text(f, S("type")),
                                          .status = json_get_text(f, S("status")),
                                          .reason = json_get_text(f, S("reason")),
                                          .message = json_get_text(f, S("message")),
                                          .observed_generation = generation},
                      clock);
    }
    return conditions;
}

/* By what an entry is about: ordinals move when manifests come and go. */
static str identity(struct arena *a, const struct json *entry)
{
    const struct json *meta = json_get(entry, S("resourceMeta"));
    return str_fmt(a, "%.*s/%.*s/%.*s/%.*s", STR(json_get_text(meta, S("group"))), STR(json_get_text(meta, S("kind"))),
                   STR(json_get_text(meta, S("namespace"))), STR(json_get_text(meta, S("name"))));
}

static struct json timed_entries(struct arena *a, const struct json *was, const struct json *facts,
                                 const struct clock *clock)
{
    struct json list = json_arr_sized(a, json_len(facts));
    struct map known = {0};
    json_each_item(was, entry)
    {
        map_set(&known, identity(a, entry), (void *)entry);
    }
    json_each_item(facts, f)
    {
        struct json entry = json_dup_top(a, f);
        const struct json *before = map_get(&known, identity(a, f));
        json_set(a, &entry, S("conditions"),
                 timed(a, json_get(before, S("conditions")), json_get(f, S("conditions")), clock));
        json_push(a, &list, entry);
    }
    map_done(&known);
    return list;
}

struct json report_status(struct arena *a, const struct json *work, const struct json *facts, const struct clock *clock)
{
    const struct json *was = json_get(work, S("status"));
    struct json status = json_is_obj(was) ? json_dup_top(a, was) : json_obj();
    json_set(a, &status, S("conditions"),
             timed(a, json_get(was, S("conditions")), json_get(facts, S("conditions")), clock));
    const struct json *manifests = json_dig(facts, "resourceStatus.manifests");
    if (manifests) {
        struct json list = json_obj();
        json_add(a, &list, S("manifests"),
                 timed_entries(a, json_dig(was, "resourceStatus.manifests"), manifests, clock));
        json_set(a, &status, S("resourceStatus"), list);
    }
    return status;
}
