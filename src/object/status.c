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
        str field = str_clip(a, list[i].field);
        json_push(a, &arr,
                  json_build(a, "{reason?: '%.*s', message?: '%.*s', field?: '%.*s'}", STR(list[i].reason),
                             STR(list[i].message), STR(field)));
    }
    return arr;
}

struct json status_build(struct arena *a, const struct status_args *args)
{
    bool success = args->code == ERR_NONE;
    struct json causes = build_causes(a, args->causes, args->n_causes);
    str name = str_clip(a, args->about.name), group = str_clip(a, args->about.group),
        kind = str_clip(a, args->about.kind);
    struct json details = json_build(
        a, "{name?: '%.*s', group?: '%.*s', kind?: '%.*s', uid?: '%.*s', causes?: %p, retryAfterSeconds?: %d}",
        STR(name), STR(group), STR(kind), STR(args->uid), &causes, args->retry_after);
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

/* ---- One builder per kind of failure, with its text and details. ---- */

/* "configmaps" or "roles.rbac.authorization.k8s.io". */
static void add_kind(struct buf *b, struct status_subject about)
{
    buf_add_str(b, str_clip(b->arena, about.kind));
    if (about.group.n) {
        buf_add_char(b, '.');
        buf_add_str(b, str_clip(b->arena, about.group));
    }
}

static void add_name(struct buf *b, str name)
{
    buf_add_quoted(b, str_clip(b->arena, name));
}

/* `prefix configmaps "x" suffix why` */
static str sentence(struct arena *a, str prefix, struct status_subject about, str suffix, str why)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, prefix);
    add_kind(&b, about);
    buf_add_char(&b, ' ');
    add_name(&b, about.name);
    buf_add_str(&b, suffix);
    buf_add_str(&b, why);
    return buf_str(&b);
}

static struct json plain(struct arena *a, enum err_code code, str message)
{
    return status_build(a, &(struct status_args){.code = code, .message = message});
}

/* Failures of routing have empty details. */
static struct json blank_details(struct arena *a, enum err_code code, str message)
{
    return status_build(a, &(struct status_args){.code = code, .message = message, .has_details = true});
}

static struct json about_one(struct arena *a, enum err_code code, struct status_subject about, str message)
{
    return status_build(a,
                        &(struct status_args){.code = code, .message = message, .about = about, .has_details = true});
}

struct json status_not_found(struct arena *a, struct status_subject about)
{
    return about_one(a, ERR_NOT_FOUND, about, sentence(a, S(""), about, S(" not found"), S("")));
}

struct json status_no_such_resource(struct arena *a)
{
    return blank_details(a, ERR_NOT_FOUND, S("the server could not find the requested resource"));
}

struct json status_already_exists(struct arena *a, struct status_subject about)
{
    return about_one(a, ERR_ALREADY_EXISTS, about, sentence(a, S(""), about, S(" already exists"), S("")));
}

struct json status_generate_name_conflict(struct arena *a, struct status_subject about)
{
    str suffix = S(" already exists, the server was not able to generate a unique name for the object");
    return status_build(a, &(struct status_args){.code = ERR_ALREADY_EXISTS,
                                                 .message = sentence(a, S(""), about, suffix, S("")),
                                                 .about = about,
                                                 .retry_after = 1});
}

struct json status_conflict(struct arena *a, struct status_subject about, str why)
{
    return about_one(a, ERR_CONFLICT, about, sentence(a, S("Operation cannot be fulfilled on "), about, S(": "), why));
}

struct json status_modified(struct arena *a, struct status_subject about)
{
    return status_conflict(a, about,
                           S("the object has been modified; please apply your changes to the latest version and try "
                             "again"));
}

struct json status_apply_conflict(struct arena *a, str message, const struct status_cause *causes, size_t n)
{
    return status_build(
        a, &(struct status_args){
               .code = ERR_CONFLICT, .message = message, .has_details = true, .causes = causes, .n_causes = n});
}

