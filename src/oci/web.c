/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/web.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum {
    HEADERS_MAX = 64 * 1024,
    ERROR_BODY_MAX = 16 * 1024,
    CONNECT_MS = 10000,
    SLOW_BYTES = 512, /* a second, for… */
    SLOW_SECONDS = 20,
};

struct known_place {
    struct known_place *next;
    struct place place;
};

struct web {
    struct arena arena;
    struct web_options options;
    const struct curl *curl;
    CURL *easy;
    struct known_place *places;
};

/* One exchange under way. */
struct exchange {
    struct web *w;
    struct arena *a;
    const struct web_request *request;
    struct web_answer *answer;
    struct buf body;
    size_t header_bytes;
    struct err err; /* code set: why it was broken off */
    bool is_enough; /* the rest of an error's text is of no interest */
    char problem[CURL_ERROR_SIZE];
};

int64_t web_time_left(const struct web *w)
{
    return w->options.deadline_ns - clock_system.mono_ns(NULL);
}

/* ---- Where to. ---- */

/* Each host once, so that it cannot move while we look. */
static int find_place(struct web *w, str host, uint16_t port, enum place_class least, const struct place **ret,
                      struct err *err)
{
    for (struct known_place *it = w->places; it; it = it->next) {
        if (!str_eq(it->place.host, host) || it->place.port != port)
            continue;
        if (it->place.class < least)
            return err_set(err, ERR_FORBIDDEN, "%.*s is at an address that may not be connected to from there",
                           STR(host));
        *ret = &it->place;
        return 0;
    }
    struct known_place *known = ARENA_NEW(&w->arena, struct known_place);
    if (place_resolve(&w->arena, host, port, least, &known->place, err) < 0)
        return err->code;
    known->next = w->places;
    w->places = known;
    *ret = &known->place;
    return 0;
}

static bool is_port_allowed(const struct web *w, uint16_t port)
{
    for (size_t i = 0; i < w->options.n_ports; i++) {
        if (w->options.ports[i] == port)
            return true;
    }
    return false;
}

/* A part of a URL as text; empty when it has none. */
static str part_of(struct web *w, struct arena *a, CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    if (w->curl->url_get(url, part, &text, flags) != CURLUE_OK || text == NULL)
        return (str){0};
    str copy = str_dup(a, str_of(text));
    w->curl->free(text);
    return copy;
}

