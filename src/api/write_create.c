/* SPDX-License-Identifier: Apache-2.0 */
#include "api/write_parts.h"

#include "object/object.h"

/* In place: what every write of a body does to it before others look: its place, its owners, its managers. */
static enum write_step build(struct write *w)
{
    struct decoded body;
    struct err err = {0};
    struct meta_place place = write_place(w);
    if (decode_body(w->r, &w->work, w->kind, &body, &w->status) < 0)
        return WRITE_REFUSED;
    write_warn_all(w, &body.notes);
    w->next = body.object;
    if (meta_place(&w->work, &place, &w->next, &err) < 0)
        return write_failed(w, &err);
    write_dedup_owners(w);
    write_track(w);
    return write_next_create(w);
}

void write_create(struct api_request *r)
{
    struct write *w;
    if (!write_begin(r, build, &w))
        return;
    if (write_options_parse(w, WRITE_CREATE) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}
