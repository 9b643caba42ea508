/* SPDX-License-Identifier: Apache-2.0 */
/* What: stands between the libraries of this program and the kernel: remembers all that is written to one file and when it
 * was made durable, or makes it fail.
 * Owns: what it remembers, until disk_forget.
 * Threads: any; what is remembered has one order. Look at it only while nobody writes.
 * Errors: aborts. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum disk_kind {
    DISK_WRITE,         /* is in the kernel */
    DISK_WRITE_DURABLE, /* is on the disk when the call returns (O_DSYNC) */
    DISK_SYNC,          /* everything before is on the disk */
    DISK_NOTE,          /* said by disk_note */
};

struct disk_step {
    enum disk_kind kind;
    uint64_t at; /* where; or what was noted */
    size_t n;
    char *bytes;
};

struct disk_steps {
    VEC(struct disk_step) list;
};

/* From now on the writes to the file of this path are remembered. */
void disk_watch(const char *path);
void disk_note(uint64_t what);
const struct disk_steps *disk_steps(void);
void disk_forget(void);

/* From now on durable writes to the watched file (LMDB: of the page that makes a commit valid) fail with this code of errno;
 * 0: no more. And so do syncs, with disk_fail_sync. */
void disk_fail_durable(int code);
void disk_fail_sync(int code);
