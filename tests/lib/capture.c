/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

static void require(bool is_done)
{
    if (is_done)
        return;
    perror("capture stdout");
    abort();
}

void capture_begin(struct capture *c)
{
    (void)fflush(stdout);
    c->before = dup(STDOUT_FILENO);
    c->file = memfd_create("stdout", MFD_CLOEXEC);
    require(c->before >= 0 && c->file >= 0 && dup2(c->file, STDOUT_FILENO) >= 0);
}

str capture_end(struct capture *c, struct arena *a)
{
    struct stat s;
    (void)fflush(stdout);
    require(fstat(c->file, &s) == 0 && dup2(c->before, STDOUT_FILENO) >= 0);
    char *text = arena_alloc(a, (size_t)s.st_size + 1);
    require(pread(c->file, text, (size_t)s.st_size, 0) == s.st_size);
    (void)close(c->file);
    (void)close(c->before);
    return (str){text, (size_t)s.st_size};
}
