/* SPDX-License-Identifier: Apache-2.0 */
/* Gets. What most of them ask for, one object as JSON, is three pieces of bytes in a row: nothing is parsed. */
#include "api/read.h"

#include "api/task.h"
#include "api/value.h"
#include "api/view.h"
#include "object/status.h"

enum { MAX_AT_ONCE = 16 * 1024 }; /* bytes of an object that is parsed without a task */

struct get {
    struct accept accept;
    struct view view;
    struct api_request *r;
    struct task_step step;
    bool is_in_task;
};

static bool is_plain(const struct get *g)
{
    return g->accept.media == MEDIA_JSON && !g->accept.is_pretty && g->view.as == AS_OBJECT;
}

/* Whether the answer has to be made from a tree, and the object is large or stored under another schema. */
static bool is_costly(const struct get *g, const struct store_item *item)
{
    bool is_text = value_is_text(g->view.api, g->view.kind, item);
    return !is_text || (!is_plain(g) && item->value.n > MAX_AT_ONCE);
}

static void answer(struct api_request *r, const struct get *g, const struct store_item *item)
{
    struct err err;
    if (is_plain(g)) {
        struct buf text = {.arena = r->arena};
        if (value_print(r->api, &text, g->view.kind, item, false, &err) < 0)
            api_refuse_err(r, &err);
        else
            api_answer_json(r, 200, buf_str(&text));
        return;
    }
    struct json whole;
    if (view_whole(&g->view, r->arena, item, true, &whole, &err) < 0)
        api_refuse_err(r, &err);
    else
        api_answer(r, 200, &whole);
}

bool read_refuse_list_form(struct api_request *r, const struct accept *accept)
{
    if (accept->as != AS_METADATA || !str_eq(accept->kind, S("PartialObjectMetadataList")))
        return false;
    bool is_custom = r->route.kind->flags & KIND_CUSTOM;
    struct status_args args = {
        .code = ERR_NOT_ACCEPTABLE,
        .message =
            str_fmt(r->arena, "you requested PartialObjectMetadataList, but the requested object is not a list (%.*s)",
                    STR(view_go_type(r->arena, r->route.kind, false))),
    };
    struct json status =
        is_custom ? status_unknown(r->arena, S("content is not a list")) : status_build(r->arena, &args);
    api_refuse(r, &status);
    return true;
}

static void look_up(struct api_request *r, void *ctx);

static void look_up_in_task(struct task_step *step)
{
    struct get *g = (struct get *)((char *)step - offsetof(struct get, step));
    g->is_in_task = true;
    look_up(g->r, g);
}

static void look_up(struct api_request *r, void *ctx)
{
    const struct kind *kind = r->route.kind;
    str namespace = kind->namespaced ? r->route.namespace : (str){0};
    struct store_item item;
    struct err err;
    int code = store_get(r->api->store, api_table(r->api, kind), namespace, r->route.name, &item, &err);
    if (code == 0) {
        struct get *g = ctx;
        if (read_refuse_list_form(r, &g->accept))
            return;
        if (g->is_in_task || !is_costly(g, &item))
            answer(r, g, &item);
        else
            task_run(r, &g->step);
    } else if (code == ERR_NOT_FOUND) {
        struct status_subject about = {
            .group = str_of(kind->group), .kind = str_of(kind->plural), .name = r->route.name};
        struct json status = status_not_found(r->arena, about);
        api_refuse(r, &status);
    } else {
        api_refuse_err(r, &err);
    }
}

/* export was dropped in 1.21; ignoring it would give more than was asked for. */
static bool refuse_export(struct api_request *r)
{
    if (r->route.subresource.n || !query_flag(&r->query, S("export")))
        return false;
    struct json status =
        status_bad_request(r->arena, S("the export parameter, deprecated since v1.14, is no longer supported"));
    api_refuse(r, &status);
    return true;
}

void read_get(struct api_request *r)
{
    struct get *g = ARENA_NEW(r->arena, struct get);
    g->r = r;
    g->step.fn = look_up_in_task;
    rev wanted;
    str why;
    if (!negotiate(r, ACCEPT_TABLE | ACCEPT_METADATA | ACCEPT_YAML, &g->accept) ||
        !view_of_request(r, &g->accept, &g->view) || refuse_export(r))
        return;
    if (!read_revision_parse(r->arena, query_get(&r->query, S("resourceVersion")), &wanted, &why)) {
        read_revision_refuse(r, why, false);
        return;
    }
    read_revision_await(r, wanted, look_up, g);
}
