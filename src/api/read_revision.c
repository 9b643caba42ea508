/* SPDX-License-Identifier: Apache-2.0 */
#include "api/read.h"

#include "api/watch.h"
#include "object/field_error.h"
#include "object/status.h"

#include <ctype.h>

bool read_revision_parse(struct arena *a, str text, rev *ret, str *ret_why)
{
    *ret = 0;
    if (text.n == 0 || str_to_uint64(text, ret))
        return true;
    bool is_number = true;
    for (size_t i = 0; i < text.n; i++)
        is_number = is_number && isdigit((unsigned char)text.p[i]);
    str quoted = field_quote(a, text);
    *ret_why = str_fmt(a, "resourceVersion: Invalid value: %.*s: strconv.ParseUint: parsing %.*s: %s", STR(quoted),
                       STR(quoted), is_number ? "value out of range" : "invalid syntax");
    return false;
}

void read_revision_refuse(struct api_request *r, str why, bool is_exact)
{
    bool is_cached = strcmp(r->route.kind->plural, "events") != 0 || (r->route.kind->flags & KIND_CUSTOM);
    struct json status =
        is_cached && !is_exact
            ? status_unknown(r->arena, why)
            : status_bad_request(r->arena, str_fmt(r->arena, "invalid resource version: %.*s", STR(why)));
    api_refuse(r, &status);
}

/* ---- Waiting. ---- */

struct await {
    struct watch_await hub;
    struct api_request *r;
    rev wanted;
    void (*then)(struct api_request *r, void *ctx);
    void *ctx;
};

static void settle(void *ctx, bool is_there)
{
    struct await *w = ctx;
    struct api_request *r = w->r;
    if (is_there) {
        w->then(r, w->ctx);
        return;
    }
    struct json status = status_version_too_large(r->arena, w->wanted, store_revision(r->api->store));
    api_refuse(r, &status);
}

void read_revision_await(struct api_request *r, rev wanted, void (*then)(struct api_request *r, void *ctx), void *ctx)
{
    if (wanted <= store_revision(r->api->store)) {
        then(r, ctx);
        return;
    }
    /* The exchange stays until it is answered, and with it what lies in its arena. */
    struct await *w = ARENA_NEW(r->arena, struct await);
    *w = (struct await){.r = r, .wanted = wanted, .then = then, .ctx = ctx};
    watch_await(r->api->watches, &w->hub, wanted, settle, w);
}
