/* SPDX-License-Identifier: Apache-2.0 */
/* What: which versions of another package are good enough: constraints on versions as Crossplane's packages write them.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: false; a constraint that makes no sense is met by nothing.
 *
 *     >=v1.0.0, <2       all of them, parted by blanks or commas      1.2.x, 1.2, *   any number there
 *     ^1.2 || ~2.0.3     one of them                                  1.2 - 1.4.5     from, to (both included)
 *     sha256:…           this very image
 *
 *   ^1.2.3   >=1.2.3 <2.0.0    the first number that is not 0 stays: ^0.2.3 is <0.3.0, ^0.0.3 is 0.0.3 alone
 *   ~1.2.3   >=1.2.3 <1.3.0    ~1 is 1.x
 *   1.2      1.2.x             an operator in front of it sees the gap, too: >1.2 begins at 1.3.0, <=1.2 ends behind 1.2.x
 *
 * A pre-release (1.3.0-rc.1) meets only constraints that speak of a pre-release themselves. What stands behind + is not
 * looked at. A leading v means nothing. */
#pragma once

#include "base/str.h"

/* Whether it is a constraint at all. Empty is one, met by every version that is no pre-release. */
bool semver_is_constraint(str constraint);
/* version: of a package that is there; digest: of its manifest, may be empty. A version that is none (a word, the digits of a
 * digest) meets only constraints that are digests. */
bool semver_is_met(str constraint, str version, str digest);

/* What: which of two versions of a package is the newer one.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: none; every text has its place in the order. */

/* A total order: negative when l is older. As Semantic Versioning has it where the texts are such versions (a leading v
 * is skipped, missing numbers count as 0: v1.2 is 1.2.0; 1.0.0-rc.2 < 1.0.0-rc.10 < 1.0.0); words come behind numbers.
 * What is equal by that is told apart by its bytes, so 0 is answered for equal texts only. */
int package_version_compare(str l, str r);

/* It begins with a number, as 1.2.0 and v3 do. Of other texts (latest, a digest) the order is one, but says nothing about newer and
 * older. */
bool package_version_is_numbered(str version);