struct json status_invalid(struct arena *a, struct status_subject about, const struct field_errors *errs)
{
    size_t n = errs->list.n;
    struct status_cause *causes = ARENA_ARRAY(a, struct status_cause, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct field_error *e = &errs->list.p[i];
        struct buf body = {.arena = a};
        field_error_body(&body, e);
        causes[i] = (struct status_cause){str_of(field_error_reason(e->type)), buf_str(&body), e->field};
    }
    struct buf texts = {.arena = a};
    field_errors_format(&texts, errs);
    str suffix = n ? S(" is invalid: ") : S(" is invalid");
    return status_build(a, &(struct status_args){.code = ERR_INVALID,
                                                 .message = sentence(a, S(""), about, suffix, buf_str(&texts)),
                                                 .about = about,
                                                 .has_details = true,
                                                 .causes = causes,
                                                 .n_causes = n});
}

struct json status_bad_patch(struct arena *a)
{
    return blank_details(a, ERR_INVALID, S("the server rejected our request due to an error in our request"));
}

struct json status_bad_request(struct arena *a, str message)
{
    return plain(a, ERR_BAD_REQUEST, message);
}

struct json status_unauthorized(struct arena *a)
{
    return plain(a, ERR_UNAUTHORIZED, S("Unauthorized"));
}

/* ---- Forbidden. ---- */

static struct json forbidden(struct arena *a, struct status_subject about, str why, const struct status_cause *cause)
{
    struct buf b = {.arena = a};
    if (about.kind.n || about.group.n) {
        add_kind(&b, about);
        if (about.name.n) {
            buf_add_char(&b, ' ');
            add_name(&b, about.name);
        }
        buf_add_str(&b, S(" is "));
    }
    buf_add_str(&b, S("forbidden: "));
    buf_add_str(&b, why);
    return status_build(a, &(struct status_args){.code = ERR_FORBIDDEN,
                                                 .message = buf_str(&b),
                                                 .about = about,
                                                 .has_details = true,
                                                 .causes = cause,
                                                 .n_causes = cause ? 1 : 0});
}

struct json status_forbidden(struct arena *a, struct status_subject about, str why)
{
    return forbidden(a, about, why, NULL);
}

/* `User "bob" cannot list resource "pods/log" in API group "" in the namespace "x"` */
static void add_attempt(struct buf *b, const struct status_attempt *t)
{
    buf_add_str(b, S("User "));
    add_name(b, t->user);
    str verb = str_clip(b->arena, t->verb);
    buf_fmt(b, " cannot %.*s ", STR(verb));
    if (t->path.n) {
        buf_add_str(b, S("path "));
        add_name(b, t->path);
        return;
    }
    struct buf resource = {.arena = b->arena};
    buf_add_str(&resource, t->resource);
    if (t->subresource.n)
        buf_fmt(&resource, "/%.*s", STR(t->subresource));
    buf_add_str(b, S("resource "));
    add_name(b, buf_str(&resource));
    buf_add_str(b, S(" in API group "));
    add_name(b, t->group);
    if (t->namespace.n) {
        buf_add_str(b, S(" in the namespace "));
        add_name(b, t->namespace);
    } else {
        buf_add_str(b, S(" at the cluster scope"));
    }
}

/* User names and paths come from strangers: nothing in the text may look like HTML. */
static str without_html(struct arena *a, str s)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '&':
            buf_add_str(&b, S("&amp;"));
            break;
        case '<':
            buf_add_str(&b, S("&lt;"));
            break;
        case '>':
            buf_add_str(&b, S("&gt;"));
            break;
        default:
            buf_add_char(&b, s.p[i]);
        }
    }
    return buf_str(&b);
}

struct json status_forbidden_attempt(struct arena *a, const struct status_attempt *attempt, str reason)
{
    struct buf b = {.arena = a};
    add_attempt(&b, attempt);
    str why = without_html(a, buf_str(&b));
    if (reason.n)
        why = str_fmt(a, "%.*s: %.*s", STR(why), STR(reason));
    struct status_subject about = {attempt->group, attempt->resource, attempt->name};
    return status_forbidden(a, attempt->path.n ? (struct status_subject){0} : about, why);
}

struct json status_namespace_terminating(struct arena *a, struct status_subject about, str namespace)
{
    struct status_cause cause = {S("NamespaceTerminating"),
                                 str_fmt(a, "namespace %.*s is being terminated", STR(namespace)),
                                 S("metadata.namespace")};
    str why =
        str_fmt(a, "unable to create new content in namespace %.*s because it is being terminated", STR(namespace));
    return forbidden(a, about, why, &cause);
}

