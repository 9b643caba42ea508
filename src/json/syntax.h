/* SPDX-License-Identifier: Apache-2.0 */
/* What: says what is wrong with a text that is not JSON, in the words Kubernetes' clients know.
 * Owns: nothing.
 * Threads: pure.
 * Errors: sets ERR_BAD_REQUEST, always. Private to json/. */
#pragma once

#include "json/json.h"

/* fallback and at are the parser's own message and position: for texts that are well-formed but cannot be taken, such as
 * invalid UTF-8 or 1e999. */
int json_syntax_error(str text, const char *fallback, size_t at, struct err *err);
