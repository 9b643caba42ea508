/* SPDX-License-Identifier: Apache-2.0 */
/* What: the string formats that schemas of custom resources can ask for.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: none; unknown formats are FORMAT_NONE and ignored, as in Kubernetes. */
#pragma once

#include "base/str.h"

enum format {
    FORMAT_NONE,
    FORMAT_BSONOBJECTID,
    FORMAT_URI,
    FORMAT_EMAIL,
    FORMAT_HOSTNAME,
    FORMAT_IPV4,
    FORMAT_IPV6,
    FORMAT_CIDR,
    FORMAT_MAC,
    FORMAT_UUID,
    FORMAT_UUID3,
    FORMAT_UUID4,
    FORMAT_UUID5,
    FORMAT_ISBN,
    FORMAT_ISBN10,
    FORMAT_ISBN13,
    FORMAT_CREDITCARD,
    FORMAT_SSN,
    FORMAT_HEXCOLOR,
    FORMAT_RGBCOLOR,
    FORMAT_BYTE,
    FORMAT_PASSWORD,
    FORMAT_DATE,
    FORMAT_DURATION,
    FORMAT_DATETIME,
    FORMAT_COUNT,
};

/* By name; dashes do not count: date-time is datetime. */
enum format format_find(str name);
/* Whether the text has the format, by the same rules as the Go library that Kubernetes uses. */
bool format_matches(enum format format, str text);

/* The parts of a URI, as Go's net/url sees them. */
struct uri {
    str scheme, user, host, path, query;
    bool has_user;
};

/* Go's url.ParseRequestURI: an absolute URI or an absolute path. */
bool uri_parse(str text, struct uri *ret);
bool format_is_ip(str text, bool sloppy);
bool format_is_cidr(str text);
bool format_is_mac(str text);
bool format_is_email(str text);
