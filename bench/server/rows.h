/* SPDX-License-Identifier: Apache-2.0 */
/* What: the measurements, each with servers of its own, and how they are printed: what, figure, what it should be.
 * Owns: nothing that outlives a call.
 * Threads: one.
 * Errors: see server.h. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "server.h"

void rows_start(const char *binary);
void rows_crds(const char *binary);
void rows_writes(const char *binary);
void rows_reads(const char *binary);
void rows_lists(const char *binary);
void rows_watches(const char *binary);
void rows_reviews(const char *binary);
void rows_shares(const char *binary);
void rows_slices(const char *binary);

/* ---- Samples. ---- */

/* The i-th of many CustomResourceDefinitions: so many bytes, most of them schema with descriptions, as generators of code write
 * them. Those with odd numbers are of cluster scope. */
str sample_crd(struct arena *a, size_t i, size_t bytes);
/* A ConfigMap of the kind most clusters are full of. */
str sample_config_map(struct arena *a, size_t i);
