/* SPDX-License-Identifier: Apache-2.0 */
/* What: the table of system calls that reeve-fetch may make, as a filter for the kernel. Part of the sandbox.
 * Owns: nothing.
 * Threads: one.
 * Errors: ERR_INTERNAL when the kernel does not take it, or is of an architecture that has no table. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct syscalls_use {
    bool network; /* sockets of IPv4 and IPv6 */
    bool write;   /* files are made, renamed, removed */
};

/* For good. Needs PR_SET_NO_NEW_PRIVS. */
int syscalls_restrict(const struct syscalls_use *use, struct err *err);
