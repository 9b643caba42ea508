/* SPDX-License-Identifier: Apache-2.0 */
/* What: the verbs of reeve package, one file each, and what they share.
 * Owns: nothing beyond a run.
 * Threads: the main thread.
 * Errors: as cli.h: told on standard error; the exit code says what kind.
 *
 *   package.c            which verb
 *   cli_package.c        lint (package/lint.h), build, push, pull
 *   package_init.c       init: the files of a new package
 *   package_inspect.c    inspect: content and permissions of a package, as text and as JSON
 *   package_source.c     packages by name or directory */
#pragma once

#include "cli/package_source.h"

int package_init(int argc, char **argv);
int package_inspect(int argc, char **argv);

enum { PACKAGE_TIMEOUT_SECONDS = 300 };
