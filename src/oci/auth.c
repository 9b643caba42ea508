/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/auth.h"

#include "json/base64.h"
#include "json/json.h"

#include <strings.h>

enum { CONFIG_MAX = 2 * 1024 * 1024, HELPER_NAME_MAX = 64 };

/* ---- Keys. ---- */

/* One label against another that may hold "*": each stands for any bytes. Both are short, and a label has no dots. */
static bool label_fits(str pattern, str label)
{
    size_t p = 0, l = 0, star = SIZE_MAX, mark = 0;
    while (l < label.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            mark = l;
        } else if (p < pattern.n && strncasecmp(&pattern.p[p], &label.p[l], 1) == 0) {
            p++;
            l++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            l = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}

/* As many labels on both sides, ports included. */
static bool host_fits(str pattern, str host)
{
    str pattern_label, label;
    do {
        bool more = str_cut(pattern, '.', &pattern_label, &pattern), more_host = str_cut(host, '.', &label, &host);
        if (more != more_host || !label_fits(pattern_label, label))
            return false;
    } while (pattern.n && host.n);
    return pattern.n == 0 && host.n == 0;
}

/* All names of Docker Hub are one. */
static str one_name(str host)
{
    return str_eq(host, S("index.docker.io")) || str_eq(host, S("registry-1.docker.io")) ? S("docker.io") : host;
}

/* "https://index.docker.io/v1/" → docker.io and nothing */
static void split_key(str key, str *ret_host, str *ret_path)
{
    ptrdiff_t scheme = str_find(key, S("://"));
    if (scheme >= 0)
        key = str_from(key, (size_t)scheme + 3);
    str_cut(key, '/', ret_host, ret_path);
    while (ret_path->n && ret_path->p[ret_path->n - 1] == '/')
        ret_path->n--;
    if (str_eq(*ret_path, S("v1")) || str_eq(*ret_path, S("v2")))
        *ret_path = (str){0};
    *ret_host = one_name(*ret_host);
}

static bool key_fits(str key, str registry, str path, size_t *ret_length)
{
    str host, prefix;
    split_key(key, &host, &prefix);
    *ret_length = host.n + prefix.n;
    return host_fits(host, one_name(registry)) &&
           (prefix.n == 0 || (str_has_prefix(path, prefix) && (path.n == prefix.n || path.p[prefix.n] == '/')));
}

/* ---- Entries. ---- */

static int bad(struct err *err, const char *what)
{
    return err_set(err, ERR_INVALID, "%s", what);
}

static int read_entry(struct arena *a, const struct json *entry, struct auth *ret, struct err *err)
{
    str auth = json_get_text(entry, S("auth")), both;
    size_t at;
    struct auth found = {.user = json_get_text(entry, S("username")),
                         .password = json_get_text(entry, S("password")),
                         .identity_token = json_get_text(entry, S("identitytoken"))};
    if (found.user.n == 0 && auth.n) {
        if (base64_decode(a, auth, &both, &at) < 0)
            return bad(err, "\"auth\" is no base64");
        if (!str_cut(both, ':', &found.user, &found.password))
            return bad(err, "\"auth\" has no colon between user and password");
        while (found.password.n && found.password.p[found.password.n - 1] == 0)
            found.password.n--; /* old versions of docker pad it */
    }
    *ret = found;
    return 0;
}

static const struct json_limits limits = {.bytes = CONFIG_MAX, .depth = 16};

int auth_find(struct arena *a, const str *configs, size_t n, str registry, str path, struct auth *ret, struct err *err)
{
    const struct json *best = NULL;
    size_t best_length = 0, length;
    *ret = (struct auth){0};
    for (size_t i = 0; i < n; i++) {
        struct json *config = ARENA_NEW(a, struct json);
        if (json_decode(a, configs[i], &limits, NULL, config, NULL) < 0 || !json_is_obj(config))
            return bad(err, "not a docker config JSON");
        const struct json *auths = json_get(config, S("auths"));
        json_each_member(auths, it)
        {
            if (key_fits(json_key(it), registry, path, &length) && (best == NULL || length > best_length)) {
                best = &it->val;
                best_length = length;
            }
        }
    }
    return best ? read_entry(a, best, ret, err) : 0;
}

/* ---- Credential helpers. ---- */

#define HUB "https://index.docker.io/v1/" /* how docker calls Docker Hub */

/* It becomes part of the name of a program. */
static bool is_helper_name(str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!(char_is_alnum(c) || c == '-' || c == '_' || c == '.'))
            return false;
    }
    return name.n <= HELPER_NAME_MAX;
}

int auth_helper(struct arena *a, str config, str registry, struct auth_helper *ret, struct err *err)
{
    struct json tree;
    struct auth_helper found = {.server = str_eq(one_name(registry), S("docker.io")) ? S(HUB) : registry};
    if (json_decode(a, config, &limits, NULL, &tree, NULL) < 0 || !json_is_obj(&tree))
        return bad(err, "not a docker config JSON");
    json_each_member(json_get(&tree, S("credHelpers")), it)
    {
        str host, path;
        split_key(json_key(it), &host, &path);
        if (path.n == 0 && str_eq(host, one_name(registry)))
            found.name = json_text(&it->val);
    }
    if (found.name.n == 0)
        found.name = json_get_text(&tree, S("credsStore"));
    if (!is_helper_name(found.name))
        return bad(err, "invalid name of a credential helper: use letters, digits, dots, dashes and underscores");
    *ret = found;
    return 0;
}

int auth_of_helper(struct arena *a, str output, struct auth *ret, struct err *err)
{
    struct json tree;
    if (json_decode(a, output, &limits, NULL, &tree, NULL) < 0 || !json_is_obj(&tree))
        return bad(err, "the output is not JSON");
    str user = json_get_text(&tree, S("Username")), secret = json_get_text(&tree, S("Secret"));
    if (secret.n == 0)
        return bad(err, "the output has no Secret");
    *ret = str_eq(user, S("<token>")) ? (struct auth){.identity_token = secret} : (struct auth){user, secret, {0}};
    return 0;
}

str auth_config(struct arena *a, str registry, const struct auth *auth)
{
    struct json entry = json_obj(), auths = json_obj(), config = json_obj();
    struct buf text = {.arena = a};
    if (auth->identity_token.n)
        json_add(a, &entry, S("identitytoken"), json_str(auth->identity_token));
    if (auth->user.n) {
        json_add(a, &entry, S("username"), json_str(auth->user));
        json_add(a, &entry, S("password"), json_str(auth->password));
    }
    json_add(a, &auths, registry, entry);
    json_add(a, &config, S("auths"), auths);
    json_encode(&text, &config, 0);
    return buf_str(&text);
}
