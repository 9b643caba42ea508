/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/registry_inside.h"

#include "json/json.h"

#include <stdlib.h>
#include <time.h>

enum { ERROR_BODY_MAX = 64 * 1024, MESSAGE_MAX = 200, WAIT_MAX_SECONDS = 10 };

#define ACCEPT "Accept: " OCI_TYPE_MANIFEST ", " OCI_TYPE_INDEX ", " DOCKER_TYPE_MANIFEST ", " DOCKER_TYPE_LIST

str registry_url(const struct oci_registry *r, struct arena *a, const char *kind, str name)
{
    return str_fmt(a, "%.*s/v2/%.*s/%s/%.*s", STR(r->place->url), STR(r->place->repository), kind, STR(name));
}

/* ---- Answers that are no success. ---- */

/* What a registry says of an error, if it says it as it should: {"errors":[{"code":"…","message":"…"}]} */
static str message_of(struct arena *a, str body)
{
    const struct json_limits limits = {.bytes = ERROR_BODY_MAX, .depth = 32};
    struct json o;
    struct buf b = {.arena = a};
    if (json_decode(a, body, &limits, NULL, &o, NULL) < 0)
        return (str){0};
    const struct json *errors = json_get(&o, S("errors"));
    const struct json *first = json_len(errors) && json_is_arr(errors) ? &errors->items[0] : &o;
    str text = json_get_text(first, S("message"));
    text = text.n ? text : json_get_text(first, S("code"));
    for (size_t i = 0; i < text.n && b.n < MESSAGE_MAX; i++)
        buf_add_char(&b, text.p[i] >= ' ' && text.p[i] < 0x7f ? text.p[i] : ' ');
    return buf_str(&b);
}

int registry_refused(str host, const struct web_answer *answer, struct err *err)
{
    static const struct {
        int status;
        enum err_code code;
        const char *name;
    } meanings[] = {
        {401, ERR_UNAUTHORIZED, "Unauthorized"},
        {403, ERR_UNAUTHORIZED, "Forbidden"},
        {404, ERR_NOT_FOUND, "Not Found"},
        {405, ERR_METHOD_NOT_ALLOWED, "Method Not Allowed"},
        {429, ERR_TOO_MANY_REQUESTS, "Too Many Requests"},
    };
    struct arena scratch ARENA_SCOPE = {0};
    enum err_code code = answer->status >= 500 ? ERR_UNAVAILABLE : ERR_BAD_REQUEST;
    const char *name = answer->status >= 500 ? "Server Error" : "";
    for (size_t i = 0; i < COUNT(meanings); i++) {
        if (meanings[i].status == answer->status) {
            code = meanings[i].code;
            name = meanings[i].name;
        }
    }
    str message = message_of(&scratch, answer->body);
    return err_set(err, code, "%.*s answered %d%s%s%s%.*s", STR(host), answer->status, name[0] ? " " : "", name,
                   message.n ? ": " : "", STR(message));
}

/* ---- Calls. ---- */

/* One call on its way through redirects, challenges and repetitions. */
struct attempt {
    struct web_target target;
    int redirects, failures;
    bool has_authenticated;
    uint64_t taken; /* bytes that the sink has */
};

static bool may_repeat(const struct registry_call *call)
{
    return call->stream == NULL && (strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0);
}

