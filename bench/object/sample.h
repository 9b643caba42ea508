/* SPDX-License-Identifier: Apache-2.0 */
/* What: a custom resource and its schema as real operators have them, about 30 KB of JSON each, the same in every run.
 * Owns: nothing; the texts live in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/str.h"

/* {"apiVersion":…,"kind":"Fleet",…}: node groups with labels, ports, volumes and conditions. */
str sample_object(struct arena *a);
/* openAPIV3Schema of the same kind: descriptions, enums, patterns, defaults, list maps and sets. */
str sample_schema(struct arena *a);
