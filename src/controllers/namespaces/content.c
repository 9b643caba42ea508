/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/namespaces/content.h"

#include "object/kind.h"
#include "object/object.h"

#define PAGE "500"
#define ANSWER_NS INT64_C(90000000000) /* Kubernetes gives up on a request after 60 s */
#define METADATA S("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
/* Dependents go because all content goes: nobody has to be orphaned or waited for. */
#define BACKGROUND S("{\"propagationPolicy\":\"Background\"}")

/* One resource at work. */
struct clearing {
    const struct content *c;
    const struct client_discovered *target;
    struct arena scratch; /* of one page */
    bool has_found;       /* there was something */
    bool is_told;         /* the server said what was there */
    int64_t grace;        /* seconds that pods may take */
};

/* What is done with each page of a list. */
typedef int page_fn(struct clearing *w, const struct json *list, struct err *err);

static int ask(struct clearing *w, bool is_delete, str token, struct json *ret, struct err *err)
{
    const struct client_resource *resource = &w->target->resource;
    struct client_ref ref = {.resource = resource, .namespace = w->c->namespace};
    struct buf target = {.arena = &w->scratch};
    client_path(&target, &ref);
    client_query(&target, S("limit"), S(PAGE));
    client_query(&target, S("continue"), token);
    struct client_request request = {
        .method = is_delete ? S("DELETE") : S("GET"),
        .target = buf_str(&target),
        /* Pods are seen whole once, when they are deleted: only their specs say how long they may take. */
        .accept = is_delete && pass_is_pods(resource) ? (str){0} : METADATA,
        .body = is_delete ? BACKGROUND : (str){0},
        .total_ns = ANSWER_NS,
    };
    return client_raw(w->c->client, &w->scratch, &request, ret, err);
}

static int each_page(struct clearing *w, bool is_delete, page_fn *fn, struct err *err)
{
    struct arena kept ARENA_SCOPE = {0};
    str token = {0};
    int code;
    do {
        struct json list = {0};
        arena_reset(&w->scratch);
        code = ask(w, is_delete, token, &list, err);
        if (code == 0)
            code = fn(w, &list, err);
        arena_reset(&kept);
        token = str_dup(&kept, json_text(json_dig(&list, "metadata.continue")));
    } while (code == 0 && token.n);
    return code;
}

/* Of a resource that discovery names and the server does not have (any more), or not with this verb. */
static bool is_unsupported(int code)
{
    return code == ERR_METHOD_NOT_ALLOWED || code == ERR_NOT_FOUND;
}

/* ---- Deleting. ---- */

static int note_deleted(struct clearing *w, const struct json *list, struct err *err)
{
    (void)err;
    const struct json *items = json_get(list, S("items"));
    w->is_told = w->is_told && json_find(list, S("items"));
    w->has_found = w->has_found || json_len(items) > 0;
    if (pass_is_pods(&w->target->resource)) {
        int64_t grace = pass_pods_grace(items);
        w->grace = grace > w->grace ? grace : w->grace;
    }
    return 0;
}

static int delete_one(struct clearing *w, str name, struct err *err)
{
    struct client_ref ref = {.resource = &w->target->resource, .namespace = w->c->namespace, .name = name};
    struct client_delete_options options = {.propagation = S("Background")};
    int code = client_delete(w->c->client, &w->scratch, &ref, &options, NULL, err);
    return is_unsupported(code) ? 0 : code;
}

static int delete_page(struct clearing *w, const struct json *list, struct err *err)
{
    const struct json *items = json_get(list, S("items"));
    int code = 0;
    json_each_item(items, object)
    {
        w->has_found = true;
        if (code == 0)
            code = delete_one(w, object_name(object), err);
    }
    return code;
}

static int delete_all(struct clearing *w, struct err *err)
{
    unsigned verbs = w->target->verbs;
    w->is_told = true;
    int code = verbs & VERB_DELETECOLLECTION ? each_page(w, true, note_deleted, err) : ERR_METHOD_NOT_ALLOWED;
    if (!is_unsupported(code))
        return code;
    code = verbs & VERB_LIST ? each_page(w, false, delete_page, err) : 0;
    return is_unsupported(code) ? 0 : code;
}

/* ---- What is left. ---- */

static int note_left(struct clearing *w, const struct json *list, struct err *err)
{
    (void)err;
    const struct content *c = w->c;
    int64_t age = c->clock.wall_ns(c->clock.ctx) / 1000000000 - c->deleted_at;
    pass_add_rest(c->pass, &w->target->resource, json_get(list, S("items")), age < w->grace);
    return 0;
}

static int count_left(struct clearing *w, struct err *err)
{
    if (!(w->target->verbs & VERB_LIST) || (w->is_told && !w->has_found))
        return 0;
    int code = each_page(w, false, note_left, err);
    return is_unsupported(code) ? 0 : code;
}

void content_delete(const struct content *c, struct pass_targets targets)
{
    struct clearing w = {.c = c};
    for (size_t i = 0; i < targets.n; i++) {
        struct err err = {0};
        w = (struct clearing){.c = c, .target = targets.p[i], .scratch = w.scratch};
        if (delete_all(&w, &err) < 0 || count_left(&w, &err) < 0)
            pass_fail(c->pass, str_of(err.msg));
        c->pass->has_found = c->pass->has_found || w.has_found;
    }
    arena_done(&w.scratch);
}
