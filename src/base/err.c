/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* A text that did not fit ends with an ellipsis, and never inside a UTF-8 sequence. */
static void end_cut(char *msg, size_t size)
{
    size_t at = size - sizeof "…";
    while (at > 0 && ((unsigned char)msg[at] & 0xc0) == 0x80)
        at--;
    memcpy(msg + at, "…", sizeof "…");
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    va_list args;
    va_start(args, fmt);
    err->code = code;
    int n = vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    if (n >= (int)sizeof err->msg)
        end_cut(err->msg, sizeof err->msg);
    return code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    if (err == NULL)
        return ERR_INTERNAL;
    char inner[sizeof err->msg];
    memcpy(inner, err->msg, sizeof inner);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof err->msg ? (size_t)n : sizeof err->msg - 1;
    int m = snprintf(err->msg + used, sizeof err->msg - used, ": %s", inner);
    if (used + (size_t)m >= sizeof err->msg)
        end_cut(err->msg, sizeof err->msg);
    return err->code;
}

const char *err_name(enum err_code code)
{
    static const char *const names[] = {
        "None",
        "BadRequest",
        "Unauthorized",
        "Forbidden",
        "NotFound",
        "MethodNotAllowed",
        "NotAcceptable",
        "AlreadyExists",
        "Conflict",
        "Gone",
        "Expired",
        "RequestEntityTooLarge",
        "UnsupportedMediaType",
        "Invalid",
        "TooManyRequests",
        "Timeout",
        "ServerTimeout",
        "ServiceUnavailable",
        "InternalError",
        "IO",
        "NoSpace",
    };
    size_t i = (size_t) - (long)code;
    return i < COUNT(names) ? names[i] : "Unknown";
}
