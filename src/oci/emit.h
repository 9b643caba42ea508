/* SPDX-License-Identifier: Apache-2.0 */
/* What: the lines that reeve-fetch prints (oci/fetch.h says what they are).
 * Owns: what was not written yet.
 * Threads: one.
 * Errors: ERR_INVALID, with the path, for files that are not what they should be; ERR_TOO_LARGE; ERR_IO when nobody reads. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "oci/fetch_protocol.h"
#include "oci/image.h"
#include "oci/source.h"
#include "json/yaml.h"

struct emit {
    int fd;
    struct buf pending;
    size_t files; /* so far */
};

/* What the lines are of. */
struct emit_image {
    const struct oci_digest *digest;
    str reference;
    const char *from; /* "store", "registry", "directory" */
    uint64_t size;    /* bytes of config and layers; 0: nobody has counted them */
};

/* Written at once: somebody watches. */
int emit_progress(struct emit *p, const struct oci_progress *progress, struct err *err);
int emit_manifest(struct emit *p, const struct emit_image *image, struct err *err);
/* A line for each document of it. */
int emit_yaml(struct emit *p, str path, str text, const struct yaml_each_limits *limits, struct err *err);
/* A line for each document of one of the files that a stream is made of; they say which. *index counts those of the stream. */
int emit_yaml_part(struct emit *p, str path, const struct oci_file *part, size_t *index,
                   const struct yaml_each_limits *limits, struct err *err);
int emit_text(struct emit *p, str path, str text, struct err *err);
int emit_base64(struct emit *p, str path, str bytes, struct err *err);
/* The last line, all of them written. is_known: the reader has said that it has the rest. */
int emit_end(struct emit *p, bool is_known, struct err *err);
/* The last line, and the only one that counts. */
int emit_error(struct emit *p, const struct err *what);
