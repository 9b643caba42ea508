/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the ConfigMap kube-root-ca.crt says.
 * Owns: nothing; results live in the arena given and share the texts of what they are made from.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "json/json.h"

#define PUBLICATION_NAME S("kube-root-ca.crt")

/* What to write; have is NULL when there is none. False: it says all it should, and nothing else. Labels and other annotations
 * are left alone. */
bool publication_render(struct arena *a, const struct json *have, str pem, struct json *ret);