static int check_target(struct web *w, struct arena *a, CURLU *url, enum place_class least, struct web_target *ret,
                        struct err *err)
{
    uint64_t port = 0;
    str scheme = part_of(w, a, url, CURLUPART_SCHEME, 0), host = part_of(w, a, url, CURLUPART_HOST, 0);
    str port_text = part_of(w, a, url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    *ret = (struct web_target){.url = part_of(w, a, url, CURLUPART_URL, 0), .is_plain = str_eq(scheme, S("http"))};
    if (host.n > 2 && host.p[0] == '[')
        host = str_upto(str_from(host, 1), host.n - 2);
    ret->host = host;
    ret->authority = str_fmt(a, "%.*s://%.*s:%.*s", STR(scheme), STR(host), STR(port_text));
    if (part_of(w, a, url, CURLUPART_USER, 0).n || part_of(w, a, url, CURLUPART_PASSWORD, 0).n)
        return err_set(err, ERR_FORBIDDEN, "%.*s: an address with a user in it is not used", STR(host));
    if (!ret->is_plain && !str_eq(scheme, S("https")))
        return err_set(err, ERR_FORBIDDEN, "%.*s: only https is spoken, not %.*s", STR(host),
                       STR(str_upto(scheme, 20)));
    if (ret->is_plain && !place_is_local_name(host))
        return err_set(err, ERR_FORBIDDEN, "%.*s: plain http is spoken on this machine only", STR(host));
    if (!str_to_uint64(port_text, &port) || port == 0 || port > UINT16_MAX || !is_port_allowed(w, (uint16_t)port))
        return err_set(err, ERR_FORBIDDEN,
                       "%.*s: port %.*s is neither 443, nor the registry's, nor one that was allowed", STR(host),
                       STR(str_upto(port_text, 10)));
    if (!ret->is_plain && w->options.ca.n == 0)
        return err_set(err, ERR_FORBIDDEN, "%.*s: there are no certificates to trust for https", STR(host));
    int code = find_place(w, host, (uint16_t)port, least, &ret->place, err);
    ret->class = code < 0 ? PLACE_NEVER : ret->place->class;
    return code;
}

int web_target(struct web *w, struct arena *a, str url, str base, enum place_class least, struct web_target *ret,
               struct err *err)
{
    CURLU *parsed = w->curl->url();
    if (parsed == NULL)
        abort();
    if ((base.n && w->curl->url_set(parsed, CURLUPART_URL, str_cstr(a, base), 0) != CURLUE_OK) ||
        memchr(url.p, 0, url.n) || w->curl->url_set(parsed, CURLUPART_URL, str_cstr(a, url), 0) != CURLUE_OK) {
        w->curl->url_cleanup(parsed);
        return err_set(err, ERR_BAD_REQUEST, "an address makes no sense");
    }
    int code = check_target(w, a, parsed, least, ret, err);
    w->curl->url_cleanup(parsed);
    return code;
}

/* ---- Life. ---- */

int web_open(const struct web_options *options, struct web **ret, struct err *err)
{
    struct web *w = xcalloc(1, sizeof *w);
    w->options = *options;
    w->curl = options->curl;
    w->easy = w->curl->init();
    if (w->easy == NULL) {
        web_close(w);
        return err_set(err, ERR_UNAVAILABLE, "libcurl does not start");
    }
    *ret = w;
    return 0;
}

void web_close(struct web *w)
{
    if (w == NULL)
        return;
    if (w->easy)
        w->curl->cleanup(w->easy);
    arena_done(&w->arena);
    free(w);
}

/* ---- What libcurl calls. ---- */

/* Only the addresses that were looked up for this host. */
static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct exchange *x = ctx;
    if (purpose != CURLSOCKTYPE_IPCXN || !place_has(x->request->target->place, &address->addr))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* "Name: value": true, and the value, when it has this name. */
static bool header_is(str line, const char *name, str *ret)
{
    size_t n = strlen(name);
    if (line.n <= n || line.p[n] != ':' || strncasecmp(line.p, name, n) != 0)
        return false;
    *ret = str_trim(str_from(line, n + 1));
    return true;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is libcurl's */
static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    struct web_answer *answer = x->answer;
    str line = {p, size * n}, value;
    x->header_bytes += line.n;
    if (x->header_bytes > HEADERS_MAX) {
        err_set(&x->err, ERR_BAD_REQUEST, "answered with more than %d bytes of headers", HEADERS_MAX);
        return 0;
    }
    if (str_has_prefix(line, S("HTTP/"))) /* of an answer after 100 Continue */
        *answer = (struct web_answer){0};
    if (header_is(line, "WWW-Authenticate", &value)) {
        challenge_add(x->a, value, &answer->challenge);
        return line.n;
    }
    const struct {
        const char *name;
        str *to;
    } wanted[] = {
        {"Content-Type", &answer->content_type},    {"Location", &answer->location},
        {"Docker-Content-Digest", &answer->digest}, {"Retry-After", &answer->retry_after},
        {"Content-Encoding", &answer->encoding},    {"Content-Range", &answer->content_range},
    };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        if (wanted[i].to->n == 0 && header_is(line, wanted[i].name, &value))
            *wanted[i].to = str_dup(x->a, value);
    }
    return line.n;
}

static bool is_good(int status)
{
    return status >= 200 && status < 300;
}

