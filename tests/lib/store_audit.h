/* SPDX-License-Identifier: Apache-2.0 */
/* What: looks at the files of a closed store, around its code: is everything consistent that must be?
 * Owns: nothing.
 * Threads: one.
 * Errors: ERR_INTERNAL with the first thing that is wrong. */
#pragma once

#include "base/err.h"
#include "store/store.h"

int store_audit(const char *dir, rev *ret_revision, struct err *err);
