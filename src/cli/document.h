/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the documents are made of that commands print for programs (-o json, -o yaml). The manual describes each; what is in one
 *       stays, and what is not known is left out.
 * Owns: nothing; texts are borrowed, the rest is in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "authz/authz.h"

/* With apiVersion cli.reeve.dev/v1 and its kind. */
struct json document_new(struct arena *a, const char *kind);
/* Objects as kubectl prints several: a List. */
struct json document_list(struct arena *a, struct json items);
/* An object of the server's, as kubectl prints it: without the record of who wrote which field. */
void document_trim(struct json *object);
/* Unless the text is empty. */
void document_add_text(struct arena *a, struct json *object, const char *key, str text);
struct json document_texts(struct arena *a, struct strs texts);
/* kind, namespace, name */
struct json document_ref(struct arena *a, str kind, str namespace, str name);
struct json document_subject(struct arena *a, const struct authz_subject *subject);
