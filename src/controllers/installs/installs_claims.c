/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of installs: those that hold something (accepted), and those of before a restart that were not visited yet. */
#include "controllers/installs/installs_internal.h"
#include "object/object.h"
#include "oci/reference.h"

#include <stdlib.h>

str holding_approved(const struct json *install)
{
    return json_text(json_dig(install, "status.crds.approvedAt"));
}

struct holding *holding_get(struct installs *s, str uid)
{
    return map_get(&s->holdings, uid);
}

static void holding_free(struct holding *h)
{
    package_unref(h->now);
    package_unref(h->old);
    arena_done(&h->arena);
    free(h);
}

struct holding *holding_put(struct installs *s, const struct holding *h)
{
    struct holding *copy = xcalloc(1, sizeof *copy);
    *copy = *h;
    copy->arena = (struct arena){0};
    arena_begin(&copy->arena, 256);
    str *texts[] = {&copy->uid,     &copy->namespace, &copy->name,     &copy->place,    &copy->record,  &copy->label,
                    &copy->problem, &copy->since,     &copy->approved, &copy->conflict, &copy->retained};
    for (size_t i = 0; i < COUNT(texts); i++)
        *texts[i] = str_dup(&copy->arena, *texts[i]);
    holding_set_written(copy, h->written);
    copy->now = h->now ? package_ref(h->now) : NULL;
    copy->old = h->old ? package_ref(h->old) : NULL;
    struct holding *before = map_del(&s->holdings, copy->uid);
    map_set(&s->holdings, copy->uid, copy);
    if (before)
        holding_free(before);
    awaited_drop(s, copy->uid);
    return copy;
}

void holding_orphan(struct installs *s, str uid)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct holding *h = holding_get(s, uid);
    if (!h)
        return;
    h->is_leaving = h->is_orphan = true;
    h->is_reserved = false;
    shares_enqueue(s, h->label);
    if (h->old)
        shares_enqueue(s, plan_family_label(&scratch, h->old->family));
}

bool holding_is_in_time(const struct lane *lane, const struct json *install)
{
    const struct item *item = informer_get(lane->installs, object_namespace(install), object_name(install));
    bool is_there = item && str_eq(item_uid(item), object_uid(install));
    item_unref(item);
    return is_there;
}

void holding_drop(struct installs *s, str uid)
{
    struct holding *h = map_del(&s->holdings, uid);
    if (h)
        holding_free(h);
}

void holding_set_problem(struct holding *h, str text)
{
    if (!str_eq(h->problem, text))
        h->problem = str_dup(&h->arena, text);
}

void holding_set_conflict(struct holding *h, str text)
{
    if (!str_eq(h->conflict, text))
        h->conflict = str_dup(&h->arena, text);
}

/* Versions come and go while a holding stays: they have a place of their own. */
void holding_set_written(struct holding *h, str version)
{
    if (version.n > sizeof h->version)
        version.n = 0;
    if (version.n)
        memcpy(h->version, version.p, version.n);
    h->written = (str){h->version, version.n};
}

void holdings_free_all(struct installs *s)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&s->holdings, &at, &key, &value))
        holding_free(value);
    map_done(&s->holdings);
    at = 0;
    while (map_next(&s->awaited, &at, &key, &value)) {
        arena_done(&((struct awaited *)value)->arena);
        free(value);
    }
    map_done(&s->awaited);
}

/* ---- After a restart: nothing that a family shares is touched until all who hold something of it have been visited. ---- */

str installs_family_label(struct arena *a, str reference)
{
    struct oci_reference ref;
    if (oci_reference_parse(reference, &ref, NULL) < 0)
        return (str){0};
    struct oci_digest none = {0};
    struct oci_identity id = oci_reference_identity(a, &ref, S("-"), &none);
    return plan_family_label(a, str_fmt(a, "%.*s:%.*s", STR(id.repo), STR(id.name)));
}

void awaited_see(struct installs *s, const struct lane *lane, const struct json *install)
{
    str uid = object_uid(install);
    str reference = json_get_text(json_get(install, S("status")), S("installedPackage"));
    if (reference.n == 0 || holding_get(s, uid) || map_get(&s->awaited, uid))
        return;
    struct awaited *w = xcalloc(1, sizeof *w);
    arena_begin(&w->arena, 256);
    w->uid = str_dup(&w->arena, uid);
    w->label = installs_family_label(&w->arena, reference);
    w->namespace = str_dup(&w->arena, object_namespace(install));
    w->what = visit_title(&w->arena, lane, object_namespace(install), object_name(install));
    map_set(&s->awaited, w->uid, w);
}

void awaited_drop(struct installs *s, str uid)
{
    struct awaited *w = map_del(&s->awaited, uid);
    if (!w)
        return;
    shares_enqueue(s, w->label);
    arena_done(&w->arena);
    free(w);
}

void awaited_give_up(struct installs *s, str uid)
{
    struct awaited *w = map_get(&s->awaited, uid);
    if (!w || w->is_given_up)
        return;
    w->is_given_up = true;
    shares_enqueue(s, w->label);
}

const struct awaited *awaited_find(struct installs *s, str label, str except)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&s->awaited, &at, &key, &value)) {
        const struct awaited *w = value;
        if (!w->is_given_up && str_eq(w->label, label) && !str_eq(w->uid, except))
            return w;
    }
    return NULL;
}
