/* SPDX-License-Identifier: Apache-2.0 */
/* What: reeve up, the embedded control plane: composition root of the server. Puts keys, store, API and HTTP together and runs them.
 * Owns: everything of the process, from the first flag to the last byte.
 * Threads: the main thread is the loop; the store has one of its own.
 * Errors: told on standard error; the exit code says what kind (cli.h). */
#pragma once

/* argv[0] is the command's own name. */
int up_run(int argc, char **argv);
