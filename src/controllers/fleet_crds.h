/* SPDX-License-Identifier: Apache-2.0 */
/* What: the CustomResourceDefinitions of a fleet, as YAML: names and fields of Open Cluster Management, which brings its own on its
 *       hubs.
 * Owns: nothing; they are the files of deploy/crds/fleet, taken into the binary when it is built.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "base/str.h"

extern const str fleet_crds[]; /* one document each, by the name of its file */
extern const size_t fleet_crds_n;