/* As long as we are told to, within reason; otherwise half a second, then one, … */
static bool wait_for_it(struct oci_registry *r, const struct web_answer *answer, int failures)
{
    uint64_t seconds = 0;
    int64_t ns = INT64_C(250000000) << failures;
    if (answer->retry_after.n && str_to_uint64(answer->retry_after, &seconds))
        ns = (int64_t)(seconds < WAIT_MAX_SECONDS ? seconds : WAIT_MAX_SECONDS) * 1000000000;
    if (ns >= web_time_left(r->web))
        return false;
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    (void)nanosleep(&t, NULL); /* woken early, it only asks early */
    return true;
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static bool is_passing(int status)
{
    return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

static int follow(struct oci_registry *r, struct arena *a, const struct web_answer *answer, struct attempt *t,
                  struct err *err)
{
    if (++t->redirects > OCI_REDIRECTS_MAX)
        return err_set(err, ERR_BAD_REQUEST, "%.*s sends us on more than %d times", STR(r->place->host),
                       OCI_REDIRECTS_MAX);
    struct web_target next;
    if (answer->location.n == 0 ||
        web_target(r->web, a, answer->location, t->target.url, r->base.class, &next, err) < 0) {
        if (answer->location.n == 0)
            err_set(err, ERR_BAD_REQUEST, "to no address");
        return err_wrap(err, "%.*s sends us on", STR(r->place->host));
    }
    if (next.is_plain && !r->base.is_plain)
        return err_set(err, ERR_FORBIDDEN, "%.*s sends us on from https to plain http", STR(r->place->host));
    t->target = next;
    return 0;
}

static int exchange(struct oci_registry *r, struct arena *a, const struct registry_call *call, struct attempt *t,
                    struct web_answer *ret, struct err *err)
{
    struct web_request request = {
        .method = call->method,
        .target = &t->target,
        .headers = {call->accept, call->content_type},
        .body = call->body,
        .stream = call->stream,
        .max = call->max,
        .sink = call->sink,
        .range = t->taken,
    };
    if (str_eq(t->target.authority, r->base.authority))
        request.headers[2] = r->authorization;
    int code = web_exchange(r->web, a, &request, ret, err);
    t->taken += ret->taken;
    return code;
}

/* 1: once more; 0: that is the answer; negative: an error. */
static int judge(struct oci_registry *r, struct arena *a, const struct registry_call *call, struct attempt *t,
                 const struct web_answer *answer, struct err *err)
{
    if (answer->status == 401 && !t->has_authenticated && str_eq(t->target.authority, r->base.authority)) {
        t->has_authenticated = true;
        return registry_authenticate(r, a, &answer->challenge, err) < 0 ? err->code : 1;
    }
    if (is_redirect(answer->status) && may_repeat(call))
        return follow(r, a, answer, t, err) < 0 ? err->code : 1;
    if (is_passing(answer->status) && may_repeat(call) && ++t->failures < OCI_ATTEMPTS_MAX &&
        wait_for_it(r, answer, t->failures))
        return 1;
    return answer->status >= 200 && answer->status < 300 ? 0 : registry_refused(r->place->host, answer, err);
}

int registry_call(struct oci_registry *r, struct arena *a, const struct registry_call *call, struct web_answer *ret,
                  struct err *err)
{
    struct attempt t = {0};
    if (web_target(r->web, a, call->url, r->base.url, r->base.class, &t.target, err) < 0)
        return err->code;
    for (;;) {
        int code = exchange(r, a, call, &t, ret, err);
        if (code < 0) {
            bool can = code == ERR_UNAVAILABLE && may_repeat(call) && ++t.failures < OCI_ATTEMPTS_MAX;
            if (!can || !wait_for_it(r, ret, t.failures))
                return code;
            continue;
        }
        code = judge(r, a, call, &t, ret, err);
        if (code <= 0)
            return code;
    }
}

/* ---- As a source. ---- */

static int get_document(struct oci_registry *r, struct arena *a, str name, struct oci_document *ret, struct err *err)
{
    struct web_answer answer;
    struct oci_digest said;
    struct registry_call call = {
        .method = "GET", .url = registry_url(r, a, "manifests", name), .accept = S(ACCEPT), .max = OCI_DOCUMENT_MAX};
    if (registry_call(r, a, &call, &answer, err) < 0)
        return err->code;
    str type;
    str_cut(answer.content_type, ';', &type, &(str){0});
    *ret = (struct oci_document){.media_type = str_trim(type), .bytes = answer.body};
    if (answer.digest.n == 0)
        return 0;
    if (!oci_digest_parse(answer.digest, &said))
        return err_set(err, ERR_BAD_REQUEST, "%.*s: Docker-Content-Digest is no digest", STR(r->place->host));
    struct oci_digest is = oci_digest_of((enum oci_algorithm)said.algorithm, answer.body);
    if (!oci_digest_eq(&said, &is))
        return err_set(err, ERR_BAD_REQUEST, "%.*s: the manifest is not the one that Docker-Content-Digest speaks of",
                       STR(r->place->host));
    return 0;
}

static str name_of(const struct oci_reference *ref)
{
    if (ref->digest.n)
        return ref->digest;
    return ref->tag.n ? ref->tag : S("latest");
}

static struct oci_registry *registry_of(struct oci_source *s)
{
    return (struct oci_registry *)s; /* its first member */
}

static int resolve(struct oci_source *s, struct arena *a, const struct oci_reference *ref, struct oci_document *ret,
                   struct err *err)
{
    return get_document(registry_of(s), a, name_of(ref), ret, err);
}

static int document(struct oci_source *s, struct arena *a, const struct oci_descriptor *want, struct oci_document *ret,
                    struct err *err)
{
    return get_document(registry_of(s), a, oci_digest_format(a, &want->digest), ret, err);
}

static int blob(struct oci_source *s, const struct oci_descriptor *want, struct oci_sink sink, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct oci_registry *r = registry_of(s);
    struct web_answer answer;
    struct registry_call call = {
        .method = "GET",
        .url = registry_url(r, &scratch, "blobs", oci_digest_format(&scratch, &want->digest)),
        .sink = &sink,
    };
    return registry_call(r, &scratch, &call, &answer, err);
}

static void leave(struct oci_source *s)
{
    (void)s; /* whoever opened the registry closes it */
}

int oci_registry_head(struct oci_registry *r, struct arena *a, const struct oci_reference *ref, struct oci_digest *ret,
                      struct err *err)
{
    struct web_answer answer = {0};
    struct oci_document whole;
    struct registry_call call = {
        .method = "HEAD", .url = registry_url(r, a, "manifests", name_of(ref)), .accept = S(ACCEPT)};
    if (registry_call(r, a, &call, &answer, err) < 0)
        return err->code;
    if (oci_digest_parse(answer.digest, ret))
        return 0;
    if (oci_source_resolve(&r->source, a, ref, &whole, err) < 0) /* it does not say */
        return err->code;
    *ret = whole.digest;
    return 0;
}

/* ---- Life. ---- */

static const struct oci_source_ops ops = {resolve, document, blob, leave};

int oci_registry_open(const struct oci_registry_place *place, struct oci_registry **ret, struct err *err)
{
    struct oci_registry *r = xcalloc(1, sizeof *r);
    r->source.ops = &ops;
    r->place = place;
    const struct web_options options = {
        .curl = &place->curl,
        .ca = place->ca,
        .ports = place->ports,
        .n_ports = place->n_ports,
        .deadline_ns = clock_system.mono_ns(NULL) + place->timeout_ns,
    };
    if (web_open(&options, &r->web, err) < 0 ||
        web_target(r->web, &r->arena, place->url, (str){0}, PLACE_THIS, &r->base, err) < 0) {
        oci_registry_close(r);
        return err->code;
    }
    *ret = r;
    return 0;
}

void oci_registry_close(struct oci_registry *r)
{
    if (r == NULL)
        return;
    web_close(r->web);
    arena_done(&r->arena);
    free(r);
}

struct oci_source *oci_registry_source(struct oci_registry *r)
{
    return &r->source;
}
