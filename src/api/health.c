/* SPDX-License-Identifier: Apache-2.0 */
#include "api/health.h"

#include <stdlib.h>

#include "api/discovery.h"
#include "api/metrics.h"
#include "authn/authn_token.h"

#define TEXT S("text/plain; charset=utf-8")

/* ---- Checks. They have the names that operators of Kubernetes know: "etcd" is our store. ---- */

enum { HEALTHZ = 1, LIVEZ = 2, READYZ = 4 };

/* Why something is not well, or NULL. */
static const char *check_ping(const struct api *api)
{
    (void)api;
    return NULL;
}

/* Not part of livez: a full disk is no reason to be restarted, as everything can still be read. */
static const char *check_store(const struct api *api)
{
    struct store_stats stats = store_stats(api->store);
    if (stats.is_full)
        return "no space left to store objects: only deletions are accepted";
    return stats.is_failing ? "the last write to disk failed" : NULL;
}

static const char *check_start(const struct api *api)
{
    return api->is_ready ? NULL : "not finished";
}

static const char *check_shutdown(const struct api *api)
{
    return api->is_draining ? "process is shutting down" : NULL;
}

struct check {
    const char *name;
    unsigned of;
    const char *(*why)(const struct api *api);
};

static const struct check checks[] = {
    {"ping", HEALTHZ | LIVEZ | READYZ, check_ping},
    {"etcd", HEALTHZ | READYZ, check_store},
    {"informer-sync", READYZ, check_start},
    {"poststarthook/start-system-namespaces-controller", HEALTHZ | LIVEZ | READYZ, check_start},
    {"poststarthook/rbac/bootstrap-roles", HEALTHZ | LIVEZ | READYZ, check_start},
    {"shutdown", READYZ, check_shutdown},
};

enum { N_CHECKS = COUNT(checks) };

static const struct {
    const char *path;
    unsigned of;
} roots[] = {{"/healthz", HEALTHZ}, {"/livez", LIVEZ}, {"/readyz", READYZ}};

enum { N_ROOTS = COUNT(roots) };

static bool is_excluded(const struct api_request *r, const char *name)
{
    for (size_t i = 0; i < r->query.n; i++)
        if (str_eq(r->query.p[i].name, S("exclude")) && str_eq(r->query.p[i].value, str_of(name)))
            return true;
    return false;
}

static int by_text(const void *l, const void *r)
{
    return str_cmp(*(const str *)l, *(const str *)r);
}

/* A line about names that were to be left out but are no checks here. */
static void add_unknown_excludes(struct api_request *r, struct buf *b, unsigned of)
{
    VEC(str) unknown = {0};
    for (size_t i = 0; i < r->query.n; i++) {
        bool is_known = !str_eq(r->query.p[i].name, S("exclude"));
        for (size_t c = 0; !is_known && c < N_CHECKS; c++)
            is_known = checks[c].of & of && str_eq(r->query.p[i].value, str_of(checks[c].name));
        if (!is_known)
            *vec_push(r->arena, &unknown) = r->query.p[i].value;
    }
    if (unknown.n == 0)
        return;
    qsort(unknown.p, unknown.n, sizeof unknown.p[0], by_text);
    buf_add_str(b, S("warn: some health checks cannot be excluded: no matches for "));
    for (size_t i = 0; i < unknown.n; i++) {
        if (i && str_eq(unknown.p[i], unknown.p[i - 1]))
            continue;
        if (i)
            buf_add_char(b, ',');
        buf_add_quoted(b, unknown.p[i]);
    }
    buf_add_char(b, '\n');
}

static void answer_text(struct api_request *r, int status, str body)
{
    const struct http_header headers[] = {{S("Content-Type"), TEXT}, {S("X-Content-Type-Options"), S("nosniff")}};
    api_answer_with(r, status, (struct http_headers){headers, 2}, body);
}

/* Why a check failed is told only to those who may ask for it by name. */
static void answer_all(struct api_request *r, size_t root)
{
    struct buf b = {.arena = r->arena};
    bool is_well = true;
    for (size_t i = 0; i < N_CHECKS; i++) {
        const struct check *c = &checks[i];
        if (!(c->of & roots[root].of))
            continue;
        if (is_excluded(r, c->name)) {
            buf_fmt(&b, "[+]%s excluded: ok\n", c->name);
        } else if (c->why(r->api)) {
            is_well = false;
            buf_fmt(&b, "[-]%s failed: reason withheld\n", c->name);
        } else {
            buf_fmt(&b, "[+]%s ok\n", c->name);
        }
    }
    add_unknown_excludes(r, &b, roots[root].of);
    buf_fmt(&b, "%s check %s\n", roots[root].path + 1, is_well ? "passed" : "failed");
    bool is_short = is_well && !query_has(&r->query, S("verbose"));
    answer_text(r, is_well ? 200 : 500, is_short ? S("ok") : buf_str(&b));
}

