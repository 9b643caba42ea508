/* SPDX-License-Identifier: Apache-2.0 */
/* What: the scripts of src/cli/completion, as part of the binary: bash, fish, zsh.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "base/str.h"

extern const str completion_scripts[];
extern const size_t completion_scripts_n;
