/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/oci_registry.h"
#include "oci/web.h"
#include "json/base64.h"
#include "json/json.h"

#include <stdlib.h>
#include <time.h>

static void oci_registry_close(struct oci_registry *r);

/* What the files of the registry client share. Private to them.
 * Owns, Threads, Errors: as oci/registry.h. */

struct oci_registry {
    struct oci_source source;
    const struct oci_registry_place *place;
    struct arena arena;
    struct web *web;
    struct web_target base;
    str authorization; /* the header, once one was asked for; empty: none */
};

/* One call of the API: authenticated when asked to, followed when sent on (GET and HEAD), repeated when told to wait. */
struct registry_call {
    const char *method;
    str url; /* "/v2/…", or what a registry named */
    str accept, content_type;
    str body;
    const struct web_body *stream;
    size_t max;
    struct oci_sink *sink;
};

static int registry_call(struct oci_registry *r, struct arena *a, const struct registry_call *call,
                         struct web_answer *ret, struct err *err);
static int registry_refused(str host, const struct web_answer *answer, struct err *err);

/* What a registry wants to be shown. Basic: user and password with every call. Bearer: a token that its token service gives for
 * these (or for nothing), for this repository and what we want to do there, whatever scope the registry would like. */

enum { TOKEN_MAX = 64 * 1024, TOKEN_ANSWER_MAX = 256 * 1024 };

static bool has_password(const struct oci_registry *r)
{
    return r->place->user.n > 0;
}

static str basic(const struct oci_registry *r, struct arena *a)
{
    str both = str_fmt(a, "%.*s:%.*s", STR(r->place->user), STR(r->place->password));
    return str_fmt(a, "Authorization: Basic %.*s", STR(base64_encode(a, both)));
}

static void add_escaped(struct buf *b, str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool plain = char_is_alnum(c) || (c != 0 && strchr("-._~", c) != NULL);
        if (plain)
            buf_add_char(b, c);
        else
            buf_fmt(b, "%%%02X", (unsigned char)c);
    }
}

static void add_field(struct buf *b, const char *name, str value)
{
    buf_fmt(b, "%s%s=", b->n ? "&" : "", name);
    add_escaped(b, value);
}

static str scope_of(const struct oci_registry *r, struct arena *a)
{
    return str_fmt(a, "repository:%.*s:%s", STR(r->place->repository), r->place->may_push ? "pull,push" : "pull");
}

/* The question to the token service: a GET, with the password if there is one; with an identity token a POST that shows it. */
static void write_question(const struct oci_registry *r, struct arena *a, const struct challenge *challenge,
                           struct web_request *request, str *ret_url)
{
    struct buf fields = {.arena = a};
    if (challenge->service.n)
        add_field(&fields, "service", challenge->service);
    add_field(&fields, "scope", scope_of(r, a));
    *ret_url = challenge->realm;
    if (r->place->identity_token.n) {
        add_field(&fields, "grant_type", S("refresh_token"));
        add_field(&fields, "client_id", S("reeve"));
        add_field(&fields, "refresh_token", r->place->identity_token);
        request->method = "POST";
        request->body = buf_str(&fields);
        request->headers[1] = S("Content-Type: application/x-www-form-urlencoded");
        return;
    }
    if (has_password(r))
        request->headers[0] = basic(r, a);
    *ret_url = str_fmt(a, "%.*s%s%.*s", STR(challenge->realm), str_find_char(challenge->realm, '?') < 0 ? "?" : "&",
                       STR(buf_str(&fields)));
}

/* Goes into a header: nothing but what a token may be made of. */
static bool is_token(str token)
{
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= ' ' || token.p[i] >= 0x7f)
            return false;
    }
    return token.n > 0 && token.n <= TOKEN_MAX;
}

static int read_token(struct oci_registry *r, struct arena *a, str host, str body, struct err *err)
{
    struct json o;
    const struct json_limits limits = {.bytes = TOKEN_ANSWER_MAX, .depth = 32};
    if (json_decode(a, body, &limits, NULL, &o, NULL) < 0)
        return err_set(err, ERR_BAD_REQUEST, "token service %.*s: its answer is no JSON", STR(host));
    str token = json_get_text(&o, S("token"));
    token = token.n ? token : json_get_text(&o, S("access_token"));
    if (!is_token(token))
        return err_set(err, ERR_BAD_REQUEST, "token service %.*s: there is no token in its answer", STR(host));
    r->authorization = str_fmt(&r->arena, "Authorization: Bearer %.*s", STR(token));
    return 0;
}

