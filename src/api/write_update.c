/* SPDX-License-Identifier: Apache-2.0 */
/* PUT: the whole object, or what a subresource shows of it. */
#include "api/write_parts.h"

#include "object/object.h"

/* A uid in the body says which object is meant: not another one of the same name. */
static bool is_meant(struct write *w)
{
    static const struct json nobody;
    const struct json *current = w->exists ? &w->current : &nobody;
    return meta_check_uid(&w->work, w->kind, &w->next, current, &w->status) == 0;
}

static enum write_step build(struct write *w)
{
    struct err err = {0};
    if (!write_take_body(w))
        return WRITE_REFUSED;
    write_dedup_owners(w);
    int rc = write_load(w, w->name, &err);
    if (rc < 0 && rc != ERR_NOT_FOUND)
        return write_failed(w, &err);
    bool creates = !w->exists && w->subresource.n == 0 && (w->kind->flags & KIND_CREATE_ON_PUT);
    if (!is_meant(w))
        return WRITE_REFUSED;
    if (!w->exists && !creates)
        return write_refused(w, status_not_found(&w->work, write_subject(w, w->name)));
    write_track(w);
    return creates ? write_next_create(w) : write_next_update(w);
}

void write_update(struct api_request *r)
{
    struct write *w;
    if (!write_begin(r, build, &w))
        return;
    if (write_options_parse(w, WRITE_UPDATE) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}
