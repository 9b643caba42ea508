/* SPDX-License-Identifier: Apache-2.0 */
/* What: the measurements of a fleet, each with servers of its own.
 * Owns: nothing that outlives a call.
 * Threads: one.
 * Errors: see bench/server/server.h. */
#pragma once

/* Permissions on a hub with 100 to 3,000 managed clusters, whose agents are simulated. */
void rows_hub(const char *binary);
/* A real agent beside a real managed cluster. */
void rows_agent(const char *binary);
