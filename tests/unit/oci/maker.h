/* SPDX-License-Identifier: Apache-2.0 */
/* What: archives, compressed layers and images for tests, honest and hostile; and a source of images in memory.
 * Owns: a shop owns what was put into it.
 * Threads: one.
 * Errors: fail the test. */
#pragma once

#include "base/map.h"
#include "oci/image.h"
#include "oci/source.h"

/* ---- Archives. ---- */

struct made {
    str path, link;
    char type;     /* '0' when not set */
    uint64_t size; /* what the header says */
    bool is_old;   /* no magic: before ustar */
};

/* A header of 512 bytes; path and link are cut at 100. */
void make_header(struct buf *out, const struct made *what);
/* The sum of the header that begins at position at, made right again after a change. */
void make_sum(struct buf *out, size_t at);
/* A header with its data, padded. */
void make_entry(struct buf *out, const char *path, char type, str data);
void make_file(struct buf *out, const char *path, const char *text);
void make_link(struct buf *out, const char *path, char type, const char *target);
/* An extended header; text holds its records, or a long name. */
void make_meta(struct buf *out, char type, str text);
/* A record of a pax header: "12 key=value\n". */
void make_record(struct buf *out, const char *key, str value);
void make_end(struct buf *out);
void make_zeros(struct buf *out, size_t n);

str make_gzip(struct arena *a, str bytes);
str make_zstd(struct arena *a, str bytes);
/* n zeros, compressed piece by piece: n may be larger than memory. */
str make_gzip_bomb(struct arena *a, uint64_t n);
str make_zstd_bomb(struct arena *a, uint64_t n);

/* ---- A source in memory. ---- */

struct shop {
    struct oci_source source; /* first */
    struct arena arena;
    struct map blobs; /* struct ware by digest */
    struct oci_document top;
    size_t piece;  /* blobs are given in pieces of so many bytes; 0: whole */
    size_t served; /* bytes of blobs */
};

int shop_set_up(void **state);
int shop_tear_down(void **state);
/* Puts a blob or document, and returns its descriptor. */
struct oci_descriptor shop_put(struct shop *s, const char *media_type, str bytes);
/* Under the digest of something else. */
void shop_put_as(struct shop *s, const struct oci_digest *digest, str bytes);
/* What every reference stands for from now on. */
void shop_set_top(struct shop *s, const char *media_type, str bytes);
/* {"mediaType":…,"digest":…,"size":…} and, if more is not empty, a comma and more. */
void shop_describe(struct shop *s, struct buf *out, const struct oci_descriptor *d, const char *more);

/* Makes an image of layers (archives, without their end) and the top of it. */
struct shop_layer {
    str tar;
    const char *media_type; /* NULL: OCI gzip, and compressed so */
    const char *more;       /* JSON for its descriptor */
};
void shop_put_image(struct shop *s, const struct shop_layer *layers, size_t n, const char *labels);

/* Opens and reads what is wanted: .registry and package.yaml. */
int shop_read(struct shop *s, struct arena *a, const struct oci_limits *limits, struct oci_files *ret, struct err *err);
