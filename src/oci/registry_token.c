/* SPDX-License-Identifier: Apache-2.0 */
/* What a registry wants to be shown. Basic: user and password with every call. Bearer: a token that its token service gives for
 * these (or for nothing), for this repository and what we want to do there, whatever scope the registry would like. */
#include "oci/registry_inside.h"

#include "json/base64.h"
#include "json/json.h"

enum { TOKEN_MAX = 64 * 1024, ANSWER_MAX = 256 * 1024 };

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
    const struct json_limits limits = {.bytes = ANSWER_MAX, .depth = 32};
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
    struct web_answer answer;
    struct web_request request = {.method = "GET", .max = ANSWER_MAX};
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

int registry_authenticate(struct oci_registry *r, struct arena *a, const struct challenge *challenge, struct err *err)
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
