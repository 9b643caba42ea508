/* SPDX-License-Identifier: Apache-2.0 */
/* What: one request on its way through the pipeline: what was asked, by whom, how the answer is to look.
 * Owns: nothing but itself: it lives until its exchange is gone; what it points to lives in the arena of the exchange.
 * Threads: the loop thread.
 * Errors: each handler answers exactly once: with one of the api_answer functions or api_refuse. */
#pragma once

#include "api/flow.h"
#include "authz/authz_request.h"
#include "base/vec.h"
#include "net/http.h"
#include "object/kind.h"
#include "object/selector.h"
#include "json/json.h"

struct api;
struct api_request;
struct task;

/* A part of the work of a request, see task.h. Embedded in what it is about. */
struct task_step {
    void (*fn)(struct task_step *step);
    struct task_step *next; /* private */
};

/* ---- What was asked (route.c). ---- */

struct route {
    const struct kind *kind; /* held until the exchange is gone (registry_hold); NULL: not about a resource we have */
    str group, version, resource, subresource, namespace, name; /* as the path has them, decoded */
    str path;                                                   /* the whole path, decoded */
    str rest; /* first segment behind the subresource; there is none in our API */
    bool is_resource;
    bool is_watch_path; /* the old form: /api/v1/watch/… */
    bool is_namespace;  /* about the namespace itself: namespaces/NS, not namespaces/NS/namespaces/OTHER */
    unsigned verb;      /* VERB_…; 0 for paths that are no resources */
};

/* Splits and decodes the path, finds the kind and the verb. Does not judge whether the kind exists or allows the verb: that
 * comes after authorisation. ERR_BAD_REQUEST for tricks: bad escapes, escaped slashes, "//", "." and ".." are refused, never
 * normalised. */
int route_parse(struct api_request *r, struct err *err);
/* As RBAC sees the request. */
struct authz_attributes route_attributes(const struct api_request *r);

/* ---- Its query (query.c). ---- */

struct query_option {
    str name, value; /* decoded */
};

struct query {
    const struct query_option *p;
    size_t n;
};

/* Undoes %41; false when an escape is malformed. */
bool percent_decode(struct arena *a, str s, bool plus_is_space, str *ret);
/* Makes a text fit for one segment of a path or one value of a query. */
void percent_encode(struct buf *b, str s);
int query_parse(struct arena *a, str text, struct query *ret, struct err *err);
/* The first of this name; empty when there is none. */
str query_get(const struct query *q, str name);
bool query_has(const struct query *q, str name);
/* As options are read (watch, sendInitialEvents): there, and neither 0 nor false. */
bool query_flag(const struct query *q, str name);
/* As Go's ParseBool; what is not a boolean is false. */
bool query_true(const struct query *q, str name);
/* timeout=, if it is there, must be a duration as Go writes them: "1m30s". Requests never take as long as one may ask for. */
int query_timeout_check(struct arena *a, const struct query *q, struct err *err);

/* ---- How the answer is to look (negotiate.c). ---- */

enum representation { AS_OBJECT, AS_TABLE, AS_METADATA, AS_DISCOVERY };
enum media { MEDIA_JSON, MEDIA_YAML };

struct accept {
    enum representation as;
    enum media media;
    bool is_pretty;
    str kind; /* of AS_TABLE and AS_METADATA: "Table", "PartialObjectMetadata", "PartialObjectMetadataList" */
    str group_version; /* …and "meta.k8s.io/v1" or "meta.k8s.io/v1beta1"; of AS_DISCOVERY "apidiscovery.k8s.io/v2" or v2beta1 */
};

/* ACCEPT_ROUTED: the path is one of those that Kubernetes has a router for, as those of built-in kinds always are. */
enum { ACCEPT_TABLE = 1, ACCEPT_METADATA = 2, ACCEPT_YAML = 4, ACCEPT_DISCOVERY = 8, ACCEPT_ROUTED = 16 };
/* Picks the first entry of the Accept header that can be served; allowed says which besides plain JSON. Refuses the request
 * with 406, and answers false, when there is none. */
