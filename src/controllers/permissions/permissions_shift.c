/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions_shift.h"

#include "base/map.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

/* A manifest in a work that is there. The next place has the same manifest. */
struct place {
    size_t work, ordinal;
    const struct json *manifest;
    struct place *next;
};

struct shift {
    struct arena *a;
    const struct json *permission, *have;
    size_t n_have;
    const struct permission_work *want;
    size_t n_want;
    ptrdiff_t *part_of;   /* of each work that is there: which part is wanted of it; -1: none */
    struct map places;    /* identity → struct place */
    struct map wanted;    /* identity → part + 1, as a pointer into parts */
    struct map spare_has; /* name and namespace → anything: what the new spare part holds */
    struct json spare;    /* manifests */
    size_t spare_bytes;
    bool is_waiting;
    VEC(struct shift_step) steps;
};

static const struct json *manifests_of(const struct json *spec)
{
    return json_dig(spec, "workload.manifests");
}

static const struct json *manifests_at(const struct shift *s, size_t work)
{
    return json_dig(&s->have[work], "spec.workload.manifests");
}

/* ---- Manifests. ---- */

/* What OCM's webhook takes for the same object. */
static str object_key(struct arena *a, const struct json *m)
{
    return str_fmt(a, "%.*s %.*s %.*s/%.*s", STR(object_api_version(m)), STR(object_kind(m)), STR(object_namespace(m)),
                   STR(object_name(m)));
}

static str identity(struct arena *a, const struct json *m)
{
    return str_fmt(a, "%.*s %.*s", STR(object_key(a, m)), STR(object_annotation(m, S(FLEET_ANNOTATION_SELECTOR))));
}

/* Only asks whether a role is there: it delivers nothing that could move. */
static bool is_stub(const struct json *m)
{
    str kind = object_kind(m);
    return (str_eq(kind, S("Role")) || str_eq(kind, S("ClusterRole"))) && !json_get(m, S("rules"));
}

static size_t size_of(struct arena *a, const struct json *m)
{
    struct buf text = {.arena = a};
    json_encode(&text, m, 0);
    return text.n;
}

static bool is_same(const struct json *l, const struct json *r)
{
    return l && r && json_equal(l, r);
}

/* ---- What the agent said. ---- */

/* It has tried what the work says now. */
static bool is_reported(const struct json *work)
{
    int64_t seen = 0;
    const struct json *applied = condition_find(json_dig(work, "status.conditions"), S("Applied"));
    return json_to_int(json_get(applied, S("observedGeneration")), &seen) && seen == object_generation(work);
}

/* Whether an entry says something that decides, of a manifest. */
static bool is_said(const struct json *entry, str type, str status)
{
    const struct json *c = condition_find(json_get(entry, S("conditions")), type);
    return str_eq(json_get_text(c, S("status")), status);
}

/* A selector has an entry for each namespace, all with its ordinal; a manifest that was reported has one at least. */
static bool is_applied(const struct json *work, size_t ordinal)
{
    const struct json *entries = json_dig(work, "status.resourceStatus.manifests");
    json_each_item(entries, entry)
    {
        int64_t n = -1;
        (void)json_to_int(json_dig(entry, "resourceMeta.ordinal"), &n);
        if (n == (int64_t)ordinal && !is_said(entry, S("Applied"), S("True")))
            return false;
    }
    return true;
}

/* It could not be made, and there is none from before either: nobody would miss it. */
static bool is_absent(const struct json *work, size_t ordinal)
{
    const struct json *entries = json_dig(work, "status.resourceStatus.manifests");
    json_each_item(entries, entry)
    {
        int64_t n = -1;
        (void)json_to_int(json_dig(entry, "resourceMeta.ordinal"), &n);
        if (n == (int64_t)ordinal &&
            (is_said(entry, S("Applied"), S("True")) || !is_said(entry, S("Available"), S("False"))))
            return false;
    }
    return is_reported(work);
}

/* Nothing is lost when `from` lets go because `to` has it. */
static bool has_taken_over(const struct shift *s, const struct place *from, const struct place *to)
{
    return is_reported(&s->have[to->work]) &&
           (is_applied(&s->have[to->work], to->ordinal) || is_absent(&s->have[from->work], from->ordinal));
}

/* ---- What may leave. ---- */

static ptrdiff_t part_that_wants(const struct shift *s, str id)
{
    const struct permission_work *part = map_get(&s->wanted, id);
    return part ? part - s->want : -1;
}

