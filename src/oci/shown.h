/* SPDX-License-Identifier: Apache-2.0 */
/* What: text from outside, as error messages quote it: quoted, escaped, and cut when it is long.
 * Owns: nothing; the result lives in the arena given.
 * Threads: pure function.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

enum { OCI_SHOWN_MAX = 256 }; /* bytes */

static inline str oci_shown(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    buf_add_quoted(&b, str_upto(text, OCI_SHOWN_MAX));
    if (text.n > OCI_SHOWN_MAX)
        buf_add_str(&b, S("…"));
    return buf_str(&b);
}