static bool answer_one(struct api_request *r, size_t root, str name)
{
    for (size_t i = 0; i < N_CHECKS; i++) {
        if (!(checks[i].of & roots[root].of) || !str_eq(name, str_of(checks[i].name)))
            continue;
        const char *why = checks[i].why(r->api);
        if (why)
            answer_text(r, 500, str_fmt(r->arena, "internal server error: %s\n", why));
        else
            answer_text(r, 200, S("ok"));
        return true;
    }
    return false;
}

static bool handle_checks(struct api_request *r)
{
    str path = r->route.path;
    for (size_t i = 0; i < N_ROOTS; i++) {
        str root = str_of(roots[i].path);
        if (str_eq(path, root)) {
            answer_all(r, i);
            return true;
        }
        if (str_has_prefix(path, root) && path.p[root.n] == '/')
            return answer_one(r, i, str_from(path, root.n + 1));
    }
    return false;
}

/* ---- Who we are. ---- */

#if defined(__x86_64__)
#define MACHINE "amd64"
#elif defined(__aarch64__)
#define MACHINE "arm64"
#else
#define MACHINE "unknown"
#endif

/* Clients look at major and minor, or read gitVersion as a semantic version: what is behind the plus does not count. */
static void answer_version(struct api_request *r)
{
    api_answer_text(r, 200, S("application/json"),
                    S("{\n"
                      "  \"major\": \"1\",\n"
                      "  \"minor\": \"32\",\n"
                      "  \"gitVersion\": \"v1.32.4+reeve-" REEVE_VERSION "\",\n"
                      "  \"gitCommit\": \"\",\n"
                      "  \"gitTreeState\": \"\",\n"
                      "  \"buildDate\": \"1970-01-01T00:00:00Z\",\n"
                      "  \"goVersion\": \"\",\n"
                      "  \"compiler\": \"cc\",\n"
                      "  \"platform\": \"linux/" MACHINE "\"\n"
                      "}"));
}

/* ---- The list of paths. ---- */

typedef VEC(str) paths;

static void add_group_paths(struct arena *a, paths *all, struct discovery_groups groups)
{
    for (size_t g = 0; g < groups.n; g++) {
        const char *name = groups.p[g].name, *root = name[0] ? "/apis/" : "/api";
        if (name[0])
            *vec_push(a, all) = str_fmt(a, "%s%s", root, name);
        for (size_t v = 0; v < groups.p[g].n; v++)
            *vec_push(a, all) = str_fmt(a, "%s%s/%s", root, name, groups.p[g].versions[v].version);
    }
}

static void answer_paths(struct api_request *r)
{
    static const char *const fixed[] = {"/.well-known/openid-configuration",
                                        "/api",
                                        "/apis",
                                        "/apis/",
                                        "/metrics",
                                        "/openapi/v2",
                                        "/openapi/v3",
                                        "/openid/v1/jwks",
                                        "/version"};
    struct arena *a = r->arena;
    paths all = {0};
    for (size_t i = 0; i < COUNT(fixed); i++)
        *vec_push(a, &all) = str_of(fixed[i]);
    for (size_t i = 0; i < N_ROOTS; i++) {
        *vec_push(a, &all) = str_of(roots[i].path);
        for (size_t c = 0; c < N_CHECKS; c++)
            if (checks[c].of & roots[i].of)
                *vec_push(a, &all) = str_fmt(a, "%s/%s", roots[i].path, checks[c].name);
    }
    add_group_paths(a, &all, discovery_groups(r->api->discovery));
    qsort(all.p, all.n, sizeof all.p[0], by_text);
    struct json list = json_arr_sized(a, all.n), object = json_obj();
    for (size_t i = 0; i < all.n; i++)
        json_push(a, &list, json_str(all.p[i]));
    json_add(a, &object, S("paths"), list);
    struct buf b = {.arena = a};
    json_encode(&b, &object, JSON_PRETTY);
    api_answer_text(r, 200, S("application/json"), buf_str(&b));
}

/* ---- What is asked about tokens. ---- */

static void answer_openid(struct api_request *r, str type, str body)
{
    const struct http_header headers[] = {{S("Content-Type"), type}, {S("Cache-Control"), S("public, max-age=3600")}};
    api_answer_with(r, 200, (struct http_headers){headers, 2}, body);
}

bool health_handle(struct api_request *r)
{
    const struct api_options *options = &r->api->options;
    str path = r->route.path;
    struct buf b = {.arena = r->arena};
    if (handle_checks(r))
        return true;
    if (str_eq(path, S("/version")) || str_eq(path, S("/version/"))) {
        answer_version(r);
    } else if (str_eq(path, S("/"))) {
        answer_paths(r);
    } else if (str_eq(path, S("/metrics"))) {
        metrics_format(r->api, &b);
        api_answer_text(r, 200, S("text/plain; version=0.0.4; charset=utf-8"), buf_str(&b));
    } else if (options->signer && str_eq(path, S("/openid/v1/jwks"))) {
        answer_openid(r, S("application/jwk-set+json"), token_jwks(options->signer, r->arena));
    } else if (options->signer && str_eq(path, S("/.well-known/openid-configuration"))) {
        str body = token_openid_configuration(options->signer, r->arena, options->address);
        answer_openid(r, S("application/json"), body);
    } else {
        return false;
    }
    return true;
}