/* A part may rely on the one that wants it, or on a spare one; a spare one only on the former, lest they rely on each other. */
static bool may_leave(const struct shift *s, const struct place *from, str id)
{
    ptrdiff_t wants = part_that_wants(s, id);
    for (const struct place *to = map_get(&s->places, id); to; to = to->next) {
        ptrdiff_t part = s->part_of[to->work];
        bool can_rely = part == wants || (part < 0 && s->part_of[from->work] >= 0);
        if (to->work != from->work && can_rely && has_taken_over(s, from, to))
            return true;
    }
    return false;
}

/* Manifests of a work that is there which are wanted in another part, and have to stay for now. */
static struct json staying(struct shift *s, size_t work)
{
    struct json stay = json_arr();
    const struct json *all = manifests_at(s, work);
    size_t ordinal = 0;
    json_each_item(all, m)
    {
        struct place from = {.work = work, .ordinal = ordinal++, .manifest = m};
        str id = identity(s->a, m);
        ptrdiff_t wants = part_that_wants(s, id);
        if (wants >= 0 && wants != s->part_of[work] && !may_leave(s, &from, id))
            json_push(s->a, &stay, *m);
    }
    return stay;
}

/* ---- One part. ---- */

/* As another work has it, while that one does. */
static const struct json *text_for_now(struct shift *s, const struct json *m, ptrdiff_t part)
{
    for (const struct place *p = map_get(&s->places, identity(s->a, m)); p; p = p->next) {
        if (s->part_of[p->work] == part || is_same(p->manifest, m))
            continue;
        s->is_waiting = true;
        return p->manifest;
    }
    return m;
}

static struct json with_manifests(struct arena *a, const struct json *spec, struct json manifests)
{
    struct json next = json_is_obj(spec) ? json_dup_top(a, spec) : json_obj(), workload = json_obj();
    json_add(a, &workload, S("manifests"), manifests);
    json_set(a, &next, S("workload"), workload);
    return next;
}

/* Both lists in one work, if they are allowed to be. */
static bool join(struct shift *s, struct json *manifests, const struct json *more)
{
    struct map seen = {0};
    size_t bytes = 0;
    bool is_fine = true;
    json_each_item(more, m) json_push(s->a, manifests, *m);
    json_each_item(manifests, m)
    {
        bytes += size_of(s->a, m);
        is_fine = is_fine && !map_set(&seen, object_key(s->a, m), s);
    }
    map_done(&seen);
    return is_fine && bytes <= FLEET_WORK_BYTES && json_len(manifests) <= PERMISSION_PART_MANIFESTS;
}

static void push(struct shift *s, enum shift_action action, str name, struct json spec, const struct json *have)
{
    *vec_push(s->a, &s->steps) = (struct shift_step){action, name, spec, have};
}

static void push_spec(struct shift *s, str name, struct json spec, const struct json *have)
{
    if (!have)
        push(s, SHIFT_CREATE, name, spec, NULL);
    else if (permission_work_is(&(struct permission_work){.name = name, .spec = spec}, have))
        push(s, SHIFT_KEEP, name, spec, have);
    else
        push(s, SHIFT_UPDATE, name, spec, have);
}

/* What a spare part that is there already does not have goes to a new one, as much as there is room for. */
static void need_spare(struct shift *s, const struct json *stay)
{
    json_each_item(stay, m)
    {
        bool has_place = false;
        for (const struct place *p = map_get(&s->places, identity(s->a, m)); p; p = p->next)
            has_place |= s->part_of[p->work] < 0;
        size_t bytes = size_of(s->a, m);
        str key = object_key(s->a, m);
        if (has_place || map_get(&s->spare_has, key) || s->spare_bytes + bytes > FLEET_WORK_BYTES)
            continue;
        map_set(&s->spare_has, key, s);
        s->spare_bytes += bytes;
        json_push(s->a, &s->spare, *m);
    }
}

/* There is no room for what comes besides what has to stay: only what nobody wants any more leaves. */
static struct json lessened(struct shift *s, size_t work)
{
    struct json left = json_arr();
    const struct json *all = manifests_at(s, work);
    json_each_item(all, m)
    {
        if (part_that_wants(s, identity(s->a, m)) >= 0)
            json_push(s->a, &left, *m);
    }
    return left;
}