static int ask_for_token(struct oci_registry *r, struct arena *a, const struct challenge *challenge, struct err *err)
{
    struct web_target target;
    struct web_answer answer = {0};
    struct web_request request = {.method = "GET", .max = TOKEN_ANSWER_MAX};
    str url;
    write_question(r, a, challenge, &request, &url);
    if (web_target(r->web, a, url, (str){0}, r->base.class, &target, err) < 0)
        return err_wrap(err, "%.*s names a token service", STR(r->place->host));
    if (target.is_plain && !r->base.is_plain)
        return err_set(err, ERR_FORBIDDEN, "%.*s names a token service that speaks plain http", STR(r->place->host));
    request.target = &target;
    if (web_exchange(r->web, a, &request, &answer, err) < 0)
        return err_wrap(err, "token service");
    if (answer.status < 200 || answer.status > 299) {
        registry_refused(target.host, &answer, err);
        return err_wrap(err, "token service");
    }
    return read_token(r, a, target.host, answer.body, err);
}

/* Does what a 401 asks for; the next call shows it. */
static int registry_authenticate(struct oci_registry *r, struct arena *a, const struct challenge *challenge,
                                 struct err *err)
{
    if (challenge->bearer)
        return ask_for_token(r, a, challenge, err);
    if (!challenge->basic)
        return err_set(err, ERR_UNAUTHORIZED, "%.*s answered 401 Unauthorized, and asks for nothing we understand",
                       STR(r->place->host));
    if (!has_password(r))
        return err_set(err, ERR_UNAUTHORIZED, "%.*s answered 401 Unauthorized: there are no credentials for it",
                       STR(r->place->host));
    r->authorization = str_dup(&r->arena, basic(r, a));
    return 0;
}

enum { ERROR_BODY_MAX = 64 * 1024, MESSAGE_MAX = 200, WAIT_MAX_SECONDS = 10 };

#define ACCEPT "Accept: " OCI_TYPE_MANIFEST ", " OCI_TYPE_INDEX ", " DOCKER_TYPE_MANIFEST ", " DOCKER_TYPE_LIST

static str registry_url(const struct oci_registry *r, struct arena *a, const char *kind, str name)
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

/* Says what an answer that is no success means. */
static int registry_refused(str host, const struct web_answer *answer, struct err *err)
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

/* 0: the answer is 2xx. */
static int registry_call(struct oci_registry *r, struct arena *a, const struct registry_call *call,
                         struct web_answer *ret, struct err *err)
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
    struct web_answer answer = {0};
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
    struct web_answer answer = {0};
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

/* Takes NULL. */
static void oci_registry_close(struct oci_registry *r)
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

/* Pushing: blobs first, each in one piece, then the manifests that need them, the named one last. Nothing refers to something that
 * is not there yet. */

enum { PUSH_BLOB_MAX = 512 * 1024 * 1024, PUSH_ANSWER_MAX = 64 * 1024 };

struct push {
    struct oci_registry *r;
    struct oci_source *from;
    const struct oci_watch *watch; /* or NULL */
    struct oci_moved moved;
};

static void tell(const struct push *p)
{
    if (p->watch)
        p->watch->moved(p->watch->ctx, &p->moved);
}

/* A blob in memory, on its way out: libcurl wants to pull, sources push. */
struct outgoing {
    struct push *push;
    str bytes;
    size_t at;
};

static ptrdiff_t give(void *ctx, char *p, size_t n)
{
    struct outgoing *o = ctx;
    str piece = str_upto(str_from(o->bytes, o->at), n);
    if (piece.n)
        memcpy(p, piece.p, piece.n);
    o->at += piece.n;
    o->push->moved.bytes += piece.n;
    tell(o->push);
    return (ptrdiff_t)piece.n;
}

static int has_blob(struct oci_registry *r, struct arena *a, str digest, bool *ret, struct err *err)
{
    struct web_answer answer = {0};
    struct registry_call call = {.method = "HEAD", .url = registry_url(r, a, "blobs", digest)};
    int code = registry_call(r, a, &call, &answer, err);
    *ret = code == 0;
    return code == ERR_NOT_FOUND ? 0 : code;
}

