/* SPDX-License-Identifier: Apache-2.0 */
/* Covering without counting atoms.
 *
 * A servant rule is a product of lists. Whether an owner's rule covers an atom is decided on each axis apart, so two values
 * of an axis that the same owner rules cover can be taken together: they are one class. What is left is a small product of
 * classes, each class with the set of owner rules (as bits) that cover it:
 *
 *     verbs      get list watch | delete             an atom (class, class, class, class) is covered
 *                0b0111         | 0b0001             if the AND of its four sets is not empty;
 *     resources  pods services  | secrets            what is not becomes a box of classes: few boxes,
 *                0b0110         | 0b0101             even when they hold millions of atoms
 */
#include "authz/covers_axis.h"
#include "authz/rule.h"

#include <stdlib.h>

enum {
    MAX_ROWS = 1 << 20,       /* pairs of a group class and a resource class */
    MAX_BOXES = 1 << 16,      /* of one servant rule */
    ALL_CLASSES = UINT32_MAX, /* of an axis, in a box */
};

/* Atoms that nobody covers, as classes. */
struct box {
    uint32_t verb, name;
};

/* Boxes of one group class and one resource class, from boxes[row.from] to boxes[row.to]. */
struct row {
    uint32_t from, to;
};

struct missing {
    struct row *rows; /* [group class × resource classes + resource class] */
    VEC(struct box) boxes;
};

struct covers {
    struct arena *out;
    struct covers_scope scope; /* what the axes share */
    bool tell;                 /* what is missing is wanted */
    bool cut;
    VEC(struct rule) atoms, sets;
};

/* ---- Boxes. ---- */

/* to = a AND b; false when that is empty. */
static bool and_bits(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words)
{
    uint64_t any = 0;
    for (size_t w = 0; w < words; w++)
        any |= to[w] = a[w] & b[w];
    return any != 0;
}

static bool meet(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t w = 0; w < words; w++)
        if (a[w] & b[w])
            return true;
    return false;
}

static void add_box(struct covers *c, struct missing *m, uint32_t verb, uint32_t name)
{
    *vec_push(&c->scope.scratch, &m->boxes) = (struct box){verb, name};
}

/* The boxes of one verb class, whose owners are `some` after group, resource and verb. False: too much work. */
static bool find_names(struct covers *c, const struct axis *names, const uint64_t *some, uint32_t verb,
                       struct missing *m)
{
    size_t words = c->scope.words;
    if (!covers_spend(&c->scope, words))
        return false;
    if (meet(some, names->full, words))
        return true;
    for (uint32_t n = 0; n < names->classes; n++) {
        if (!covers_spend(&c->scope, words))
            return false;
        if (!meet(some, names->bits + n * words, words))
            add_box(c, m, verb, n);
    }
    return true;
}

/* The boxes of one row, whose owners are `some` after group and resource. */
static bool find_verbs(struct covers *c, const struct axis axes[], const uint64_t *some, uint64_t *tmp,
                       struct missing *m)
{
    const struct axis *verbs = &axes[2], *names = &axes[3];
    size_t words = c->scope.words;
    if (!covers_spend(&c->scope, 2 * words))
        return false;
    if (and_bits(tmp, some, verbs->full, words) && meet(tmp, names->full, words))
        return true;
    for (uint32_t v = 0; v < verbs->classes; v++) {
        if (!covers_spend(&c->scope, words) || m->boxes.n > MAX_BOXES)
            return false;
        if (!and_bits(tmp, some, verbs->bits + v * words, words))
            add_box(c, m, v, ALL_CLASSES);
        else if (!find_names(c, names, tmp, v, m))
            return false;
    }
    return true;
}