static void plan_part(struct shift *s, size_t part, ptrdiff_t work)
{
    const struct permission_work *want = &s->want[part];
    const struct json *have = work >= 0 ? &s->have[work] : NULL, *all = manifests_of(&want->spec);
    struct json manifests = json_arr(), stay = have ? staying(s, (size_t)work) : json_arr();
    json_each_item(all, m) json_push(s->a, &manifests, *text_for_now(s, m, (ptrdiff_t)part));
    s->is_waiting |= json_len(&stay) > 0;
    if (json_len(&stay) == 0 || join(s, &manifests, &stay)) {
        push_spec(s, want->name, with_manifests(s->a, &want->spec, manifests), have);
        return;
    }
    need_spare(s, &stay);
    struct json less = lessened(s, (size_t)work);
    push_spec(s, want->name, with_manifests(s->a, json_get(have, S("spec")), less), have);
}

/* Of a work that is not wanted: it goes when all that stays in it is delivered by others. */
static void plan_rest(struct shift *s, size_t work)
{
    const struct json *have = &s->have[work];
    struct json stay = staying(s, work);
    if (json_len(&stay) == 0) {
        push(s, SHIFT_DELETE, object_name(have), json_null(), have);
        return;
    }
    s->is_waiting = true;
    push_spec(s, object_name(have), with_manifests(s->a, json_get(have, S("spec")), stay), have);
}

/* ---- All of it. ---- */

static ptrdiff_t find_work(const struct shift *s, str name)
{
    for (size_t i = 0; i < s->n_have; i++) {
        if (str_eq(object_name(&s->have[i]), name))
            return (ptrdiff_t)i;
    }
    return -1;
}

static void index_wanted(struct shift *s)
{
    for (size_t part = 0; part < s->n_want; part++) {
        const struct json *all = manifests_of(&s->want[part].spec);
        json_each_item(all, m)
        {
            if (!is_stub(m))
                map_set(&s->wanted, identity(s->a, m), (void *)&s->want[part]);
        }
    }
}

static void index_places(struct shift *s)
{
    for (size_t work = 0; work < s->n_have; work++) {
        const struct json *all = manifests_at(s, work);
        size_t ordinal = 0;
        json_each_item(all, m)
        {
            struct place *p = ARENA_NEW(s->a, struct place);
            *p = (struct place){.work = work, .ordinal = ordinal++, .manifest = m};
            if (is_stub(m))
                continue;
            str id = identity(s->a, m);
            p->next = map_get(&s->places, id);
            map_set(&s->places, id, p);
        }
    }
}

static bool is_taken(const struct shift *s, str name)
{
    for (size_t part = 0; part < s->n_want; part++) {
        if (str_eq(s->want[part].name, name))
            return true;
    }
    return find_work(s, name) >= 0;
}

static void push_spare(struct shift *s)
{
    size_t part = s->n_want;
    str name = permission_work_name(s->a, s->permission, part);
    if (json_len(&s->spare) == 0)
        return;
    while (is_taken(s, name))
        name = permission_work_name(s->a, s->permission, ++part);
    push(s, SHIFT_CREATE, name, with_manifests(s->a, NULL, s->spare), NULL);
}

struct shift_plan shift_plan(struct arena *a, const struct json *permission, const struct json *have, size_t n_have,
                             const struct permission_build *build)
{
    struct shift s = {.a = a,
                      .permission = permission,
                      .have = have,
                      .n_have = n_have,
                      .want = build->works,
                      .n_want = build->n,
                      .part_of = ARENA_ARRAY(a, ptrdiff_t, n_have),
                      .spare = json_arr()};
    for (size_t i = 0; i < n_have; i++)
        s.part_of[i] = -1;
    for (size_t part = 0; part < s.n_want; part++) {
        ptrdiff_t work = find_work(&s, s.want[part].name);
        if (work >= 0)
            s.part_of[work] = (ptrdiff_t)part;
    }
    index_wanted(&s);
    index_places(&s);
    for (size_t part = 0; part < s.n_want; part++)
        plan_part(&s, part, find_work(&s, s.want[part].name));
    for (size_t i = 0; i < n_have; i++) {
        if (s.part_of[i] < 0)
            plan_rest(&s, i);
    }
    push_spare(&s);
    map_done(&s.places);
    map_done(&s.wanted);
    map_done(&s.spare_has);
    return (struct shift_plan){s.steps.p, s.steps.n, s.is_waiting};
}
