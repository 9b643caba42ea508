/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, whole or in pages. The token of a page says in which snapshot it goes on, and where: "7.1.500" is revision, number of
 * the snapshot, position. */
#include "lib/fake_internal.h"
#include "object/object.h"
#include "object/status.h"

#define EXPIRED "The provided continue parameter is too old to display a consistent list result."

struct listing {
    struct transport_call *call;
    const struct fake_place *place;
    struct selector labels;
    struct field_selector fields;
};

static bool read_selectors(struct listing *l)
{
    struct arena *a = &l->call->arena;
    str target = l->call->request.target;
    struct err err;
    if (selector_parse(a, fake_param(a, target, S("labelSelector")), &l->labels, &err) == 0 &&
        field_selector_parse(a, fake_param(a, target, S("fieldSelector")), &l->fields, &err) == 0)
        return true;
    struct json status = status_of_err(a, &err);
    fake_refuse(l->call, &status);
    return false;
}

static struct fake_snapshot take_snapshot(struct listing *l)
{
    struct fake *f = l->call->fake;
    struct arena *a = &l->call->arena;
    const struct fake_place *p = l->place;
    str prefix = p->namespace.n ? fake_key(a, p->table, p->namespace, (str){0}) : str_fmt(a, "%.*s\1", STR(p->table));
    struct fake_snapshot s = {.rev = f->rev, .texts = ARENA_ARRAY(&f->arena, str, f->objects.n)};
    for (size_t i = fake_lower_bound(f, prefix); i < f->objects.n; i++) {
        const struct fake_object *o = &f->objects.p[i];
        if (!str_has_prefix(o->key, prefix))
            break;
        struct json object = fake_tree(a, o->text);
        if (fake_selects(&l->labels, &l->fields, &object))
            s.texts[s.n++] = o->text;
    }
    return s;
}

/* Items of built-in kinds do not say what they are. */
static struct json item_of(struct listing *l, str text)
{
    struct arena *a = &l->call->arena;
    struct json object = fake_tree(a, text);
    if (fake_wants_metadata(&l->call->request))
        return fake_view(a, &object, true);
    if (!(l->place->kind->flags & KIND_CUSTOM)) {
        json_remove(&object, S("kind"));
        json_remove(&object, S("apiVersion"));
    }
    return object;
}

static void answer_page(struct listing *l, const struct fake_snapshot *s, size_t number, size_t from)
{
    struct arena *a = &l->call->arena;
    const struct kind *kind = l->place->kind;
    uint64_t limit = 0;
    struct json list = json_obj(), meta = json_obj(), items = json_arr();
    bool is_partial = fake_wants_metadata(&l->call->request);
    if (!str_to_uint64(fake_param(a, l->call->request.target, S("limit")), &limit) || limit == 0)
        limit = s->n;
    size_t to = s->n - from > limit ? from + limit : s->n;
    for (size_t i = from; i < to; i++)
        json_push(a, &items, item_of(l, s->texts[i]));
    json_add(a, &meta, S("resourceVersion"), json_str(str_fmt(a, "%llu", (unsigned long long)s->rev)));
    if (to < s->n) {
        json_add(a, &meta, S("continue"), json_str(str_fmt(a, "%llu.%zu.%zu", (unsigned long long)s->rev, number, to)));
        json_add(a, &meta, S("remainingItemCount"), json_int((int64_t)(s->n - to)));
    }
    json_add(a, &list, S("kind"), json_str(is_partial ? S("PartialObjectMetadataList") : str_of(kind->list_kind)));
    json_add(a, &list, S("apiVersion"),
             json_str(is_partial       ? S("meta.k8s.io/v1")
                      : kind->group[0] ? str_fmt(a, "%s/%s", kind->group, kind->version)
                                       : str_of(kind->version)));
    json_add(a, &list, S("metadata"), meta);
    json_add(a, &list, S("items"), items);
    fake_answer_tree(l->call, 200, &list);
}

static void go_on(struct listing *l, str token)
{
    struct fake *f = l->call->fake;
    str rev_text, number_text, from_text;
    uint64_t rev, number, from;
    str_cut(token, '.', &rev_text, &number_text);
    str_cut(number_text, '.', &number_text, &from_text);
    bool is_ours = str_to_uint64(rev_text, &rev) && str_to_uint64(number_text, &number) &&
                   str_to_uint64(from_text, &from) && number < f->snapshots.n && from <= f->snapshots.p[number].n;
    struct json status;
    if (!is_ours) {
        status = status_bad_request(&l->call->arena, S("continue key is not valid"));
        fake_refuse(l->call, &status);
    } else if (rev < f->oldest) {
        status = status_expired(&l->call->arena, S(EXPIRED));
        fake_refuse(l->call, &status);
    } else {
        struct fake_snapshot s = f->snapshots.p[number];
        answer_page(l, &s, (size_t)number, (size_t)from);
    }
}

void fake_serve_list(struct transport_call *call, const struct fake_place *place)
{
    struct fake *f = call->fake;
    struct listing l = {.call = call, .place = place};
    str token = fake_param(&call->arena, call->request.target, S("continue"));
    if (!read_selectors(&l))
        return;
    if (token.n) {
        go_on(&l, token);
        return;
    }
    struct fake_snapshot s = take_snapshot(&l);
    *vec_push(&f->arena, &f->snapshots) = s;
    answer_page(&l, &s, f->snapshots.n - 1, 0);
}
