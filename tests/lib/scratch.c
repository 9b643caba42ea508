/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

void scratch_make(char path[static SCRATCH_MAX], const char *name)
{
    const char *top = getenv("TMPDIR");
    int n = snprintf(path, SCRATCH_MAX, "%s/%s-XXXXXX", top && *top ? top : "/tmp", name);
    if (n < SCRATCH_MAX && mkdtemp(path))
        return;
    perror("make a temporary folder");
    abort();
}

static int remove_entry(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)s, (void)type, (void)at;
    return remove(path);
}

void scratch_remove(const char *path)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0)
        return;
    perror("remove a temporary folder");
    abort();
}
