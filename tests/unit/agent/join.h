/* SPDX-License-Identifier: Apache-2.0 */
/* What: join kubeconfigs for tests, with tokens that say what a test wants.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* A token of ServiceAccount CLUSTER/reeve-agent that nobody signed. */
str join_token(struct arena *a, str cluster, int64_t issued, int64_t expires);
/* As "reeve clusters add" writes it. */
str join_kubeconfig(struct arena *a, str server, str token);
