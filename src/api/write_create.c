/* SPDX-License-Identifier: Apache-2.0 */
#include "api/write_parts.h"

#include "object/object.h"

/* In place: what only the server can know of an object is not the client's, not even for the record of managers. */
static void wipe(struct write *w)
{
    static const char *const fields[] = {"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp",
                                         "selfLink", "uid"};
    struct json *meta = meta_of(&w->work, &w->next);
    for (size_t i = 0; i < COUNT(fields); i++)
        json_remove(meta, str_of(fields[i]));
}

static enum write_step build(struct write *w)
{
    if (!write_take_body(w))
        return WRITE_REFUSED;
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
