/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/landlock.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int landlock_version(void)
{
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 && (errno == ENOSYS || errno == EOPNOTSUPP) ? 0 : version;
}
