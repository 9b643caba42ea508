/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/namespaces/namespaces_content.h"

#include "object/kind.h"
#include "object/object.h"

enum { AT_ONCE = 16 }; /* requests: a real server lets few of one client in at a time */

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

static struct client_request request_of(const struct clearing *w, struct arena *a, bool is_delete, str token)
{
    const struct client_resource *resource = &w->target->resource;
    struct client_ref ref = {.resource = resource, .namespace = w->c->namespace};
    struct buf target = {.arena = a};
    client_path(&target, &ref);
    client_query(&target, S("limit"), S(PAGE));
    client_query(&target, S("continue"), token);
    return (struct client_request){
        .method = is_delete ? S("DELETE") : S("GET"),
        .target = buf_str(&target),
        /* Pods are seen whole once, when they are deleted: only their specs say how long they may take. */
        .accept = is_delete && pass_is_pods(resource) ? (str){0} : METADATA,
        .body = is_delete ? BACKGROUND : (str){0},
        .total_ns = ANSWER_NS,
    };
}

/* The pages behind this one. */
static int follow(struct clearing *w, bool is_delete, str token, page_fn *fn, struct err *err)
{
    struct arena kept ARENA_SCOPE = {0};
    int code = 0;
    for (token = str_dup(&kept, token); code == 0 && token.n;) {
        struct json list = {0};
        arena_reset(&w->scratch);
        struct client_request request = request_of(w, &w->scratch, is_delete, token);
        code = client_raw(w->c->client, &w->scratch, &request, &list, err);
        if (code == 0)
            code = fn(w, &list, err);
        arena_reset(&kept);
        token = str_dup(&kept, json_text(json_dig(&list, "metadata.continue")));
    }
    return code;
}

static int each_page(struct clearing *w, bool is_delete, page_fn *fn, struct err *err)
{
    struct json first = {0};
    arena_reset(&w->scratch);
    struct client_request request = request_of(w, &w->scratch, is_delete, (str){0});
    int code = client_raw(w->c->client, &w->scratch, &request, &first, err);
    if (code == 0)
        code = fn(w, &first, err);
    str token = json_text(json_dig(&first, "metadata.continue"));
    return code < 0 ? code : follow(w, is_delete, token, fn, err);
}

/* Of a resource that discovery names and the server does not have (any more), or not with this verb. Only an API server knows: what a
 * proxy does not find may be full. A kind that went with its whole group is not named any more when we come again. */
static bool is_unsupported(int code, const struct err *err)
{
    return (code == ERR_METHOD_NOT_ALLOWED || code == ERR_NOT_FOUND) && client_is_told(err);
}

/* ---- Deleting. ---- */

/* The items of a list, which are there even where there are none: an answer without them says nothing. */
static int items_of(const struct json *list, const struct json **ret, struct err *err)
{
    *ret = json_get(list, S("items"));
    if (*ret == NULL || (!json_is_arr(*ret) && !json_is_null(*ret)))
        return err_set(err, ERR_IO, "the answer of the server is not a list");
    return 0;
}

static int note_deleted(struct clearing *w, const struct json *list, struct err *err)
{
    const struct json *items;
    w->is_told = items_of(list, &items, err) == 0 && w->is_told;
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
    return is_unsupported(code, err) ? 0 : code;
}

static int delete_page(struct clearing *w, const struct json *list, struct err *err)
{
    const struct json *items;
    int code = items_of(list, &items, err);
    json_each_item(items, object)
    {
        w->has_found = true;
        if (code == 0)
            code = delete_one(w, object_name(object), err);
    }
    return code;
}

static bool has_collections(const struct client_discovered *target)
{
    return target->verbs & VERB_DELETECOLLECTION;
}

/* The first page was asked for already. */
static int delete_all(struct clearing *w, const struct client_question *first, struct err *err)
{
    bool is_delete = has_collections(w->target);
    page_fn *fn = is_delete ? note_deleted : delete_page;
    int code = first->code;
    w->is_told = true;
    if (code == 0)
        code = fn(w, &first->ret, err);
    else
        *err = first->err;
    if (code == 0)
        code = follow(w, is_delete, json_text(json_dig(&first->ret, "metadata.continue")), fn, err);
    if (is_unsupported(code, err) && is_delete && (w->target->verbs & VERB_LIST))
        code = each_page(w, false, delete_page, err);
    return is_unsupported(code, err) ? 0 : code;
}

/* ---- What is left. ---- */

static int note_left(struct clearing *w, const struct json *list, struct err *err)
{
    const struct content *c = w->c;
    const struct json *items;
    int64_t age = clock_seconds(&c->clock) - c->deleted_at;
    int code = items_of(list, &items, err);
    if (code == 0)
        pass_add_rest(c->pass, &w->target->resource, items, age < w->grace);
    return code;
}

static int count_left(struct clearing *w, struct err *err)
{
    if (!(w->target->verbs & VERB_LIST) || (w->is_told && !w->has_found))
        return 0;
    int code = each_page(w, false, note_left, err);
    return is_unsupported(code, err) ? 0 : code;
}

/* ---- Many resources. ---- */

static void clear(struct clearing *w, const struct client_question *first)
{
    struct err err = {0};
    struct pass *pass = w->c->pass;
    if (delete_all(w, first, &err) < 0 || count_left(w, &err) < 0)
        pass_fail(pass, str_of(err.msg));
    pass->has_found = pass->has_found || w->has_found;
    arena_done(&w->scratch);
}

/* Most resources are empty, and that is known after one request: these are made together. */
static void clear_some(const struct content *c, const struct client_discovered *const *targets, size_t n)
{
    struct arena a ARENA_SCOPE = {0};
    struct client_question *first = ARENA_ARRAY(&a, struct client_question, n);
    struct clearing *list = ARENA_ARRAY(&a, struct clearing, n);
    for (size_t i = 0; i < n; i++) {
        list[i] = (struct clearing){.c = c, .target = targets[i]};
        first[i].request = request_of(&list[i], &a, has_collections(targets[i]), (str){0});
    }
    client_raw_all(c->client, &a, first, n);
    for (size_t i = 0; i < n; i++)
        clear(&list[i], &first[i]);
}

void content_delete(const struct content *c, struct pass_targets targets)
{
    for (size_t i = 0, n; i < targets.n; i += n) {
        n = targets.n - i < AT_ONCE ? targets.n - i : AT_ONCE;
        if (pass_is_pods(&targets.p[i]->resource))
            n = 1; /* before all others */
        clear_some(c, targets.p + i, n);
    }
}
