/* SPDX-License-Identifier: Apache-2.0 */
/* What: the pieces a tar reader is made of: a header block, the records of an extended header, clean paths.
 * Owns: a tar_extra owns its texts (heap).
 * Threads: pure functions.
 * Errors: ERR_INVALID for what is broken, ERR_TOO_LARGE past a limit. */
#pragma once

#include "oci/tar.h"

enum { TAR_BLOCK = 512 };

/* A header block as it is, in the byte order and with the names of POSIX. */
struct tar_header {
    str name, prefix, link; /* views of the block */
    uint32_t mode;
    uint64_t size;
    char type; /* the type flag */
};

/* What extended headers say of the entry that follows them. */
struct tar_extra {
    bool has_path, has_link, has_size;
    struct buf path, link;
    uint64_t size;
};

/* Appends path without empty and "." components; ERR_INVALID for ".." and NUL bytes, ERR_TOO_LARGE past TAR_PATH_MAX. */
int tar_path_clean(str raw, struct buf *ret, struct err *err);
