/* SPDX-License-Identifier: Apache-2.0 */
#include "admission/admission_internal.h"

#include "object/object.h"

#define GROUP S("scheduling.k8s.io")
#define PLURAL S("priorityclasses")

struct priority {
    str class; /* empty: none */
    int64_t value;
    str preemption;
};

static struct priority read_class(const struct json *class)
{
    struct priority p = {.class = object_name(class), .preemption = json_get_text(class, S("preemptionPolicy"))};
    json_to_int(json_get(class, S("value")), &p.value);
    return p;
}

/* ---- The class of pods that name none. Should there be several, because two were made at once, the lowest counts. ---- */

struct search {
    struct arena *arena;
    struct priority best;
};

static bool look_at(void *to, const struct json *class)
{
    struct search *s = to;
    struct priority p = read_class(class);
    if (json_true(json_get(class, S("globalDefault"))) && (s->best.class.n == 0 || p.value < s->best.value))
        s->best = (struct priority){str_dup(s->arena, p.class), p.value, str_dup(s->arena, p.preemption)};
    return true;
}

static struct priority find_default(const struct admission_facts *facts, struct arena *a)
{
    struct search s = {.arena = a, .best.preemption = S("PreemptLowerPriority")};
    facts->each(facts->ctx, GROUP, PLURAL, look_at, &s);
    return s.best;
}

/* ---- Pods. ---- */

/* What the client says itself must be what its class says. */
static int settle(const struct admission_write *write, struct json *spec, const struct priority *p,
                  struct admission_outcome *ret)
{
    struct arena *a = write->arena;
    const struct json *value = json_get(spec, S("priority"));
    str policy = json_get_text(spec, S("preemptionPolicy"));
    int64_t given = p->value;
    json_to_int(value, &given);
    if (given != p->value)
        return step_forbid(write,
                           str_fmt(a,
                                   "the integer value of priority (%lld) must not be provided in pod spec; priority "
                                   "admission controller computed %lld from the given PriorityClass name",
                                   (long long)given, (long long)p->value),
                           ret);
    if (policy.n && p->preemption.n && !str_eq(policy, p->preemption))
        return step_forbid(write,
                           str_fmt(a,
                                   "the string value of PreemptionPolicy (%.*s) must not be provided in pod spec; "
                                   "priority admission controller computed %.*s from the given PriorityClass name",
                                   STR(policy), STR(p->preemption)),
                           ret);
    if (p->class.n)
        json_set(a, spec, S("priorityClassName"), json_str(p->class));
    json_set(a, spec, S("priority"), json_int(p->value));
    if (p->preemption.n)
        json_set(a, spec, S("preemptionPolicy"), json_str(p->preemption));
    return 0;
}

static int settle_new(const struct admission_facts *facts, const struct admission_write *write, struct json *spec,
                      struct admission_outcome *ret)
{
    str name = json_get_text(spec, S("priorityClassName"));
    struct priority p;
    uint64_t revision;
    if (name.n) {
        const struct json *class = facts->get(facts->ctx, write->arena, GROUP, PLURAL, (str){0}, name, &revision);
        if (!class)
            return step_forbid(write, str_fmt(write->arena, "no PriorityClass with name %.*s was found", STR(name)),
                               ret);
        p = read_class(class);
    } else {
        p = find_default(facts, write->arena);
    }
    return settle(write, spec, &p, ret);
}

/* Who leaves out what the server filled in does not take it away. */
static void keep(const struct admission_write *write, struct json *spec, str key)
{
    const struct json *before = json_get(json_get(write->current, S("spec")), key);
    if (json_is_null(json_get(spec, key)) && !json_is_null(before))
        json_set(write->arena, spec, key, *before);
}

int priorities_step(const struct admission_facts *facts, const struct admission_write *write,
                    struct admission_outcome *ret)
{
    if (!step_is(write, "", "pods") || write->subresource.n || write->operation == ADMISSION_DELETE)
        return 0;
    struct json *spec = json_get_mut(write->object, S("spec"));
    if (!json_is_obj(spec))
        return 0; /* validation says so */
    if (write->operation == ADMISSION_CREATE)
        return settle_new(facts, write, spec, ret);
    keep(write, spec, S("priority"));
    keep(write, spec, S("preemptionPolicy"));
    return 0;
}

/* ---- Classes. ---- */

int priority_classes_step(const struct admission_facts *facts, const struct admission_write *write,
                          struct admission_outcome *ret)
{
    if (!step_is(write, "scheduling.k8s.io", "priorityclasses") || write->operation == ADMISSION_DELETE ||
        !json_true(json_get(write->object, S("globalDefault"))))
        return 0;
    struct priority other = find_default(facts, write->arena);
    bool is_itself = write->operation == ADMISSION_UPDATE && str_eq(other.class, object_name(write->object));
    if (other.class.n == 0 || is_itself)
        return 0;
    return step_forbid(write,
                       str_fmt(write->arena,
                               "PriorityClass %.*s is already marked as default. Only one default can exist",
                               STR(other.class)),
                       ret);
}