/* ---- The request itself. ---- */

struct json status_expired(struct arena *a, str message)
{
    return plain(a, ERR_EXPIRED, message);
}

struct json status_gone(struct arena *a, str message)
{
    return plain(a, ERR_GONE, message);
}

struct json status_too_large(struct arena *a, size_t limit)
{
    return plain(a, ERR_TOO_LARGE, str_fmt(a, "Request entity too large: limit is %zu", limit));
}

struct json status_method_not_allowed(struct arena *a)
{
    return blank_details(a, ERR_METHOD_NOT_ALLOWED,
                         S("the server does not allow this method on the requested resource"));
}

struct json status_not_acceptable(struct arena *a, str accepted)
{
    return plain(a, ERR_NOT_ACCEPTABLE, str_fmt(a, "only the following media types are accepted: %.*s", STR(accepted)));
}

struct json status_no_representation(struct arena *a, str available)
{
    return blank_details(a, ERR_NOT_ACCEPTABLE,
                         str_fmt(a, "406: Not Acceptable\n\nAvailable representations: %.*s", STR(available)));
}

struct json status_unsupported_media_type(struct arena *a, str accepted)
{
    return plain(a, ERR_UNSUPPORTED_MEDIA_TYPE,
                 str_fmt(a, "the body of the request was in an unknown format - accepted media types include: %.*s",
                         STR(accepted)));
}

struct json status_unsupported_patch(struct arena *a)
{
    return blank_details(a, ERR_UNSUPPORTED_MEDIA_TYPE, S("415: Unsupported Media Type"));
}

/* ---- The server. ---- */

struct json status_timeout(struct arena *a, str message, int retry_after)
{
    return status_build(a, &(struct status_args){.code = ERR_TIMEOUT,
                                                 .message = str_fmt(a, "Timeout: %.*s", STR(message)),
                                                 .has_details = true,
                                                 .retry_after = retry_after});
}

struct json status_version_too_large(struct arena *a, uint64_t wanted, uint64_t current)
{
    struct status_cause cause = {S("ResourceVersionTooLarge"), S("Too large resource version"), S("")};
    return status_build(
        a, &(struct status_args){.code = ERR_TIMEOUT,
                                 .message = str_fmt(a,
                                                    "Timeout: Too large resource version: %llu, "
                                                    "current: %llu",
                                                    (unsigned long long)wanted, (unsigned long long)current),
                                 .causes = &cause,
                                 .n_causes = 1,
                                 .retry_after = 1});
}

struct json status_server_timeout(struct arena *a, struct status_subject about, str operation, int retry_after)
{
    struct buf b = {.arena = a};
    buf_fmt(&b, "The %.*s operation against ", STR(operation));
    add_kind(&b, about);
    buf_add_str(&b, S(" could not be completed at this time, please try again."));
    about.name = operation;
    return status_build(a, &(struct status_args){.code = ERR_SERVER_TIMEOUT,
                                                 .message = buf_str(&b),
                                                 .about = about,
                                                 .has_details = true,
                                                 .retry_after = retry_after});
}

struct json status_too_many_requests(struct arena *a, str message, int retry_after)
{
    return status_build(
        a, &(struct status_args){
               .code = ERR_TOO_MANY_REQUESTS, .message = message, .has_details = true, .retry_after = retry_after});
}

struct json status_unavailable(struct arena *a, str message)
{
    return plain(a, ERR_UNAVAILABLE, message);
}

struct json status_internal(struct arena *a, str message)
{
    struct status_cause cause = {S(""), message, S("")};
    return status_build(a, &(struct status_args){.code = ERR_INTERNAL,
                                                 .message = str_fmt(a, "Internal error occurred: %.*s", STR(message)),
                                                 .has_details = true,
                                                 .causes = &cause,
                                                 .n_causes = 1});
}

struct json status_unknown(struct arena *a, str message)
{
    return status_build(a, &(struct status_args){.code = ERR_INTERNAL, .no_reason = true, .message = message});
}

struct json status_deleted(struct arena *a, struct status_subject about, str uid)
{
    return status_build(a, &(struct status_args){.about = about, .uid = uid, .has_details = true});
}
