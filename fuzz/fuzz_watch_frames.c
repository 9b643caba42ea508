/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of a watch. However the bytes are cut into pieces, the same events come out of it, and the same end. What decodes has
 * what an event needs; an item made of it says the same as its tree, and its tree is the object.
 * The first byte says into how many bytes the stream is cut the second time.
 */
#include "control/frames.h"
#include "control/item.h"
#include "object/object.h"

#include "same.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 4096 };

/* All events of a stream, each with its length in front; and how it ended. */
struct outcome {
    struct buf events;
    int code;
    bool is_torn;
};

static void check_item(struct arena *a, const struct json *object)
{
    static const str labels[] = {S_INIT("app"), S_INIT("")};
    struct item *item =
        item_new_shaped(object, &(struct item_shape){.labels = labels, .n_labels = 2, .by_owner = true});
    if (item == NULL)
        return; /* a name of more than 64 KiB */
    assert(str_eq(item_name(item), object_name(object)) && str_eq(item_namespace(item), object_namespace(object)));
    assert(str_eq(item_uid(item), object_uid(object)) && str_eq(item_version(item), object_rv(object)));
    struct json tree = item_tree(a, item), whole = json_dup(a, object);
    json_remove(json_get_mut(&whole, S("metadata")), S("managedFields"));
    assert(same_as_printed(&whole, &tree));
    item_unref(item);
}

static void check_event(str bytes)
{
    struct arena a ARENA_SCOPE = {0};
    struct frame frame;
    struct err err = {0};
    if (frame_decode(&a, bytes, &frame, &err) < 0) {
        assert(err.code == ERR_BAD_REQUEST || err.code == ERR_TOO_LARGE);
        return;
    }
    assert(json_is_obj(&frame.object));
    if (frame.type == FRAME_ERROR) {
        (void)frame_is_revision_lost(&frame.object);
        return;
    }
    assert(frame.version.n > 0);
    assert(!frame.is_initial_end || frame.type == FRAME_BOOKMARK);
    if (frame.type != FRAME_BOOKMARK)
        check_item(&a, &frame.object);
}

static struct outcome run(str stream, size_t step, bool checks)
{
    struct frames f = {.limit = LIMIT};
    struct outcome o = {0};
    struct err err;
    for (size_t at = 0; at < stream.n && o.code >= 0; at += step) {
        str piece = str_upto(str_from(stream, at), step), event;
        while ((o.code = frames_next(&f, &piece, &event, &err)) > 0) {
            assert(event.n > 1 && event.n <= LIMIT && event.p[0] == '{');
            buf_add(&o.events, &event.n, sizeof event.n);
            buf_add_str(&o.events, event);
            if (checks)
                check_event(event);
        }
        assert(o.code < 0 || piece.n == 0);
    }
    o.is_torn = frames_is_torn(&f);
    frames_done(&f);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    str stream = {(const char *)data + 1, size - 1};
    struct outcome whole = run(stream, stream.n ? stream.n : 1, true), parts = run(stream, (size_t)data[0] + 1, false);
    assert(str_eq(buf_str(&whole.events), buf_str(&parts.events)));
    assert(whole.code == parts.code && whole.is_torn == parts.is_torn);
    buf_done(&whole.events);
    buf_done(&parts.events);
    return 0;
}