/* What the status was is known when the body begins. */
static void read_status(struct exchange *x)
{
    long status = 0;
    if (x->w->curl->getinfo(x->w->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK)
        x->answer->status = (int)status;
}

/* Is this what was asked for, from that byte on? */
static bool is_range(const struct exchange *x)
{
    str want = str_fmt(x->a, "bytes %llu-", (unsigned long long)x->request->range);
    return x->answer->status == 206 && str_has_prefix(x->answer->content_range, want);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the same */
static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    str piece = {p, size * n};
    read_status(x);
    if (!is_good(x->answer->status)) {
        buf_add_str(&x->body, str_upto(piece, ERROR_BODY_MAX - x->body.n));
        x->is_enough = x->body.n == ERROR_BODY_MAX;
        return x->is_enough ? 0 : piece.n;
    }
    if (x->answer->encoding.n && strncasecmp(x->answer->encoding.p, "identity", x->answer->encoding.n) != 0) {
        err_set(&x->err, ERR_BAD_REQUEST, "answered with a Content-Encoding that nobody asked for");
        return 0;
    }
    if (x->request->sink && (x->answer->status == 200 || x->answer->status == 206)) {
        if (x->request->range && !is_range(x)) {
            err_set(&x->err, ERR_UNAVAILABLE, "broke off, and cannot go on where it was");
            return 0;
        }
        if (x->request->sink->take(x->request->sink->ctx, piece, &x->err) < 0)
            return 0;
        x->answer->taken += piece.n;
        return piece.n;
    }
    if (piece.n > x->request->max - x->body.n) {
        err_set(&x->err, ERR_TOO_LARGE, "answered with more than %zu bytes", x->request->max);
        return 0;
    }
    buf_add_str(&x->body, piece);
    return piece.n;
}

static size_t on_upload(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    const struct web_body *stream = x->request->stream;
    ptrdiff_t given = stream->give(stream->ctx, p, size * n);
    return given < 0 ? CURL_READFUNC_ABORT : (size_t)given;
}

/* ---- One exchange. ---- */

static struct curl_slist *headers_of(struct exchange *x)
{
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < COUNT(x->request->headers); i++) {
        if (x->request->headers[i].n)
            list = x->w->curl->append(list, str_cstr(x->a, x->request->headers[i]));
    }
    list = x->w->curl->append(list, "Expect:"); /* no 100 Continue */
    if (list == NULL)
        abort();
    return list;
}

/* "host:port:address,address" */
static struct curl_slist *addresses_of(struct exchange *x)
{
    const struct place *place = x->request->target->place;
    struct buf b = {.arena = x->a};
    char text[INET6_ADDRSTRLEN];
    buf_fmt(&b, "%.*s:%u:", STR(place->host), place->port);
    for (size_t i = 0; i < place->n; i++) {
        bool is_v6 = place->addresses[i].ss_family == AF_INET6;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        memcpy(&in, &place->addresses[i], sizeof in);
        memcpy(&in6, &place->addresses[i], sizeof in6);
        const void *bytes = is_v6 ? (const void *)&in6.sin6_addr : (const void *)&in.sin_addr;
        buf_fmt(&b, is_v6 ? "%s[%s]" : "%s%s", i ? "," : "",
                inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes, text, sizeof text));
    }
    struct curl_slist *list = x->w->curl->append(NULL, str_cstr(x->a, buf_str(&b)));
    if (list == NULL)
        abort();
    return list;
}

/* An option that every libcurl we take has. */
#define SET(x, option, value) (void)(x)->w->curl->setopt((x)->w->easy, (option), (value))

