/* SPDX-License-Identifier: Apache-2.0 */
/* DELETE of one object: gone at once, or marked and held back by its finalizers. */
#include "api/write_parts.h"

#include "object/object.h"

static bool admit(struct write *w)
{
    struct admission_write admission = {
        .arena = &w->work,
        .operation = ADMISSION_DELETE,
        .kind = w->kind,
        .namespace = w->kind->namespaced ? w->namespace : (str){0},
        .name = w->name,
        .subresource = w->subresource,
        .who = &w->r->who,
        .current = &w->current,
        .is_dry_run = w->options.is_dry_run,
    };
    if (admission_mutate(&w->api->facts, &admission, &w->admission) < 0 ||
        admission_validate(&w->api->facts, &admission, &w->admission) < 0) {
        w->status = w->admission.status;
        return false;
    }
    return true;
}

/* The object is gone at once: most kinds answer with a Status then. */
static enum write_step remove_now(struct write *w)
{
    w->has_answer = true;
    if (w->kind->flags & KIND_DELETE_OBJECT)
        w->answer = w->next;
    else
        w->answer = status_deleted(&w->work, write_subject(w, w->name), object_uid(&w->next));
    return WRITE_REMOVE;
}

/* Who asked in the old way not to orphan gets 202 while finalizers hold the object. */
static int code_of(const struct write *w)
{
    const struct json *orphan = json_get(w->delete_options, S("orphanDependents"));
    return !json_is_null(orphan) && !json_true(orphan) ? 202 : 200;
}

enum write_step write_next_delete(struct write *w)
{
    const struct clock *clock = &w->api->options.clock;
    if (meta_check_preconditions(&w->work, w->kind, &w->current, w->delete_options, &w->status) < 0 || !admit(w))
        return WRITE_REFUSED;
    w->next = json_dup(&w->work, &w->current);
    w->code = 200;
    w->is_cleanup = true;
    if (write_is_crd(w->kind) && write_crd_mark(w))
        return WRITE_STORE;
    enum meta_deletion deletion = meta_prepare_delete(&w->work, w->kind, &w->next, w->delete_options, clock);
    if (deletion == META_DELETE_NOW)
        return remove_now(w);
    w->code = code_of(w);
    return deletion == META_DELETE_MARKED ? WRITE_STORE : WRITE_SAME;
}

static enum write_step build(struct write *w)
{
    struct err err = {0};
    int rc = write_load(w, w->name, &err);
    if (rc == ERR_NOT_FOUND)
        return write_refused(w, status_not_found(&w->work, write_subject(w, w->name)));
    return rc < 0 ? write_failed(w, &err) : write_next_delete(w);
}

void write_delete(struct api_request *r)
{
    struct write *w;
    if (!write_begin(r, build, &w))
        return;
    if (write_delete_options_parse(w) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}