static bool find_boxes(struct covers *c, const struct axis axes[], struct missing *m)
{
    const struct axis *groups = &axes[0], *resources = &axes[1];
    size_t words = c->scope.words;
    uint64_t *some = ARENA_ARRAY(&c->scope.scratch, uint64_t, words * 2);
    if (groups->classes * resources->classes > MAX_ROWS)
        return false;
    struct row *row = m->rows = ARENA_ARRAY(&c->scope.scratch, struct row, groups->classes * resources->classes);
    for (size_t g = 0; g < groups->classes; g++)
        for (size_t r = 0; r < resources->classes; r++, row++) {
            if (!covers_spend(&c->scope, words) || m->boxes.n > MAX_BOXES)
                return false;
            row->from = (uint32_t)m->boxes.n;
            if (!and_bits(some, groups->bits + g * words, resources->bits + r * words, words))
                add_box(c, m, ALL_CLASSES, ALL_CLASSES);
            else if (!find_verbs(c, axes, some, some + words, m))
                return false;
            row->to = (uint32_t)m->boxes.n;
        }
    return true;
}

/* ---- Telling what is missing. ---- */

static void set_axis(struct rule *rule, int kind, struct strs list)
{
    switch (kind) {
    case COVERS_GROUP:
        rule->api_groups = list;
        break;
    case COVERS_RESOURCE:
        rule->resources = list;
        break;
    case COVERS_VERB:
        rule->verbs = list;
        break;
    case COVERS_NAME:
        rule->resource_names = list;
        break;
    case COVERS_URL:
        rule->non_resource_urls = list;
        break;
    default:
        break;
    }
}

static struct strs values_in(const struct axis *ax, uint32_t class)
{
    if (class == ALL_CLASSES || ax->values.n == 0)
        return ax->values;
    return (struct strs){ax->grouped + ax->group[class], ax->group[class + 1] - ax->group[class]};
}

static void tell_sets(struct covers *c, struct axis axes[], const struct missing *m)
{
    for (int i = 0; i < COVERS_PRODUCT; i++)
        covers_axis_group(&axes[i], &c->scope, c->out);
    const struct row *row = m->rows;
    for (uint32_t g = 0; g < axes[0].classes; g++)
        for (uint32_t r = 0; r < axes[1].classes; r++, row++)
            for (uint32_t i = row->from; i < row->to; i++) {
                const uint32_t class[] = {g, r, m->boxes.p[i].verb, m->boxes.p[i].name};
                struct rule *set = vec_push(c->out, &c->sets);
                *set = (struct rule){0};
                for (int k = 0; k < COVERS_PRODUCT; k++)
                    set_axis(set, axes[k].kind, values_in(&axes[k], class[k]));
            }
}

/* Which pairs of a verb class and a name class are missing in a row: [verb class × name classes + name class]. */
static void mark(const struct axis axes[], const struct missing *m, const struct row *row, bool *marks)
{
    size_t verbs = axes[2].classes, names = axes[3].classes;
    memset(marks, 0, verbs * names);
    for (uint32_t i = row->from; i < row->to; i++) {
        const struct box *box = &m->boxes.p[i];
        for (size_t v = box->verb == ALL_CLASSES ? 0 : box->verb; v < verbs; v++) {
            for (size_t n = box->name == ALL_CLASSES ? 0 : box->name; n < names; n++) {
                marks[v * names + n] = true;
                if (box->name != ALL_CLASSES)
                    break;
            }
            if (box->verb != ALL_CLASSES)
                break;
        }
    }
}

/* The missing atoms of one group and one resource. */
static bool tell_row(struct covers *c, const struct axis axes[], const size_t at[2], const bool *marks)
{
    const struct axis *verbs = &axes[2], *names = &axes[3];
    for (size_t v = 0; v < verbs->n; v++)
        for (size_t n = 0; n < names->n; n++) {
            if (!covers_spend(&c->scope, 1))
                return false;
            if (!marks[verbs->class_of[v] * names->classes + names->class_of[n]])
                continue;
            if (c->atoms.n == COVERS_MAX_ATOMS)
                return false;
            const size_t place[] = {at[0], at[1], v, n};
            struct rule *atom = vec_push(c->out, &c->atoms);
            *atom = (struct rule){0};
            for (int k = 0; k < COVERS_PRODUCT; k++)
                if (axes[k].values.n)
                    set_axis(atom, axes[k].kind, (struct strs){axes[k].values.p + place[k], 1});
        }
    return true;
}

