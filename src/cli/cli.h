/* SPDX-License-Identifier: Apache-2.0 */
/* What: the commands of reeve, one file each, and what they share.
 * Owns: nothing beyond a run: every command drops all it made before it returns.
 * Threads: the main thread.
 * Errors: told on standard error; the exit code says what kind. */
#pragma once

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* it could not be done, or what was asked about is wrong */
    CLI_USAGE = 2,       /* the command line makes no sense */
    CLI_SIGNALLED = 128, /* and the number of the signal that ended it, as shells have it */
};

/* argv[0] is the command's own name. */
int cli_approve(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_clusters(int argc, char **argv);
int cli_complete(int argc, char **argv);
int cli_completion(int argc, char **argv);
int cli_install(int argc, char **argv);
int cli_matrix(int argc, char **argv);
int cli_package(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_tree(int argc, char **argv);
int cli_uninstall(int argc, char **argv);
int cli_version(int argc, char **argv);
int cli_who_can(int argc, char **argv);
int cli_why(int argc, char **argv);