/* POST asks for a place to upload to, PUT sends it all. */
static int put_blob(struct push *p, const struct oci_descriptor *what, struct err *err)
{
    struct oci_registry *r = p->r;
    struct arena a ARENA_SCOPE = {0};
    struct web_answer answer = {0};
    struct outgoing bytes = {.push = p};
    str digest = oci_digest_format(&a, &what->digest);
    bool is_there = false;
    if (has_blob(r, &a, digest, &is_there, err) < 0)
        return err->code;
    if (is_there) {
        p->moved.bytes_of -= what->size;
        return 0;
    }
    if (oci_source_blob_bytes(p->from, &a, what, PUSH_BLOB_MAX, &bytes.bytes, err) < 0)
        return err->code;
    struct registry_call begin = {
        .method = "POST", .url = registry_url(r, &a, "blobs", S("uploads/")), .body = S(""), .max = PUSH_ANSWER_MAX};
    if (registry_call(r, &a, &begin, &answer, err) < 0)
        return err->code;
    if (answer.location.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "%.*s names no place to upload to", STR(r->place->host));
    const struct web_body stream = {bytes.bytes.n, give, &bytes};
    const char *joint = str_find_char(answer.location, '?') < 0 ? "?" : "&";
    struct registry_call put = {
        .method = "PUT",
        .url = str_fmt(&a, "%.*s%sdigest=%.*s", STR(answer.location), joint, STR(digest)),
        .content_type = S("Content-Type: application/octet-stream"),
        .stream = &stream,
        .max = PUSH_ANSWER_MAX,
    };
    return registry_call(r, &a, &put, &answer, err);
}

static int put_document(struct push *p, struct arena *a, str name, const struct oci_document *document, str type,
                        struct err *err)
{
    struct oci_registry *r = p->r;
    struct web_answer answer = {0};
    struct oci_digest said;
    struct outgoing bytes = {.push = p, .bytes = document->bytes};
    const struct web_body stream = {document->bytes.n, give, &bytes};
    struct registry_call put = {
        .method = "PUT",
        .url = registry_url(r, a, "manifests", name),
        .content_type = str_fmt(a, "Content-Type: %.*s", STR(type)),
        .stream = &stream,
        .max = PUSH_ANSWER_MAX,
    };
    if (registry_call(r, a, &put, &answer, err) < 0)
        return err->code;
    if (answer.digest.n && (!oci_digest_parse(answer.digest, &said) || !oci_digest_eq(&said, &document->digest)))
        return err_set(err, ERR_BAD_REQUEST, "%.*s stored another manifest than it was sent", STR(r->place->host));
    return 0;
}

/* What a document needs; those of an index in turn. name: what it is put as. */
static int push_document(struct push *p, const struct oci_document *document, str name, int depth, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    struct oci_manifest m;
    if (depth > OCI_INDEX_DEPTH)
        return err_set(err, ERR_INVALID, "indexes inside indexes go too deep");
    if (oci_manifest_parse(&a, document->bytes, document->media_type, &m, err) < 0)
        return err->code;
    p->moved.of += m.type == OCI_MANIFEST ? m.n_layers : 0;
    p->moved.bytes_of += document->bytes.n + (m.type == OCI_MANIFEST ? m.config.size : 0);
    for (size_t i = 0; m.type == OCI_MANIFEST && i < m.n_layers; i++)
        p->moved.bytes_of += m.layers[i].size;
    tell(p);
    int code = m.type == OCI_MANIFEST ? put_blob(p, &m.config, err) : 0;
    for (size_t i = 0; code == 0 && i < m.n_layers; i++) {
        struct oci_document child;
        if (m.type == OCI_MANIFEST) {
            code = put_blob(p, &m.layers[i], err);
            p->moved.layers += code == 0;
            tell(p);
            continue;
        }
        code = oci_source_document(p->from, &a, &m.layers[i], &child, err);
        if (code == 0)
            code = push_document(p, &child, oci_digest_format(&a, &child.digest), depth + 1, err);
    }
    return code < 0 ? code : put_document(p, &a, name, document, m.media_type, err);
}

int oci_registry_push(struct oci_registry *r, struct oci_source *from, const struct oci_reference *ref,
                      const struct oci_watch *watch, struct oci_digest *ret, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    struct push push = {.r = r, .from = from, .watch = watch};
    struct oci_document document;
    struct oci_reference full = oci_reference_normalize(&a, ref);
    if (oci_source_resolve(from, &a, ref, &document, err) < 0)
        return err->code;
    str name = full.tag.n ? full.tag : oci_digest_format(&a, &document.digest);
    if (push_document(&push, &document, name, 0, err) < 0)
        return err->code;
    *ret = document.digest;
    return 0;
}
