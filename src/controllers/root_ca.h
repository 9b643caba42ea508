/* SPDX-License-Identifier: Apache-2.0 */
/* What: the certificates by which pods know the API server: what every kube-root-ca.crt says; may be renewed while all runs.
 * Owns: a copy of the text.
 * Threads: root_ca_dup on any; the rest belongs to the loop thread.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct root_ca;

struct root_ca *root_ca_new(str pem);
/* Nobody asks any more. Takes NULL. */
void root_ca_free(struct root_ca *ca);
/* Another text from now on; who listens is told, if it differs. */
void root_ca_set(struct root_ca *ca, str pem);
str root_ca_dup(struct root_ca *ca, struct arena *a);
/* One listener at a time; NULL: none. */
void root_ca_listen(struct root_ca *ca, void (*changed)(void *ctx), void *ctx);
