/* SPDX-License-Identifier: Apache-2.0 */
/* What: reeve agent: delivers a hub's grants to this cluster. Composition root.
 * Owns: everything, for the time of the run.
 * Threads: the main thread becomes the loop's; controllers have their own.
 * Errors: told on standard error; the exit code says what kind. */
#pragma once

/* argv[0] is the command's own name. */
int agent_run(int argc, char **argv);
