/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server may answer; documents are parted by empty lines. The first byte says what they are:
 * D discovery: /api, /apis, then one per version that remains to be asked for; L the pages of a list; A an answer whose first
 * line is its status.
 * Whatever is read of discovery is sorted, without doubles, and found again by its kind. Items of lists always say what they
 * are. An answer is either an object or an error whose text has something to say.
 */
#include "client/client_discovery_read.h"
#include "client/client_internal.h"
#include "object/object.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool next_part(str *rest, str *ret)
{
    if (rest->n == 0)
        return false;
    ptrdiff_t at = str_find(*rest, S("\n\n"));
    *ret = at < 0 ? *rest : str_upto(*rest, (size_t)at);
    *rest = at < 0 ? (str){0} : str_from(*rest, (size_t)at + 2);
    return true;
}

/* ---- Discovery. ---- */

static bool next_doc(struct arena *a, str *rest, struct json *ret)
{
    str part;
    return next_part(rest, &part) && json_decode(a, part, NULL, NULL, ret, NULL) == 0;
}

static void check_found(const struct client_discovery *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct client_resource *r = &d->p[i].resource;
        assert(r->plural.n && r->kind.n && r->version.n);
        const struct client_discovered *found = client_discovery_find(d, r->group, r->kind);
        assert(found && str_eq(found->resource.group, r->group) && str_eq(found->resource.kind, r->kind));
        if (i == 0)
            continue;
        const struct client_resource *before = &d->p[i - 1].resource;
        int order = str_cmp(before->group, r->group);
        assert(order < 0 || (order == 0 && str_cmp(before->plural, r->plural) < 0));
    }
    for (size_t i = 1; i < d->n_failed; i++)
        assert(str_cmp(d->failed[i - 1], d->failed[i]) <= 0);
    assert((d->n_failed > 0) == (d->text.n > 0));
}

static void check_discovery(struct arena *a, str rest)
{
    struct discovery_reader r DISCOVERY_READER_SCOPE = {.arena = a};
    struct client_discovery d;
    struct json doc;
    for (int i = 0; i < 2 && next_doc(a, &rest, &doc); i++)
        discovery_read_groups(&r, &doc);
    for (size_t i = 0; i < r.todo.n && next_doc(a, &rest, &doc); i++)
        discovery_read_version(&r, &r.todo.p[i], &doc);
    discovery_finish(&r, &d);
    check_found(&d);
}

/* ---- Lists. ---- */

static int check_item(void *ctx, const struct json *item, struct err *err)
{
    (void)ctx;
    (void)err;
    assert(object_kind(item).n && object_api_version(item).n);
    return 0;
}

static void check_list(struct arena *a, str rest)
{
    static const struct client_resource things = CLIENT_RESOURCE("example.com", "v1", "things", "Thing", true);
    static const struct client_taker taker = {.item = check_item};
    const struct client_ref ref = {.resource = &things};
    const struct client_list_options options = {0};
    struct client_listing l = {.arena = a, .kept = a, .ref = &ref, .options = &options, .taker = &taker};
    str part;
    while (next_part(&rest, &part)) {
        struct client_reply reply = {.status = 200, .body = {.arena = a}};
        struct err err = {0};
        buf_add_str(&reply.body, part);
        int code = client_listing_take(&l, &reply, &err);
        assert(code == (int)err.code);
        if (code < 0)
            return;
    }
}

/* ---- Answers. ---- */

static void check_answer(struct arena *a, str rest)
{
    str line, body;
    int64_t status;
    str_cut(rest, '\n', &line, &body);
    if (!str_to_int64(line, &status) || status < 100 || status > 999)
        return;
    struct client_reply reply = {.status = (int)status, .body = {.arena = a}};
    struct json tree = json_null();
    struct err err = {0};
    buf_add_str(&reply.body, body);
    int code = client_reply_read(a, &reply, &tree, &err);
    assert(code == (int)err.code && code <= 0);
    assert((code == 0) == json_is_obj(&tree));
    assert(code == 0 || err.msg[0]);
    assert(code < 0 || (status >= 200 && status <= 299));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    str input = {(const char *)data, size}, rest = str_from(input, 1);
    if (size == 0)
        return 0;
    if (data[0] == 'D')
        check_discovery(&a, rest);
    else if (data[0] == 'L')
        check_list(&a, rest);
    else if (data[0] == 'A')
        check_answer(&a, rest);
    return 0;
}
