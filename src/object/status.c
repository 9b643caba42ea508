/* SPDX-License-Identifier: Apache-2.0 */
#include "object/status.h"

/* Codes in the order of the enum; then reasons that only others use. The first row with a code is the one we write. */
static const struct {
    enum err_code code;
    int http;
    const char *reason;
} table[] = {
    {ERR_BAD_REQUEST, 400, "BadRequest"},
    {ERR_UNAUTHORIZED, 401, "Unauthorized"},
    {ERR_FORBIDDEN, 403, "Forbidden"},
    {ERR_NOT_FOUND, 404, "NotFound"},
    {ERR_METHOD_NOT_ALLOWED, 405, "MethodNotAllowed"},
    {ERR_NOT_ACCEPTABLE, 406, "NotAcceptable"},
    {ERR_CONFLICT, 409, "Conflict"},
    {ERR_ALREADY_EXISTS, 409, "AlreadyExists"},
    {ERR_EXPIRED, 410, "Expired"},
    {ERR_GONE, 410, "Gone"},
    {ERR_TOO_LARGE, 413, "RequestEntityTooLarge"},
    {ERR_UNSUPPORTED_MEDIA_TYPE, 415, "UnsupportedMediaType"},
    {ERR_INVALID, 422, "Invalid"},
    {ERR_TOO_MANY_REQUESTS, 429, "TooManyRequests"},
    {ERR_INTERNAL, 500, "InternalError"},
    {ERR_SERVER_TIMEOUT, 500, "ServerTimeout"},
    {ERR_IO, 500, "InternalError"},
    {ERR_UNAVAILABLE, 503, "ServiceUnavailable"},
    {ERR_TIMEOUT, 504, "Timeout"},
    {ERR_NO_SPACE, 507, "InsufficientStorage"},
    {ERR_IO, 500, "StorageReadError"},
};

enum { ROWS = COUNT(table) };

const char *status_reason(enum err_code code)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].code == code)
            return table[i].reason;
    }
    return "InternalError";
}

int status_http(enum err_code code)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].code == code)
            return table[i].http;
    }
    return code == ERR_NONE ? 200 : 500;
}

enum err_code status_code(str reason, int http)
{
    for (size_t i = 0; i < ROWS && reason.n; i++) {
        if (str_eq(reason, str_of(table[i].reason)))
            return table[i].code;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].http == http)
            return table[i].code;
    }
    return http >= 200 && http < 300 ? ERR_NONE : http >= 400 && http < 500 ? ERR_BAD_REQUEST : ERR_INTERNAL;
}

/* ---- Building. ---- */

static struct json build_causes(struct arena *a, const struct status_cause *list, size_t n)
{
    struct json arr = json_arr_sized(a, n);
    for (size_t i = 0; i < n; i++) {
        json_push(a, &arr,
                  json_build(a, "{reason?: '%.*s', message?: '%.*s', field?: '%.*s'}", STR(list[i].reason),
                             STR(list[i].message), STR(str_clip(a, list[i].field))));
    }
    return arr;
}

struct json status_build(struct arena *a, const struct status_args *args)
{
    bool success = args->code == ERR_NONE;
    struct json causes = build_causes(a, args->causes, args->n_causes);
    struct json details = json_build(
        a, "{name?: '%.*s', group?: '%.*s', kind?: '%.*s', uid?: '%.*s', causes?: %p, retryAfterSeconds?: %d}",
        STR(str_clip(a, args->about.name)), STR(str_clip(a, args->about.group)), STR(str_clip(a, args->about.kind)),
        STR(args->uid), &causes, args->retry_after);
    struct json s =
        json_build(a, "{kind: 'Status', apiVersion: 'v1', metadata: {}, status: %s, message?: '%.*s', reason?: %s}",
                   success ? "Success" : "Failure", STR(args->message),
                   success || args->no_reason ? "" : status_reason(args->code));
    if (args->has_details || details.n)
        json_add(a, &s, S("details"), details);
    if (!success)
        json_add(a, &s, S("code"), json_int(args->http ? args->http : status_http(args->code)));
    return s;
}

struct json status_of_err(struct arena *a, const struct err *err)
{
    return status_build(a, &(struct status_args){.code = err->code, .message = str_of(err->msg)});
}

/* ---- Reading. ---- */

bool status_is_failure(const struct json *status)
{
    return str_eq(json_get_text(status, S("kind")), S("Status")) &&
           !str_eq(json_get_text(status, S("status")), S("Success"));
}

static int int_of(const struct json *v, int otherwise)
{
    int64_t i;
    return json_to_int(v, &i) && i >= 0 && i <= INT32_MAX ? (int)i : otherwise;
}

int status_get_http(const struct json *status)
{
    return int_of(json_get(status, S("code")), status_is_failure(status) ? 500 : 200);
}

int status_get_retry_after(const struct json *status)
{
    return int_of(json_dig(status, "details.retryAfterSeconds"), 0);
}

int status_to_err(const struct json *status, struct err *err)
{
    if (!status_is_failure(status))
        return 0;
    str message = json_get_text(status, S("message"));
    enum err_code code = status_code(json_get_text(status, S("reason")), status_get_http(status));
    if (code == ERR_NONE)
        code = ERR_INTERNAL;
    return err_set(err, code, "%.*s", STR(message));
}
