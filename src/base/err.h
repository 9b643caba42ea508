/* SPDX-License-Identifier: Apache-2.0 */
/* What: the error a function reports to its caller.
 * Owns: nothing; struct err is fixed-size, lives with the caller and is never freed.
 * Threads: plain value.
 * Errors: codes are the reasons of Kubernetes plus IO and INTERNAL; object/status.h maps them to HTTP. */
#pragma once

#include <stdarg.h>

enum err_code {
    ERR_NONE = 0,
    ERR_BAD_REQUEST = -1,
    ERR_UNAUTHORIZED = -2,
    ERR_FORBIDDEN = -3,
    ERR_NOT_FOUND = -4,
    ERR_METHOD_NOT_ALLOWED = -5,
    ERR_NOT_ACCEPTABLE = -6,
    ERR_ALREADY_EXISTS = -7,
    ERR_CONFLICT = -8,
    ERR_GONE = -9,
    ERR_EXPIRED = -10,
    ERR_TOO_LARGE = -11,
    ERR_UNSUPPORTED_MEDIA_TYPE = -12,
    ERR_INVALID = -13,
    ERR_TOO_MANY_REQUESTS = -14,
    ERR_TIMEOUT = -15,
    ERR_SERVER_TIMEOUT = -16,
    ERR_UNAVAILABLE = -17,
    ERR_INTERNAL = -18,
    ERR_IO = -19,
    ERR_NO_SPACE = -20,
};

struct err {
    enum err_code code;
    char msg[1020]; /* NUL-terminated; cut at a character boundary when longer */
};

/* Sets code and text, returns code. err may be NULL. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Puts "what was tried: " in front of the text, returns the code unchanged; with NULL, which has none, ERR_INTERNAL. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The name of a code, for logs: "NotFound". Never NULL. */
const char *err_name(enum err_code code);
