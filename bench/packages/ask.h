/* SPDX-License-Identifier: Apache-2.0 */
/* What: the requests that all rows make.
 * Owns: nothing.
 * Threads: one.
 * Errors: see bench/server/server.h. */
#pragma once

#include "../server/load.h"

#define PACKAGES "/apis/packages.crossplane.io/v1alpha1"
#define CLUSTER_INSTALLS PACKAGES "/clusterpackageinstalls"
#define INSTALLS PACKAGES "/packageinstalls"

/* An install of bench/NAME:1.0, of the same name. namespace empty: for the cluster. */
struct question ask_create(struct arena *a, str namespace, const char *name);
struct question ask_delete(struct arena *a, str namespace, const char *name);
/* The revision of the store: one more with each write. */
int64_t ask_revision(struct links *l);
/* Returns when nothing was written for half a second. */
void ask_until_quiet(struct links *l);
/* Writes within so many seconds from now. */
int64_t ask_writes(struct links *l, double seconds);
