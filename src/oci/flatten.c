/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/flatten.h"

#include "base/map.h"
#include "base/vec.h"
#include "oci/shown.h"
#include "oci/tar_parts.h"

#include <assert.h>
#include <stdlib.h>

enum {
    DEPTH_MAX = 64,     /* components of a wanted path */
    NODES_PER_FILE = 4, /* directories come on top of the files */
};

#define WHITEOUT S(".wh.")
#define WHITEOUT_META S(".wh..wh.")
#define OPAQUE S(".wh..wh..opq")

struct node {
    str path;
    struct node *parent; /* NULL: the root */
    uint32_t floor;      /* see the header */
    uint32_t layer;      /* of the file */
    bool is_file, is_kept;
    char *data;
    size_t n;
};

struct oci_flatten {
    struct arena *arena;
    const struct oci_wants *wants;
    const struct oci_limits *limits;
    uint32_t layer;
    uint64_t entries, files;
    struct node root;
    struct map by_path; /* struct node */
    VEC(struct node *) nodes;
    struct node *filling; /* the file whose data comes */
    size_t filled;
};

struct oci_flatten *oci_flatten_new(struct arena *a, const struct oci_wants *wants, const struct oci_limits *limits)
{
    struct oci_flatten *f = xcalloc(1, sizeof(*f));
    f->arena = a;
    f->wants = wants;
    f->limits = limits;
    return f;
}

void oci_flatten_free(struct oci_flatten *f)
{
    if (f == NULL)
        return;
    map_done(&f->by_path);
    free(f);
}

void oci_flatten_next_layer(struct oci_flatten *f)
{
    f->layer++;
}

/* ---- Paths. ---- */

/* At or below base. */
static bool is_within(str path, str base)
{
    return str_has_prefix(path, base) && (path.n == base.n || path.p[base.n] == '/');
}

static bool is_wanted(const struct oci_flatten *f, str path)
{
    for (size_t i = 0; i < f->wants->n; i++)
        if (is_within(path, f->wants->paths[i]))
            return true;
    return false;
}

/* Does the way to something wanted lead through it? */
static bool is_on_the_way(const struct oci_flatten *f, str path)
{
    for (size_t i = 0; i < f->wants->n; i++)
        if (is_within(f->wants->paths[i], path))
            return true;
    return false;
}

static void split_last(str path, str *dir, str *name)
{
    size_t n = path.n;
    while (n && path.p[n - 1] != '/')
        n--;
    *name = str_from(path, n);
    *dir = str_upto(path, n ? n - 1 : 0);
}

static int refuse(str path, enum err_code code, const char *why, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    return err_set(err, code, "%.*s %s", STR(oci_shown(&scratch, path)), why);
}

/* ---- Nodes. ---- */

static struct node *find(struct oci_flatten *f, str path)
{
    return path.n ? map_get(&f->by_path, path) : &f->root;
}

/* Is its file hidden, by a floor at or above it? */
static bool is_hidden(const struct node *node)
{
    for (const struct node *n = node; n; n = n->parent)
        if (node->layer < n->floor)
            return true;
    return false;
}

static int add_node(struct oci_flatten *f, struct node *parent, str path, struct node **ret, struct err *err)
{
    if (f->nodes.n >= NODES_PER_FILE * f->limits->files)
        return err_set(err, ERR_TOO_LARGE, "the package has too many directories");
    if (parent->is_file && !is_hidden(parent))
        return refuse(path, ERR_INVALID, "is below a file", err);
    struct node *node = ARENA_NEW(f->arena, struct node);
    node->path = str_dup(f->arena, path);
    node->parent = parent;
    map_set(&f->by_path, node->path, node);
    *vec_push(f->arena, &f->nodes) = node;
    *ret = node;
    return 0;
}

/* The node of a path, made with all directories above it. */
static int reach(struct oci_flatten *f, str path, struct node **ret, struct err *err)
{
    struct node *node = &f->root;
    size_t depth = 0;
    for (size_t at = 0; at < path.n;) {
        ptrdiff_t slash = str_find_char(str_from(path, at), '/');
        size_t end = slash < 0 ? path.n : at + (size_t)slash;
        struct node *next = find(f, str_upto(path, end));
        int code = 0;
        if (++depth > DEPTH_MAX)
            return refuse(path, ERR_INVALID, "is too deep", err);
        if (next == NULL && (code = add_node(f, node, str_upto(path, end), &next, err)) < 0)
            return code;
        assert(next);
        if (end < path.n && next->is_file && !is_hidden(next))
            return refuse(path, ERR_INVALID, "is below a file", err);
        node = next;
        at = end + 1;
    }
    *ret = node;
    return 0;
}

/* ---- Entries. ---- */