bool negotiate(struct api_request *r, unsigned allowed, struct accept *ret);
/* How a refusal is to look. False, and JSON, when the Accept header wants nothing that a Status can be. */
bool negotiate_refusal(const struct api_request *r, enum media *ret);
/* Which of these types ("application/json", NULL at the end) the Accept header likes best, the first if there is none; -1: none
 * of them. */
int negotiate_type(const struct api_request *r, const char *const *types);
/* By ?pretty, or because somebody looks at it with curl or a browser. */
bool negotiate_is_pretty(const struct api_request *r);

/* ---- The request. ---- */

/* A watch keeps it for as long as it lasts, so what only a part of all requests needs belongs elsewhere: to the arena, the task. */
struct api_request {
    struct api *api;
    struct http_exchange *x;
    struct arena *arena; /* the exchange's */
    str id;              /* Audit-Id */
    struct authz_identity who;
    str token; /* the ServiceAccount token that the client was identified by, before impersonation; empty: none */
    struct route route;
    struct query query;
    VEC(str) warnings;           /* each becomes a Warning header */
    int64_t started;             /* monotonic */
    uint64_t checked;            /* revision at which credentials and permissions were checked */
    int status;                  /* of the answer, for metrics and log */
    uint8_t media;               /* enum media of the answer, as negotiated last */
    bool is_own;                 /* of the server itself or its controllers: the identity was given, not proved */
    bool is_over_budget;         /* the refusal is on its way */
    void (*released)(void *ctx); /* set by a handler that streams; called once, when the exchange is gone */
    void *released_ctx;
    struct flow_entry flow; /* its place among the requests of all users */
    struct task *task;      /* task.h; NULL: it has none */
};

/* ---- Answers (answer.c). All of them add the headers every answer has. ---- */

/* An object or list, as negotiated: JSON or YAML, pretty if asked for. */
void api_answer(struct api_request *r, int status, const struct json *object);
/* False for trees that indentation would blow up: they are printed without it, as JSON. */
bool api_can_indent(const struct json *v);
/* JSON text that is there already; must not be followed by a newline: that is added. */
void api_answer_json(struct api_request *r, int status, str json);
void api_answer_text(struct api_request *r, int status, str content_type, str body);
/* With headers of one's own, which replace those that every answer has (Cache-Control, Content-Type). */
void api_answer_with(struct api_request *r, int status, struct http_headers headers, str body);
/* Head now, body from the source, which is asked only while the user has time left in a turn of the loop (but for watches). */
void api_answer_stream(struct api_request *r, str content_type, struct http_source source);
/* For sources of watches: asks another source for a piece if the user has time left in this turn, else waits for the next. */
enum http_fill api_fill_in_turn(struct api_request *r, struct http_source source, struct buf *out, size_t room);
void api_answer_stream_with(struct api_request *r, struct http_headers headers, struct http_source source);
/* A Status: HTTP code and Retry-After come from it. */
void api_refuse(struct api_request *r, const struct json *status);
void api_refuse_err(struct api_request *r, const struct err *err);
void api_warn(struct api_request *r, str text);
/* As headers have it: "Mon, 16 Nov 2026 00:33:42 GMT". */
str api_date(struct arena *a, int64_t second);
/* For streams that stay (after api_answer_stream): lets go of the request and of everything in its arena, see http_forget. Of r
 * itself only api, x, route.kind, route.verb and released are good afterwards. */
void api_forget(struct api_request *r);

/* The body of a request as an object of the kind expected (JSON, YAML or protobuf by Content-Type): types checked, unknown
 * fields dropped and told as fieldValidation asks for, defaults filled in. False: the request was refused. See api_decode.h. */
struct body {
    struct json object;
    bool was_protobuf;
};

bool body_decode(struct api_request *r, const struct kind *kind, struct body *ret);