static void set_limits(struct exchange *x)
{
    int64_t left = web_time_left(x->w) / NS_PER_MS;
    SET(x, CURLOPT_NOSIGNAL, 1L);
    SET(x, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    SET(x, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
    SET(x, CURLOPT_LOW_SPEED_TIME, (long)SLOW_SECONDS);
    SET(x, CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 1));
    SET(x, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(x, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(x, CURLOPT_FOLLOWLOCATION, 0L);
    SET(x, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(x, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(x, CURLOPT_PROXY, ""); /* none */
    if (x->w->options.ca.n) {
        struct curl_blob ca = {(char *)(uintptr_t)x->w->options.ca.p, x->w->options.ca.n, CURL_BLOB_NOCOPY};
        SET(x, CURLOPT_CAINFO_BLOB, &ca);
    }
    SET(x, CURLOPT_CAPATH, NULL);
}

static void set_request(struct exchange *x)
{
    const struct web_request *r = x->request;
    SET(x, CURLOPT_URL, str_cstr(x->a, r->target->url));
    SET(x, CURLOPT_USERAGENT, "reeve");
    if (strcmp(r->method, "HEAD") == 0) {
        SET(x, CURLOPT_NOBODY, 1L);
    } else if (r->stream) {
        SET(x, CURLOPT_UPLOAD, 1L);
        SET(x, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->stream->size);
        SET(x, CURLOPT_READFUNCTION, on_upload);
        SET(x, CURLOPT_READDATA, x);
    } else if (r->body.p) {
        SET(x, CURLOPT_POSTFIELDS, r->body.p);
        SET(x, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
    }
    if (r->stream || r->body.p)
        SET(x, CURLOPT_CUSTOMREQUEST, r->method);
    if (r->range)
        SET(x, CURLOPT_RANGE, str_cstr(x->a, str_fmt(x->a, "%llu-", (unsigned long long)r->range)));
    SET(x, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    SET(x, CURLOPT_OPENSOCKETDATA, x);
    SET(x, CURLOPT_HEADERFUNCTION, on_header);
    SET(x, CURLOPT_HEADERDATA, x);
    SET(x, CURLOPT_WRITEFUNCTION, on_body);
    SET(x, CURLOPT_WRITEDATA, x);
    SET(x, CURLOPT_ERRORBUFFER, x->problem);
}

/* What libcurl says, in our terms. */
static int explain(struct exchange *x, CURLcode result, struct err *err)
{
    const char *problem = x->problem[0] ? x->problem : x->w->curl->strerror(result);
    enum err_code code = ERR_UNAVAILABLE;
    if (x->err.code) {
        *err = x->err;
        return err_wrap(err, "%.*s", STR(x->request->target->host));
    }
    if (result == CURLE_OPERATION_TIMEDOUT)
        code = ERR_TIMEOUT;
    else if (result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE)
        code = ERR_FORBIDDEN;
    else if (result == CURLE_WEIRD_SERVER_REPLY || result == CURLE_UNSUPPORTED_PROTOCOL ||
             result == CURLE_BAD_CONTENT_ENCODING)
        code = ERR_BAD_REQUEST;
    return err_set(err, code, "%.*s: %.300s", STR(x->request->target->host), problem);
}

int web_exchange(struct web *w, struct arena *a, const struct web_request *request, struct web_answer *ret,
                 struct err *err)
{
    struct exchange x = {.w = w, .a = a, .request = request, .answer = ret, .body = {.arena = a}};
    *ret = (struct web_answer){0};
    if (web_time_left(w) <= 0)
        return err_set(err, ERR_TIMEOUT, "%.*s: it took too long", STR(request->target->host));
    w->curl->reset(w->easy);
    struct curl_slist *headers = headers_of(&x), *addresses = addresses_of(&x);
    set_limits(&x);
    set_request(&x);
    SET(&x, CURLOPT_HTTPHEADER, headers);
    SET(&x, CURLOPT_RESOLVE, addresses);
    CURLcode result = w->curl->perform(w->easy);
    w->curl->free_all(headers);
    w->curl->free_all(addresses);
    read_status(&x);
    ret->body = buf_str(&x.body);
    if (result != CURLE_OK && !x.is_enough)
        return explain(&x, result, err);
    return 0;
}
