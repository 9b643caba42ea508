/* SPDX-License-Identifier: Apache-2.0 */
/* What: which of two versions of a package is the newer one.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: none; every text has its place in the order. */
#pragma once

#include "base/str.h"

/* A total order: negative when l is older. As Semantic Versioning has it where the texts are such versions (a leading v
 * is skipped, missing numbers count as 0: v1.2 is 1.2.0; 1.0.0-rc.2 < 1.0.0-rc.10 < 1.0.0); words come behind numbers.
 * What is equal by that is told apart by its bytes, so 0 is answered for equal texts only. */
int package_version_compare(str l, str r);

/* It begins with a number, as 1.2.0 and v3 do. Of other texts (latest, a digest) the order is one, but says nothing about newer and
 * older. */
bool package_version_is_numbered(str version);
