/* SPDX-License-Identifier: Apache-2.0 */
/* What: takes from this process, for good, what it does not need while it handles foreign bytes.
 * Owns: nothing; there is no way back.
 * Threads: one, and there must be no other.
 * Errors: ERR_INTERNAL when a wall cannot be put up: then nothing foreign may be touched.
 *
 *   limits     memory, time, descriptors, size of files; no core, no children
 *   privileges none to be gained, nobody may look inside
 *   landlock   files: only those named; TCP: only to the ports named (Linux 6.7); no signals, no abstract sockets (6.12)
 *   seccomp    system calls: those of a table; any other ends the process. No program can be run, no memory made executable
 *
 * A kernel without landlock (before 5.13, or switched off) leaves files to seccomp, which then lets none be opened for writing unless
 * the task writes. The caller can find out: landlock_version of oci/child.h. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct sandbox {
    const char *const
        *read; /* files, and directories with all below; those that are not there are skipped. NULL at the end */
    const char *write;     /* a directory that exists; NULL: none */
    const uint16_t *ports; /* of TCP */
    size_t n_ports;        /* 0: no sockets at all */
    uint64_t memory;       /* bytes of address space */
    uint64_t cpu_seconds;
    uint64_t file_bytes; /* of a file that is written */
};

/* Descriptors above 2 are closed, the environment is emptied, and the end of whoever started us is ours. First thing of all. */
void sandbox_clear(void);
int sandbox_enter(const struct sandbox *s, struct err *err);
