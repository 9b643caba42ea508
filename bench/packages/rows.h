/* SPDX-License-Identifier: Apache-2.0 */
/* What: the measurements of packages, each with servers of its own.
 * Owns: nothing that outlives a call.
 * Threads: one.
 * Errors: see bench/server/server.h. */
#pragma once

/* 2,000 CRDs of 30 KB. */
void rows_large(const char *binary);
/* Six CRDs, one install after the other. */
void rows_small(const char *binary);
/* Six CRDs in up to 1,000 namespaces. */
void rows_many(const char *binary);
