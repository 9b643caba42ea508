/* SPDX-License-Identifier: Apache-2.0 */
/* The label side of the graph: places where roles and selectors meet, and membership. */
#include "authz/aggregate_graph.h"

#include "object/object.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Places. ---- */

struct agg_place *agg_place_get(struct map *map, str key)
{
    struct agg_place *place = map_get(map, key);
    if (place == NULL) {
        place = agg_alloc(sizeof *place + key.n);
        *place = (struct agg_place){.key = {(char *)(place + 1), key.n}, .map = map};
        if (key.n)
            memcpy(place + 1, key.p, key.n);
        map_set(map, place->key, place);
    }
    return place;
}

void agg_place_release(struct agg_place *place)
{
    if (place->map && LIST_EMPTY(&place->roles) && LIST_EMPTY(&place->selectors)) {
        map_del(place->map, place->key);
        free(place);
    }
}

/* Two labels that read the same here ("a=" with "b=c", "a" with "=b=c"; neither is valid) share a place, which costs a
 * comparison: the selector itself has the last word. */
struct agg_place *agg_place_of_value(struct aggregate_index *ix, str key, str value)
{
    return agg_place_get(&ix->by_value, str_fmt(&ix->scratch, "%.*s=%.*s", STR(key), STR(value)));
}

/* ---- Labels of a role. ---- */

static void labels_free(struct agg_labels *labels)
{
    for (size_t i = 0; labels && i < labels->n; i++) {
        LIST_REMOVE(&labels->at[i], link);
        agg_place_release(labels->at[i].place);
    }
    free(labels);
}

static void stand(struct agg_label *label, struct agg_role *role, struct agg_place *place)
{
    *label = (struct agg_label){.place = place, .role = role};
    LIST_INSERT_HEAD(&place->roles, label, link);
}

/* One block: the links, then the members of the map, then the texts. */
static struct agg_labels *labels_new(struct aggregate_index *ix, struct agg_role *role, const struct json *labels)
{
    size_t n = json_len(labels), bytes = 0, i = 0;
    json_each_member(labels, m) bytes += m->key_n + m->val.n;
    struct agg_labels *copy =
        agg_alloc(sizeof *copy + 2 * n * sizeof *copy->at + n * sizeof(struct json_member) + bytes);
    struct json_member *members = (struct json_member *)(copy->at + 2 * n);
    char *text = (char *)(members + n);
    copy->n = 2 * n;
    copy->map = (struct json){.type = JSON_OBJ, .n = (uint32_t)n, .members = members};
    json_each_member(labels, m)
    {
        str key = json_key(m), value = json_text(&m->val);
        members[i] = (struct json_member){.key = text, .key_n = m->key_n, .hash = m->hash};
        if (key.n)
            memcpy(text, key.p, key.n);
        text += key.n;
        members[i].val = json_str((str){text, value.n});
        if (value.n)
            memcpy(text, value.p, value.n);
        text += value.n;
        stand(&copy->at[2 * i], role, agg_place_of_value(ix, key, value));
        stand(&copy->at[2 * i + 1], role, agg_place_get(&ix->by_key, key));
        i++;
    }
    return copy;
}

void agg_role_label(struct aggregate_index *ix, struct agg_role *role, const struct json *labels)
{
    struct agg_labels *former = role->labels;
    role->labels = json_len(labels) ? labels_new(ix, role, labels) : NULL;
    labels_free(former);
}

const struct json *agg_labels_of(const struct agg_role *role)
{
    return role->labels ? &role->labels->map : NULL;
}

/* ---- Membership: each side knows where it stands in the list of the other. ---- */

/* Where the member of this name is, or would be. */
static size_t position(const struct agg_selector *s, str name)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_cmp(s->members[middle].role->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void agg_join(struct agg_selector *s, struct agg_role *role, size_t at)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 4;
        s->members = agg_resize(s->members, s->cap * sizeof *s->members);
    }
    if (role->n_in == role->cap_in) {
        role->cap_in = role->cap_in ? 2 * role->cap_in : 4;
        role->in = agg_resize((void *)role->in, role->cap_in * sizeof *role->in);
    }
    memmove(s->members + at + 1, s->members + at, (s->n - at) * sizeof *s->members);
    s->members[at] = (struct agg_member){.role = role, .at = role->n_in};
    s->n++;
    role->in[role->n_in++] = s;
}

/* The last one gets the place that becomes free. */
void agg_forget(struct agg_role *role, size_t at)
{
    struct agg_selector *last = role->in[--role->n_in];
    if (at < role->n_in) {
        role->in[at] = last;
        last->members[position(last, role->name)].at = at;
    }
}

static void leave(struct agg_selector *s, struct agg_role *role)
{
    size_t at = position(s, role->name);
    assert(at < s->n && s->members[at].role == role);
    agg_forget(role, s->members[at].at);
    s->n--;
    memmove(s->members + at, s->members + at + 1, (s->n - at) * sizeof *s->members);
}

struct found {
    struct aggregate_index *ix;
    const struct agg_role *role;
    VEC(struct agg_selector *) matching; /* each once, marked with the newest mark */
};

static void try_place(struct found *f, const struct agg_place *place)
{
    struct agg_anchor *anchor;
    LIST_FOREACH(anchor, &place->selectors, link)
    {
        struct agg_selector *s = anchor->selector;
        if (s->mark != f->ix->marks && selector_matches(&s->selector, agg_labels_of(f->role))) {
            s->mark = f->ix->marks;
            *vec_push(&f->ix->scratch, &f->matching) = s;
        }
    }
}

void agg_role_match(struct aggregate_index *ix, struct agg_role *role)
{
    struct found f = {.ix = ix, .role = role};
    ix->marks++;
    try_place(&f, &ix->rest);
    for (size_t i = 0; role->labels && i < role->labels->n; i++)
        try_place(&f, role->labels->at[i].place);
    for (size_t i = role->n_in; i-- > 0;) {
        struct agg_selector *s = role->in[i];
        if (s->mark == ix->marks)
            continue;
        leave(s, role);
        agg_mark_users(ix, s);
    }
    vec_each(&f.matching, it)
    {
        size_t at = position(*it, role->name);
        if (at < (*it)->n && (*it)->members[at].role == role)
            continue;
        agg_join(*it, role, at);
        agg_mark_users(ix, *it);
    }
}

void agg_role_unmatch(struct aggregate_index *ix, struct agg_role *role)
{
    while (role->n_in) {
        struct agg_selector *s = role->in[role->n_in - 1];
        leave(s, role);
        agg_mark_users(ix, s);
    }
    free((void *)role->in);
    role->in = NULL;
    role->cap_in = 0;
}
