/* SPDX-License-Identifier: Apache-2.0 */
/* What the hub is told of a work, and all that is written there: it is held by a finalizer before anything is applied, its status
 * follows, and it is let go when nothing is left on the managed cluster. */
#include "controllers/garbage/garbage_patch.h"
#include "controllers/works/works_internal.h"
#include "object/fleet.h"
#include "object/object.h"

#include <stdlib.h>

#define BEHIND_NS \
    (2 * NS_PER_S) /* our copy is believed again after that, whatever versions say: hubs are restored from backups */
#define SOON_NS (20 * NS_PER_MS)

static const struct client_resource kind = CLIENT_RESOURCE(FLEET_WORKS);

struct telling {
    struct works *w;
    struct reconcile *r;
    struct json work;
};

/* ---- Handing over. ---- */

/* What the hub has already is not told again, nor what was to be told before. */
void hub_tell(struct visit *v, const struct json *facts)
{
    struct json next = report_status(v->a, &v->work, facts, &v->r->clock);
    bool is_known = json_equal(&next, json_get(&v->work, S("status")));
    struct buf text = {0};
    if (!is_known)
        json_encode(&text, facts, 0);
    struct memo *memo = memo_take(v->w->memos, v->name);
    free(memo->facts);
    memo->facts = text.p;
    memo->n_facts = text.n;
    memo_give(v->w->memos);
    if (!is_known)
        control_enqueue(v->w->reports, (str){0}, v->name);
}

void hub_release(struct works *w, str work)
{
    struct memo *memo = memo_take(w->memos, work);
    memo->is_left = true;
    memo_give(w->memos);
    control_enqueue(w->reports, (str){0}, work);
}

/* After a failure they are put back, unless newer ones have come. */
static str take_facts(struct telling *t)
{
    struct memo *memo = memo_take(t->w->memos, t->r->name);
    str text = str_dup(t->r->arena, (str){memo->facts, memo->n_facts});
    free(memo->facts);
    memo->facts = NULL;
    memo->n_facts = 0;
    memo_give(t->w->memos);
    return text;
}

static void put_back(struct telling *t, str text)
{
    struct memo *memo = memo_take(t->w->memos, t->r->name);
    if (!memo->facts && text.n) {
        struct buf copy = {0};
        buf_add_str(&copy, text);
        memo->facts = copy.p;
        memo->n_facts = copy.n;
    }
    memo_give(t->w->memos);
}

/* ---- Writing. ---- */

static void note_written(struct telling *t, const struct json *written)
{
    struct memo *memo = memo_take(t->w->memos, t->r->name);
    str version = object_rv(written);
    memo->written = 0;
    if (version.n < sizeof memo->version) {
        memcpy(memo->version, version.p, version.n);
        memo->version[version.n] = '\0';
        memo->written = clock_mono_ns(&t->r->clock);
    }
    memo_give(t->w->memos);
}

/* Our copy has not seen our own last write yet. */
static bool is_behind(struct telling *t)
{
    struct memo *memo = memo_take(t->w->memos, t->r->name);
    bool is_so = memo->written && clock_mono_ns(&t->r->clock) - memo->written < BEHIND_NS &&
                 item_version_is_older(object_rv(&t->work), str_of(memo->version));
    memo_give(t->w->memos);
    return is_so;
}

static int patch(struct telling *t, str subresource, const struct json *body, struct err *err)
{
    struct client_ref ref = {
        .resource = &kind, .namespace = t->w->options.cluster, .name = t->r->name, .subresource = subresource};
    struct client_patch_args args = {
        .type = CLIENT_PATCH_MERGE, .patch = body, .options = {.field_manager = WORKS_MANAGER}};
    struct json written;
    int code = client_patch(t->w->options.hub, t->r->arena, &ref, &args, &written, err);
    if (code == 0)
        note_written(t, &written);
    if (code < 0 && client_is_gone(err))
        return 0;
    return code < 0 ? err_wrap(err, "write ManifestWork %.*s", STR(t->r->name)) : 0;
}

static int hold(struct telling *t, struct err *err)
{
    struct arena *a = t->r->arena;
    struct json body = json_obj(), meta = json_obj();
    const struct json *there = object_finalizers(&t->work);
    struct json list = json_is_arr(there) ? json_dup(a, there) : json_arr();
    json_push(a, &list, json_str(S(FLEET_FINALIZER_WORK)));
    json_add(a, &meta, S("uid"), json_str(object_uid(&t->work)));
    json_add(a, &meta, S("resourceVersion"), json_str(object_rv(&t->work)));
    json_add(a, &meta, S("finalizers"), list);
    json_add(a, &body, S("metadata"), meta);
    return patch(t, (str){0}, &body, err);
}

static int release(struct telling *t, struct err *err)
{
    struct json body;
    if (!patch_finalizer(t->r->arena, &t->work, S(FLEET_FINALIZER_WORK), &body))
        return 0;
    return patch(t, (str){0}, &body, err);
}

/* Only what differs; the uid sees to it that another work of that name is not meant. */
static int report(struct telling *t, const struct json *facts, struct err *err)
{
    struct arena *a = t->r->arena;
    const struct json *was = json_get(&t->work, S("status"));
    struct json next = report_status(a, &t->work, facts, &t->r->clock);
    struct json body = json_obj(), meta = json_obj(), status = json_obj();
    json_each_member(&next, m)
    {
        if (!json_equal(json_get(was, json_key(m)), &m->val))
            json_add(a, &status, json_key(m), m->val);
    }
    if (!json_len(&status))
        return 0;
    json_add(a, &meta, S("uid"), json_str(object_uid(&t->work)));
    json_add(a, &body, S("metadata"), meta);
    json_add(a, &body, S("status"), status);
    return patch(t, S("status"), &body, err);
}

static int tell(struct telling *t, struct err *err)
{
    struct json facts;
    str text = take_facts(t);
    if (!text.n || json_decode(t->r->arena, text, NULL, NULL, &facts, err) < 0)
        return 0;
    int code = report(t, &facts, err);
    if (code < 0)
        put_back(t, text);
    return code;
}

static bool is_left(struct telling *t)
{
    struct memo *memo = memo_take(t->w->memos, t->r->name);
    bool is_so = memo->is_left;
    memo_give(t->w->memos);
    return is_so;
}

int works_report(void *ctx, struct reconcile *r, struct err *err)
{
    struct telling t = {.w = ctx, .r = r};
    if (!informer_read(t.w->works, r->arena, t.w->options.cluster, r->name, &t.work))
        return 0;
    if (is_behind(&t)) {
        r->again_ns = SOON_NS;
        return 0;
    }
    bool is_leaving = object_is_deleting(&t.work);
    if (!is_leaving && !object_has_finalizer(&t.work, S(FLEET_FINALIZER_WORK)))
        return hold(&t, err);
    if (is_leaving && is_left(&t))
        return release(&t, err);
    return tell(&t, err);
}
