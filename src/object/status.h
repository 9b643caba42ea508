/* SPDX-License-Identifier: Apache-2.0 */
/* What: Status objects: how the API reports failures and completed deletions. One table maps error
 *       codes to reasons and HTTP codes; the builders have the texts of Kubernetes.
 * Owns: nothing; trees live in the arena given and borrow no text of the caller.
 * Threads: pure functions.
 * Errors: this is the error. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "object/field_error.h"
#include "json/json.h"

/* The reason of a code, e.g. "NotFound". */
const char *status_reason(enum err_code code);
int status_http(enum err_code code);
/* The way back, for clients: by reason, or by HTTP code when the reason is unknown or empty. */
enum err_code status_code(str reason, int http);

struct status_cause {
    str reason, message, field; /* "FieldValueInvalid", "Invalid value: …", "spec.size" */
};

/* The subject. kind is the plural in most responses ("configmaps"), the Kind in those about invalid objects. */
struct status_subject {
    str group, kind, name;
};

/* Everything a Status can hold; empty fields are left out. */
struct status_args {
    enum err_code code;
    int http;       /* 0: as the table has it */
    bool no_reason; /* for errors that Kubernetes gives no reason */
    str message;
    bool has_details; /* details: {} even when all of it is empty */
    struct status_subject about;
    str uid;
    const struct status_cause *causes;
    size_t n_causes;
    int retry_after; /* seconds */
};

struct json status_build(struct arena *a, const struct status_args *args);
/* Code and text of an err, without details. */
struct json status_of_err(struct arena *a, const struct err *err);

/* ---- One builder per kind of trouble. ---- */

struct json status_not_found(struct arena *a, struct status_subject about);
/* An unknown resource or path: "the server could not find the requested resource". */
struct json status_no_such_resource(struct arena *a);
struct json status_already_exists(struct arena *a, struct status_subject about);
/* After several tries to make up a name from generateName. */
struct json status_generate_name_conflict(struct arena *a, struct status_subject about);
/* "Operation cannot be fulfilled on …: why"; status_modified has the usual why. */
struct json status_conflict(struct arena *a, struct status_subject about, str why);
struct json status_modified(struct arena *a, struct status_subject about);
/* Server-side apply met other managers' fields. */
struct json status_apply_conflict(struct arena *a, str message, const struct status_cause *causes, size_t n);
/* about.kind is the Kind here; a list without errors is allowed. */
struct json status_invalid(struct arena *a, struct status_subject about, const struct field_errors *errs);
/* A patch that cannot be applied: 422 without a word about why. */
struct json status_bad_patch(struct arena *a);
struct json status_bad_request(struct arena *a, str message);
struct json status_unauthorized(struct arena *a);

/* Who wanted to do what: the attributes of a request that was denied. path is set if it is not for a resource. */
struct status_attempt {
    str user, verb, path;
    str group, resource, subresource, namespace, name;
};

struct json status_forbidden_attempt(struct arena *a, const struct status_attempt *attempt, str reason);
/* "configmaps "x" is forbidden: why"; with an empty about "forbidden: why". */
struct json status_forbidden(struct arena *a, struct status_subject about, str why);
/* Creation in a namespace that is being deleted. */
struct json status_namespace_terminating(struct arena *a, struct status_subject about, str namespace);

struct json status_expired(struct arena *a, str message);
struct json status_gone(struct arena *a, str message);
struct json status_too_large(struct arena *a, size_t limit);
struct json status_method_not_allowed(struct arena *a);
struct json status_not_acceptable(struct arena *a, str accepted);
/* The same, of requests that Kubernetes' router refuses. */
struct json status_no_representation(struct arena *a, str available);
struct json status_unsupported_media_type(struct arena *a, str accepted);
/* A PATCH of unknown type. */
struct json status_unsupported_patch(struct arena *a);
struct json status_timeout(struct arena *a, str message, int retry_after);
/* A resourceVersion from the future. */
struct json status_version_too_large(struct arena *a, uint64_t wanted, uint64_t current);
struct json status_server_timeout(struct arena *a, struct status_subject about, str operation, int retry_after);
struct json status_too_many_requests(struct arena *a, str message, int retry_after);
struct json status_unavailable(struct arena *a, str message);
struct json status_internal(struct arena *a, str message);
/* 500 with nothing but a message. */
struct json status_unknown(struct arena *a, str message);
/* The response to a deletion that completed at once. */
struct json status_deleted(struct arena *a, struct status_subject about, str uid);

/* ---- Reading. ---- */

bool status_is_failure(const struct json *status);
int status_get_http(const struct json *status);
/* For the Retry-After header; 0: none. */
int status_get_retry_after(const struct json *status);
/* A Status that came from a server, as an err; returns its code, or 0 for Success. */
int status_to_err(const struct json *status, struct err *err);
