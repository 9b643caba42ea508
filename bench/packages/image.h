/* SPDX-License-Identifier: Apache-2.0 */
/* What: packages to measure with, generated as files of YAML and built into the local store of a server.
 * Owns: nothing; all files are below the server's directory and go with it.
 * Threads: one.
 * Errors: see bench/server/server.h. */
#pragma once

#include "../server/server.h"

struct image {
    const char *name;  /* of the folder, and bench/NAME:1.0 in the store */
    const char *scope; /* Cluster or Namespaced */
    size_t crds, crd_bytes;
};

/* The server need not run. */
void image_build(struct server *s, const struct image *image);
void image_remove_cache(struct server *s);

struct image_cost {
    double seconds, cpu, peak; /* peak: resident bytes */
    double bytes;              /* of its lines */
};

/* reeve-fetch alone, reading that image from the store. */
struct image_cost image_fetch(struct server *s, const struct image *image);
