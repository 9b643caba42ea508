/* SPDX-License-Identifier: Apache-2.0 */
/* What: the verbs of reeve package, one file each, and what they share.
 * Owns: nothing beyond a run.
 * Threads: the main thread.
 * Errors: as cli.h: told on standard error; the exit code says what kind.
 *
 *   package.c            which verb
 *   package_init.c       a directory to begin with          package_scaffold.c   what is in it
 *   package_lint.c       what is wrong with a package       package/lint.h; build asks it, too
 *   package_inspect.c    what a package is and gets         package_describe.c   the same as JSON
 *   package_image.c      build, push, pull
 *   package_source.c     packages by name or directory */
#pragma once

#include "cli/package_source.h"

/* argv[0] is the verb. */
int package_build(int argc, char **argv);
int package_init(int argc, char **argv);
int package_inspect(int argc, char **argv);
int package_lint_files(int argc, char **argv);
int package_pull(int argc, char **argv);
int package_push(int argc, char **argv);

/* Whether an install would accept the package in a directory; else all that is wrong is printed on standard error and the exit code is
 * CLI_FAILED. CLI_OK: it would. */
int package_lint_directory(struct command *c, const struct package_flags *images, const char *directory, str tag,
                           bool pass_full_deployment);

enum { PACKAGE_TIMEOUT_SECONDS = 300 };
