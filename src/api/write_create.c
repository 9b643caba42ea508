/* SPDX-License-Identifier: Apache-2.0 */
#include "api/write_parts.h"

#include "object/object.h"

/* In place: what only the server can know of an object is not the client's, not even for the record of managers. */
static void wipe(struct write *w)
{
    static const char *const fields[] = {"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp",
                                         "selfLink", "uid"};
    struct json *meta = meta_of(&w->work, &w->next);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        json_remove(meta, str_of(fields[i]));
}

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
    wipe(w);
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
