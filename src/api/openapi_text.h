/* SPDX-License-Identifier: Apache-2.0 */
/* What: what kubectl explain says of the records of built-in kinds and their fields, and the values some fields are limited to.
 * Owns: nothing; static data.
 * Threads: constants.
 * Errors: none; what is not found is NULL. */
#pragma once

#include <stddef.h>

struct openapi_text {
    const char
        *of; /* "PodSpec", "PodSpec.restartPolicy"; "*.metadata" is for all records that have no text of their own */
    const char *text;   /* or NULL */
    const char *values; /* parted by commas, in the order of the alphabet; or NULL */
};

/* field is NULL for the record itself. */
const struct openapi_text *openapi_text_find(const char *record, const char *field);

/* All of them, sorted by name. */
extern const struct openapi_text openapi_texts[];
extern const size_t openapi_texts_n;
