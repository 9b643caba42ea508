/* SPDX-License-Identifier: Apache-2.0 */
/* What: whether the kernel has landlock, the wall between reeve-fetch and the files and ports that are not its business.
 * Owns: nothing.
 * Threads: pure, but for the kernel's answer.
 * Errors: errno, when the kernel does not answer. */
#pragma once

/* The first versions of its interface that know… */
enum {
    LANDLOCK_REFER = 2,
    LANDLOCK_TRUNCATE = 3,
    LANDLOCK_PORTS = 4, /* Linux 6.7 */
    LANDLOCK_IOCTL = 5,
    LANDLOCK_SCOPES = 6 /* Linux 6.12 */
};

/* 0: there is none, or it is switched off; negative: an error. */
int landlock_version(void);
