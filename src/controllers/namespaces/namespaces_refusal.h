/* SPDX-License-Identifier: Apache-2.0 */
/* What: which refusals of a write into a namespace need no retry: what made them will be told by a watch.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "client/client.h"

/* The namespace goes away or is gone, or somebody else was quicker. Of the cause NamespaceTerminating the text is all that an err has;
 * should a server say it differently, the write is retried until the watch tells of the deletion. A conflict is retried, too: it
 * costs little, and the watch need not have anything to tell. */
static inline bool refusal_is_final(int code, const struct err *err)
{
    bool is_terminating =
        code == ERR_FORBIDDEN && str_has_suffix(str_of(err->msg), S("because it is being terminated"));
    return is_terminating || client_is_gone(err) || code == ERR_ALREADY_EXISTS;
}
