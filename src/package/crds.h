/* SPDX-License-Identifier: Apache-2.0 */
/* What: the CustomResourceDefinitions of Reeve's own kinds: installs and records of both dialects, as YAML.
 * Owns: nothing; they are the files of deploy/crds, taken into the binary when it is built.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "base/str.h"

extern const str package_crds[]; /* one document each, by the name of its file */
extern const size_t package_crds_n;
