/* SPDX-License-Identifier: Apache-2.0 */
/* What: texts for people that stay short, whatever they are made of.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/str.h"

/* At most n bytes of it and an ellipsis, whole characters. */
str permission_clip(struct arena *a, str text, size_t n);
/* Adds an item to a list, "a, b", that ends with an ellipsis where it would come to more than n bytes. */
void permission_note(struct buf *list, str item, size_t n);
