/* SPDX-License-Identifier: Apache-2.0 */
#include "api/page.h"

#include "json/base64.h"
#include "json/json.h"

static const str token_version = S_INIT("meta.k8s.io/v1");

/* ---- base64url without padding, as Go's RawURLEncoding. ---- */

static str url_encode(struct arena *a, str bytes)
{
    str padded = base64_encode(a, bytes);
    char *p = arena_alloc_aligned(a, padded.n + 1, 1);
    size_t n = 0;
    for (; n < padded.n && padded.p[n] != '='; n++)
        p[n] = padded.p[n] == '+' ? '-' : padded.p[n] == '/' ? '_' : padded.p[n];
    return (str){p, n};
}

static int refuse_at(size_t at, struct err *err)
{
    return err_set(err, ERR_BAD_REQUEST, "continue key is not valid: illegal base64 data at input byte %zu", at);
}

static int url_decode(struct arena *a, str text, str *ret, struct err *err)
{
    char *p = arena_alloc_aligned(a, text.n + 3, 1);
    size_t n = 0, at;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '+' || c == '/' || c == '=')
            return refuse_at(i, err);
        p[n++] = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
    }
    if (n % 4 == 1)
        return refuse_at(n - 1, err);
    while (n % 4 != 0)
        p[n++] = '=';
    return base64_decode(a, (str){p, n}, ret, &at) < 0 ? refuse_at(at, err) : 0;
}

/* ---- Tokens. ---- */

str page_token_format(struct arena *a, const struct page_token *t, bool with_namespace)
{
    struct buf key = {.arena = a}, text = {.arena = a};
    if (with_namespace) {
        buf_add_str(&key, t->namespace);
        buf_add_char(&key, '/');
    }
    buf_add_str(&key, t->name);
    buf_add_char(&key, '\0'); /* the smallest key behind it */
    buf_fmt(&text, "{\"v\":\"%.*s\",\"rv\":%lld,\"start\":", STR(token_version), (long long)t->revision);
    json_encode_str(&text, buf_str(&key));
    if (t->left > 0)
        buf_fmt(&text, ",\"left\":%lld", (long long)t->left);
    buf_add_char(&text, '}');
    return url_encode(a, buf_str(&text));
}

static int refuse_type(const struct json *v, const char *field, const char *type, struct err *err)
{
    const char *got = json_is_num(v) ? "number" : json_type(v) == JSON_BOOL ? "bool" : json_type_name(v);
    if (field == NULL)
        return err_set(err, ERR_BAD_REQUEST,
                       "continue key is not valid: json: cannot unmarshal %s into Go value of type %s", got, type);
    struct buf number = {0};
    if (json_is_num(v)) {
        buf_add_char(&number, ' ');
        json_encode_number(&number, v);
    }
    (void)err_set(
        err, ERR_BAD_REQUEST,
        "continue key is not valid: json: cannot unmarshal %s%.*s into Go struct field continueToken.%s of type %s",
        got, STR(buf_str(&number)), field, type);
    buf_done(&number);
    return ERR_BAD_REQUEST;
}

static int take_text(const struct json *token, const char *field, str *ret, struct err *err)
{
    const struct json *v = json_get(token, str_of(field));
    if (!json_is_null(v) && !json_is_str(v))
        return refuse_type(v, field, "string", err);
    *ret = json_text(v);
    return 0;
}

static int take_fields(const struct json *token, str *ret_version, int64_t *ret_rv, str *ret_start, struct err *err)
{
    if (!json_is_null(token) && !json_is_obj(token))
        return refuse_type(token, NULL, "storage.continueToken", err);
    int code = take_text(token, "v", ret_version, err);
    if (code < 0)
        return code;
    const struct json *rv = json_get(token, S("rv"));
    *ret_rv = 0;
    if (!json_is_null(rv) && json_type(rv) != JSON_INT)
        return refuse_type(rv, "rv", "int64", err);
    if (rv)
        *ret_rv = rv->i;
    return take_text(token, "start", ret_start, err);
}

/* Tokens of others have none. */
static int64_t left_of(const struct json *token)
{
    const struct json *left = json_get(token, S("left"));
    return json_type(left) == JSON_INT && left->i > 0 ? left->i : 0;
}

/* The key in its parts. One that path tricks could hide in, or that no page ends with, is none of ours. */
static bool split_key(str start, bool with_namespace, struct page_token *ret)
{
    if (start.p[0] == '/') /* servers before us put it there, and clients may hold such tokens */
        start = str_from(start, 1);
    if (start.n == 0 || start.p[start.n - 1] != '\0')
        return false;
    start.n--;
    ret->namespace = (str){0};
    ret->name = start;
    if (with_namespace && (!str_cut(start, '/', &ret->namespace, &ret->name) || ret->namespace.n == 0))
        return false;
    if (str_find_char(ret->name, '/') >= 0 || str_find_char(start, '\0') >= 0)
        return false;
    return ret->name.n && !str_eq(ret->name, S(".")) && !str_eq(ret->name, S(".."));
}

int page_token_parse(struct arena *a, str text, bool with_namespace, struct page_token *ret, struct err *err)
{
    str bytes = {0}, version = {0}, start = {0};
    struct json token;
    if (text.n > PAGE_TOKEN_MAX)
        return err_set(err, ERR_BAD_REQUEST, "continue key is not valid: longer than %d bytes", PAGE_TOKEN_MAX);
    int code = url_decode(a, text, &bytes, err);
    if (code < 0)
        return code;
    code = json_decode(a, bytes, NULL, NULL, &token, err);
    if (code < 0)
        return err_wrap(err, "continue key is not valid");
    code = take_fields(&token, &version, &ret->revision, &start, err);
    if (code < 0)
        return code;
    ret->left = left_of(&token);
    if (!str_eq(version, token_version))
        return err_set(err, ERR_BAD_REQUEST,
                       "continue key is not valid: server does not recognize this encoded version %.*s", STR(version));
    if (ret->revision == 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
    if (start.n == 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)");
    if (!split_key(start, with_namespace, ret))
        return err_set(err, ERR_BAD_REQUEST, "continue key is not valid: %.*s", STR(start));
    return 0;
}
