/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives. Seeds are text (archive.h). What is read must not depend on how the bytes are cut; paths are clean; an entry has
 * exactly the data it says, unless the archive is refused.
 */
#include "archive.h"
#include "oci/tar.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
    struct buf text;
    uint64_t left; /* bytes of the entry to come */
};

static void check_path(str path)
{
    str component;
    assert(path.n <= TAR_PATH_MAX && str_find_char(path, '\0') < 0);
    for (bool is_more = path.n > 0; is_more;) {
        is_more = str_cut(path, '/', &component, &path);
        assert(component.n && !str_eq(component, S(".")) && !str_eq(component, S("..")));
    }
}

static int on_entry(void *ctx, const struct tar_entry *e, struct err *err)
{
    struct heard *h = ctx;
    (void)err;
    assert(h->left == 0);
    check_path(e->path);
    assert(e->path.n || e->type == TAR_DIRECTORY);
    assert(e->type == TAR_FILE || e->size == 0);
    h->left = e->size;
    buf_fmt(&h->text, "\n%d %u %llu %llu ", e->type, e->mode, (unsigned long long)e->size,
            (unsigned long long)e->offset);
    buf_add_str(&h->text, e->raw_path);
    buf_add_str(&h->text, e->link);
    return 0;
}

static int on_data(void *ctx, str piece, struct err *err)
{
    struct heard *h = ctx;
    (void)err;
    assert(piece.n && piece.n <= h->left);
    h->left -= piece.n;
    buf_add_str(&h->text, piece);
    return 0;
}

static const struct tar_reader_ops ops = {on_entry, on_data};

static int read_in(struct arena *a, str archive, size_t piece, struct heard *ret, struct err *err)
{
    struct tar_reader *r = tar_reader_new(&ops, ret, 1000);
    int code = 0;
    *ret = (struct heard){.text = {.arena = a}};
    while (code == 0 && archive.n) {
        code = tar_feed(r, str_upto(archive, piece), err);
        archive = str_from(archive, piece);
    }
    if (code == 0)
        code = tar_finish(r, err);
    tar_reader_free(r);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct heard whole, cut;
    struct err err = {0}, other = {0};
    str in = {(const char *)data, size};
    if (str_has_prefix(in, S("archive\n")))
        in = archive_of(&a, str_from(in, 8));
    int code = read_in(&a, in, in.n ? in.n : 1, &whole, &err);
    int again = read_in(&a, in, 1 + size % 700, &cut, &other);
    assert(code == again && str_eq(str_of(err.msg), str_of(other.msg)));
    assert(code < 0 || whole.left == 0);
    assert(code == 0 || ((code == ERR_INVALID || code == ERR_TOO_LARGE) && err.msg[0] && str_is_utf8(str_of(err.msg))));
    if (code == 0)
        assert(str_eq(buf_str(&whole.text), buf_str(&cut.text)));
    return 0;
}
