/* SPDX-License-Identifier: Apache-2.0 */
/* What: what a scalar of YAML 1.1 means to Kubernetes: the resolver table of goyaml.v2, and its number format.
 *       Private to the YAML reader and printer of this folder.
 * Owns: nothing; strings are views of the input.
 * Threads: pure functions.
 * Errors: none; text that is nothing else is a string. */
#pragma once

#include "json/json.h"

enum yaml_scalar_type {
    YAML_NULL,
    YAML_BOOL,
    YAML_INT,   /* .value is a JSON_INT or JSON_UINT */
    YAML_FLOAT, /* .value is a JSON_REAL, or the string .inf, -.inf or .nan: JSON has no such numbers */
    YAML_TIMESTAMP,
    YAML_STR,
};

struct yaml_scalar {
    enum yaml_scalar_type type;
    struct json value; /* the text itself for strings and timestamps */
};

/* What plain text without a tag is. Dates are only looked for if asked: a tag such as !!int leaves them out. */
struct yaml_scalar yaml_resolve(str text, bool dates);
/* "!!null" "!!bool" … for messages. */
const char *yaml_scalar_name(enum yaml_scalar_type type);
/* A finite number in the shortest form that reads back the same, as Go's 'g' prints it: 0.1, 1e+06. With bits = 32 the
 * number is first rounded to single precision, where it may become .inf (so are the keys of maps). */
void yaml_format_real(struct buf *b, double d, int bits);
