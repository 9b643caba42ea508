/* SPDX-License-Identifier: Apache-2.0 */
/* What: where the lines of a content come from. Private to content*.c.
 * Owns: see content.h.
 * Threads: next belongs to one thread; read_at may be called by any.
 * Errors: ERR_IO. */
#pragma once

#include "package/content.h"

struct content_source {
    /* 1: there is one, 0: that was all. */
    int (*next)(struct content *c, struct arena *a, str *ret, uint64_t *ret_offset, struct err *err);
    int (*read_at)(struct content *c, struct arena *a, uint64_t offset, str *ret, struct err *err);
    void (*close)(struct content *c);
};

/* The first member of what each source has. */
struct content {
    const struct content_source *source;
};
