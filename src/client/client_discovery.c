/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client_discovery.h"

#include "client/client_discovery_read.h"
#include "client/client_internal.h"

#define ACCEPT                                                                   \
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"      \
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," \
    "application/json"

/* Whoever acts on what a server does not have must not mistake a proxy's words for its answer. */
static int read_groups(struct client *c, struct discovery_reader *r, str path, struct err *err)
{
    struct json doc;
    struct client_request request = {.method = S("GET"), .target = path, .accept = S(ACCEPT)};
    int code = client_raw(c, r->arena, &request, &doc, err);
    if (code == 0 && !discovery_read_groups(r, &doc))
        code = err_set(err, ERR_IO, "the answer of the server is not about its groups");
    return code < 0 ? err_wrap(err, "ask for %.*s", STR(path)) : 0;
}

static int ask_version(struct client *c, struct discovery_reader *r, const struct discovery_version *v, struct err *err)
{
    struct buf path = {.arena = r->arena};
    struct json doc;
    if (!client_is_segment(v->group) || !client_is_segment(v->version) || v->version.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "not the name of a group version");
    buf_add_str(&path, v->group.n ? S("/apis") : S("/api"));
    if (v->group.n)
        client_path_add(&path, v->group);
    client_path_add(&path, v->version);
    struct client_request request = {.method = S("GET"), .target = buf_str(&path)};
    int code = client_raw(c, r->arena, &request, &doc, err);
    if (code == 0 && !discovery_read_version(r, v, &doc))
        code = err_set(err, ERR_IO, "the answer of the server is not a list of resources");
    return code;
}

/* What goes wrong with one version is told, and does not keep the others from being found. */
static void read_version(struct client *c, struct discovery_reader *r, const struct discovery_version *v)
{
    struct err err;
    int code = ask_version(c, r, v, &err);
    if (code < 0 && (code != ERR_NOT_FOUND || v->group.n))
        discovery_fail(r, discovery_group_version(r->arena, v->group, v->version), str_dup(r->arena, str_of(err.msg)));
}

int client_discover_version(struct client *c, struct arena *a, str group, str version, struct client_discovery *ret,
                            struct err *err)
{
    struct discovery_reader r DISCOVERY_READER_SCOPE = {.arena = a};
    struct discovery_version v = {.group = group, .version = version, .is_preferred = true};
    int code = ask_version(c, &r, &v, err);
    if (code == 0)
        discovery_finish(&r, ret);
    return code;
}

int client_discover(struct client *c, struct arena *a, struct client_discovery *ret, struct err *err)
{
    struct discovery_reader r DISCOVERY_READER_SCOPE = {.arena = a};
    struct err mine;
    err = err ? err : &mine;
    int code = read_groups(c, &r, S("/api"), err);
    if (code == 0 || code == ERR_NOT_FOUND) /* servers behind another one have no core, as client-go knows */
        code = read_groups(c, &r, S("/apis"), err);
    if (code < 0)
        return code;
    if (r.todo.n > CLIENT_DISCOVERY_VERSIONS)
        return err_set(err, ERR_TOO_LARGE, "the server says it has %zu versions of its groups", r.todo.n);
    for (size_t i = 0; i < r.todo.n; i++)
        read_version(c, &r, &r.todo.p[i]);
    if (r.found.n == 0 && r.failures.n == 0)
        return err_set(err, ERR_UNAVAILABLE, "the server says that it has no resources");
    discovery_finish(&r, ret);
    return 0;
}