static int hide(struct oci_flatten *f, str dir, str name, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct node *node;
    if (str_eq(name, OPAQUE)) {
        node = find(f, dir);
    } else if (str_has_prefix(name, WHITEOUT_META)) {
        return 0; /* notes of old storage drivers to themselves */
    } else {
        str hidden = str_from(name, WHITEOUT.n);
        if (hidden.n == 0 || str_eq(hidden, S(".")) || str_eq(hidden, S("..")))
            return refuse(name, ERR_INVALID, "hides nothing that could be there", err);
        node = find(f, dir.n ? str_fmt(&scratch, "%.*s/%.*s", STR(dir), STR(hidden)) : hidden);
    }
    if (node)
        node->floor = f->layer;
    return 0;
}

static int put_directory(struct oci_flatten *f, str path, struct err *err)
{
    struct node *node = NULL;
    int code = reach(f, path, &node, err);
    if (code < 0)
        return code;
    assert(node);
    node->is_file = false;
    return 0;
}

static int put_file(struct oci_flatten *f, const struct tar_entry *e, struct err *err)
{
    struct node *node = NULL;
    bool is_kept = f->wants->keeps == NULL || f->wants->keeps(f->wants->ctx, e->path);
    if (++f->files > f->limits->files)
        return err_set(err, ERR_TOO_LARGE, "the package has more than %llu files",
                       (unsigned long long)f->limits->files);
    if (is_kept && e->size > f->limits->file_size)
        return refuse(e->path, ERR_TOO_LARGE, "is larger than a file of a package may be", err);
    int code = reach(f, e->path, &node, err);
    if (code < 0)
        return code;
    assert(node);
    node->is_file = true;
    node->is_kept = is_kept;
    node->layer = node->floor = f->layer; /* what was below it as a directory is gone */
    node->n = is_kept ? (size_t)e->size : 0;
    node->data = node->n ? arena_alloc(f->arena, node->n) : NULL;
    f->filling = node->n ? node : NULL;
    return 0;
}

static int put_wanted(struct oci_flatten *f, const struct tar_entry *e, struct err *err)
{
    if (e->is_absolute)
        return refuse(e->raw_path, ERR_INVALID, "is an absolute path", err);
    if (!str_is_utf8(e->path))
        return refuse(e->path, ERR_INVALID, "is not UTF-8", err);
    switch (e->type) {
    case TAR_FILE:
        return put_file(f, e, err);
    case TAR_DIRECTORY:
        return put_directory(f, e->path, err);
    case TAR_SYMLINK:
    case TAR_HARD_LINK:
        return refuse(e->path, ERR_INVALID, "is a link: a package has none", err);
    case TAR_SPECIAL:
        return refuse(e->path, ERR_INVALID, "is a device or a pipe: a package has none", err);
    }
    abort();
}

static int on_entry(void *ctx, const struct tar_entry *e, struct err *err)
{
    struct oci_flatten *f = ctx;
    str dir, name;
    f->filling = NULL;
    f->filled = 0;
    if (++f->entries > f->limits->entries)
        return err_set(err, ERR_TOO_LARGE, "the image has more than %llu entries",
                       (unsigned long long)f->limits->entries);
    split_last(e->path, &dir, &name);
    if (str_has_prefix(name, WHITEOUT))
        return hide(f, dir, name, err);
    if (is_wanted(f, e->path))
        return put_wanted(f, e, err);
    if (e->type != TAR_DIRECTORY && is_on_the_way(f, e->path))
        return refuse(e->path, ERR_INVALID, "is not a directory, though the package should be in it", err);
    return 0;
}

static int on_data(void *ctx, str piece, struct err *err)
{
    struct oci_flatten *f = ctx;
    (void)err; /* the reader gives no more than the entry's size */
    if (f->filling) {
        memcpy(f->filling->data + f->filled, piece.p, piece.n);
        f->filled += piece.n;
    }
    return 0;
}

const struct tar_reader_ops oci_flatten_ops = {.on_entry = on_entry, .on_data = on_data};

/* ---- The end. ---- */

static int by_path(const void *a, const void *b)
{
    return str_cmp(((const struct oci_file *)a)->path, ((const struct oci_file *)b)->path);
}

struct oci_files oci_flatten_files(struct oci_flatten *f)
{
    struct oci_file *files = ARENA_ARRAY(f->arena, struct oci_file, f->nodes.n);
    size_t n = 0;
    vec_each(&f->nodes, at)
    {
        const struct node *node = *at;
        if (node->is_file && node->is_kept && !is_hidden(node))
            files[n++] = (struct oci_file){node->path, {node->data, node->n}};
    }
    if (n)
        qsort(files, n, sizeof(*files), by_path);
    return (struct oci_files){files, n};
}
