/* SPDX-License-Identifier: Apache-2.0 */
/* What: the measurements of commands, each with a server of its own where it needs one.
 * Owns: nothing that outlives a call.
 * Threads: one.
 * Errors: see bench/server/server.h. */
#pragma once

/* A command that does nothing. */
void rows_start(const char *binary);
/* who-can and why, with 50,000 bindings. */
void rows_rights(const char *binary);
/* plan of a package with 2,000 CRDs. */
void rows_plan(const char *binary);