static bool tell_atoms(struct covers *c, const struct axis axes[], const struct missing *m)
{
    const struct axis *groups = &axes[0], *resources = &axes[1];
    size_t pairs = axes[2].classes * axes[3].classes;
    if (!covers_spend(&c->scope, pairs))
        return false;
    bool *marks = ARENA_ARRAY(&c->scope.scratch, bool, pairs);
    for (size_t g = 0; g < groups->n; g++)
        for (size_t r = 0; r < resources->n; r++) {
            const struct row *row = &m->rows[groups->class_of[g] * resources->classes + resources->class_of[r]];
            if (!covers_spend(&c->scope, 1))
                return false;
            if (row->from == row->to)
                continue;
            if (!covers_spend(&c->scope, pairs))
                return false;
            mark(axes, m, row, marks);
            if (!tell_row(c, axes, (const size_t[]){g, r}, marks))
                return false;
        }
    return true;
}

/* ---- One servant rule, one half of it at a time. ---- */

/* Too much work: all of it counts as missing. */
static void give_up(struct covers *c, const struct axis axes[])
{
    struct rule whole = {0};
    for (int k = 0; k < COVERS_PRODUCT; k++)
        set_axis(&whole, axes[k].kind, axes[k].values);
    *vec_push(c->out, &c->atoms) = whole;
    *vec_push(c->out, &c->sets) = whole;
    c->cut = true;
}

/* True when everything in the product is covered. */
static bool cover_product(struct covers *c, struct axis axes[])
{
    struct missing m = {0};
    bool done = covers_axes_load(&c->scope, axes) && find_boxes(c, axes, &m);
    bool covered = done && m.boxes.n == 0;
    if (!done) {
        give_up(c, axes);
    } else if (!covered && c->tell) {
        tell_sets(c, axes, &m);
        if (!tell_atoms(c, axes, &m))
            c->cut = true;
    }
    covers_scope_reset(&c->scope);
    return covered;
}

static bool cover_rule(struct covers *c, const struct rule *r)
{
    bool covered = true;
    if (r->verbs.n && r->api_groups.n && r->resources.n && !c->scope.owner.all_resources)
        covered = cover_product(c, (struct axis[COVERS_PRODUCT]){{.kind = COVERS_GROUP, .values = r->api_groups},
                                                                 {.kind = COVERS_RESOURCE, .values = r->resources},
                                                                 {.kind = COVERS_VERB, .values = r->verbs},
                                                                 {.kind = COVERS_NAME, .values = r->resource_names}});
    if (r->verbs.n && r->non_resource_urls.n && !c->scope.owner.all_urls && (covered || c->tell))
        covered &= cover_product(c, (struct axis[COVERS_PRODUCT]){{.kind = COVERS_NONE},
                                                                  {.kind = COVERS_URL, .values = r->non_resource_urls},
                                                                  {.kind = COVERS_VERB, .values = r->verbs},
                                                                  {.kind = COVERS_NONE}});
    return covered;
}

bool rules_cover(struct arena *a, struct rules owner, struct rules servant, struct covers_missing *ret_missing)
{
    struct covers c = {.out = a, .tell = ret_missing != NULL};
    struct arena kept ARENA_SCOPE = {0}; /* for the whole call; scope.scratch is for one product */
    covers_scope_init(&c.scope, &kept, owner);
    bool covered = true;
    rules_each(servant, rule)
    {
        covered &= cover_rule(&c, rule);
        if (!covered && !c.tell)
            break;
    }
    if (ret_missing)
        *ret_missing = (struct covers_missing){{c.atoms.p, c.atoms.n}, {c.sets.p, c.sets.n}, c.cut};
    covers_scope_done(&c.scope);
    return covered;
}
