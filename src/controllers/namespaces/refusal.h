/* SPDX-License-Identifier: Apache-2.0 */
/* What: which refusals of a write into a namespace need no retry: what made them will be told by a watch.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* The namespace goes away or is gone, or somebody else was quicker. Of the cause NamespaceTerminating, and of what was not found, the
 * text is all that an err has; should a server say it differently, the write is retried until the watch tells of the deletion. A
 * conflict is retried, too: it costs little, and the watch need not have anything to tell. */
static inline bool refusal_is_final(int code, const struct err *err)
{
    str text = str_of(err->msg);
    bool is_terminating = code == ERR_FORBIDDEN && str_has_suffix(text, S("because it is being terminated"));
    bool is_gone = code == ERR_NOT_FOUND && str_has_suffix(text, S("\" not found"));
    return is_terminating || is_gone || code == ERR_ALREADY_EXISTS;
}
