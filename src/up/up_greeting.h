/* SPDX-License-Identifier: Apache-2.0 */
/* What: what reeve up says on standard output when it is ready: where to go from here, on less than one screen.
 * Owns: nothing.
 * Threads: one.
 * Errors: none; nobody may be listening. */
#pragma once

#include "base/str.h"

struct greeting {
    str server;             /* "https://127.0.0.1:6443" */
    const char *kubeconfig; /* as it was told; shown as an absolute path */
    const char *data_dir;
    bool has_colour;
};

void greeting_format(struct buf *b, const struct greeting *g);
/* Writes it. Colour is for terminals, unless NO_COLOR is set. */
void greeting_show(const struct greeting *g);
