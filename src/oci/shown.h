/* SPDX-License-Identifier: Apache-2.0 */
/* What: a stranger's text, fit for an error: quoted, escaped, and cut when it is long.
 * Owns: nothing; the result lives in the arena given.
 * Threads: pure function.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

enum { OCI_SHOWN_MAX = 256 }; /* bytes */

str oci_shown(struct arena *a, str text);
