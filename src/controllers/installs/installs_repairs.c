/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs of own objects that other clients changed or deleted. Each is an Event on the install and counted. The first few of an object
 * are made at once; who changes it again and again (another controller, a webhook that adds a field) is answered later and later, so that
 * nothing is written in an endless loop:
 *
 *   repair   1 … 5     6    7    8   …        a quiet time of FORGET begins anew
 *   pause      0       1 s  2 s  4 s … 5 min */
#include "controllers/installs/installs_internal.h"
#include "object/object.h"

#include <stdlib.h>

enum { AT_ONCE = 5, SHIFT_MAX = 8, KNOWN_MAX = 1000 };

static const int64_t longest_pause = 300 * NS_PER_S;
static const int64_t forget_after = 600 * NS_PER_S;

/* Of one object. */
struct repair {
    struct arena arena;
    str key; /* kind, namespace and name: an object that is deleted comes back with another uid */
    uint32_t count;
    int64_t last_ns;
};

static str key_of_step(struct arena *a, const struct applyset_step *step)
{
    return str_fmt(a, "%.*s/%.*s/%.*s", STR(step->resource.kind), STR(step->namespace), STR(step->name));
}

static int64_t pause_after(uint32_t count)
{
    if (count < AT_ONCE)
        return 0;
    uint32_t shift = count - AT_ONCE;
    return shift > SHIFT_MAX ? longest_pause : NS_PER_S << shift;
}

static void free_repair(struct repair *r)
{
    struct arena arena = r->arena;
    arena_done(&arena);
}

/* Under the lock: forgets objects that were left alone for a while. */
static void forget_old(struct installs *s, int64_t now)
{
    struct arena scratch ARENA_SCOPE = {0};
    VEC(str) old = {0};
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&s->repairs, &at, &key, &value)) {
        if (now - ((struct repair *)value)->last_ns > forget_after)
            *vec_push(&scratch, &old) = key;
    }
    vec_each(&old, k) free_repair(map_del(&s->repairs, *k));
}

static struct repair *find_repair(struct installs *s, str key, int64_t now)
{
    struct repair *r = map_get(&s->repairs, key);
    if (r && now - r->last_ns > forget_after)
        r->count = 0;
    if (r)
        return r;
    if (s->repairs.n >= KNOWN_MAX)
        forget_old(s, now);
    struct arena arena = {0};
    r = ARENA_NEW(&arena, struct repair);
    *r = (struct repair){.key = str_dup(&arena, key)};
    r->arena = arena;
    map_set(&s->repairs, r->key, r);
    return r;
}

void repairs_free_all(struct installs *s)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&s->repairs, &at, &key, &value))
        free_repair(value);
    map_done(&s->repairs);
}

/* Whether it may be repaired now; if not, the install is visited again when it may. */
static bool take_turn(struct visit *v, const struct applyset_step *step)
{
    int64_t now = clock_mono_ns(&v->r->clock), wait;
    str key = key_of_step(v->a, step);
    installs_lock(v->s);
    struct repair *r = find_repair(v->s, key, now);
    wait = r->count ? r->last_ns + pause_after(r->count) - now : 0;
    if (wait <= 0) {
        r->count++;
        r->last_ns = now;
    }
    installs_unlock(v->s);
    if (wait > 0 && (v->r->again_ns == 0 || wait < v->r->again_ns))
        v->r->again_ns = wait;
    return wait <= 0;
}

static bool is_repair(const struct visit *v, const struct applyset_step *step)
{
    bool is_back = step->action == APPLYSET_CREATE && v->is_settled;
    return step->is_repair || is_back;
}

struct applyset_plan repairs_due(struct visit *v, const struct applyset_plan *plan)
{
    struct applyset_step *steps = ARENA_ARRAY(v->a, struct applyset_step, plan->n);
    for (size_t i = 0; i < plan->n; i++) {
        steps[i] = plan->p[i];
        if (is_repair(v, &steps[i]) && !take_turn(v, &steps[i]))
            steps[i].action = APPLYSET_KEEP;
    }
    return (struct applyset_plan){.p = steps, .n = plan->n};
}

void repairs_report(struct visit *v, const struct applyset_plan *done)
{
    for (size_t i = 0; i < done->n; i++) {
        struct applyset_step step = done->p[i];
        step.is_repair = is_repair(v, &step);
        applyset_report_repair(v->s->control, v->s->recorder, v->a, &v->install, &step);
    }
}
