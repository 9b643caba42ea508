/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors on a whole API server, in this process. Who asks it is the ServiceAccount agent of namespace fleet.
 *
 *     --- given                           objects as YAML documents; a member of system:masters creates them
 *     --- check NAMESPACE/NAME [owned]    may this executor apply the object that follows? owned: and delete it
 *     --- expect                          allowed; or the text of the condition; or "error: …": nobody knows
 *     --- read                            a ManifestWork: whom it names as executor
 *     --- expect                          "none", "NAMESPACE/NAME", and what is wrong with it
 */
#include "controllers/works/works_executor.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/loopback_client.h"
#include "cases/case.h"
#include "kinds/builtin.h"
#include "lib/server.h"
#include "object/object.h"
#include "json/yaml.h"

struct site {
    struct case_file *c;
    struct server server;
    struct client *admin, *agent;
};

static void site_open(struct site *s)
{
    struct loopback_client_options admin = {.who = server_admin};
    server_open(&s->server, 7, 0);
    s->admin = server_client(&s->server, loopback_client_new(s->server.api, &admin));
    s->agent = server_client(&s->server, loopback_client_new_account(s->server.api, S("fleet"), S("agent")));
}

static void site_close(struct site *s)
{
    client_free(s->admin);
    client_free(s->agent);
    server_close(&s->server);
}

/* ---- Sections, on a thread of their own while the loop runs. ---- */

static struct client_resource resource_of(struct site *s, const struct case_section *at, const struct json *object)
{
    const struct kind *kind = kind_builtin_by_body(object_api_version(object), object_kind(object));
    if (!kind) {
        case_fail(s->c, at, "there is no kind %.*s", STR(object_kind(object)));
        exit(1);
    }
    return (struct client_resource){str_of(kind->group), str_of(kind->version), str_of(kind->plural),
                                    str_of(kind->kind), kind->namespaced};
}

static void create_all(struct site *s, const struct case_section *at)
{
    json_vec list = {0};
    struct err err;
    if (yaml_decode_all(s->c->arena, at->text, NULL, &list, &err) < 0)
        case_fail(s->c, at, "%s", err.msg);
    vec_each(&list, object)
    {
        struct client_resource resource = resource_of(s, at, object);
        struct client_ref ref = {.resource = &resource, .namespace = object_namespace(object)};
        if (client_create(s->admin, s->c->arena, &ref, object, NULL, NULL, &err) < 0)
            case_fail(s->c, at, "create %.*s: %s", STR(object_name(object)), err.msg);
    }
}

static struct json read_one(struct site *s, const struct case_section *at)
{
    struct json v = {0};
    struct err err;
    if (yaml_decode(s->c->arena, at->text, NULL, NULL, &v, &err) < 0)
        case_fail(s->c, at, "%s", err.msg);
    return v;
}

static str check(struct site *s, const struct case_section *at)
{
    struct json object = read_one(s, at);
    struct client_resource resource = resource_of(s, at, &object);
    struct executor_question question = {.resource = &resource,
                                         .object_namespace = object_namespace(&object),
                                         .object_name = object_name(&object),
                                         .object = &object,
                                         .may_delete = case_has_arg(at, S("owned"))};
    str who, rest, denied;
    struct err err;
    str_cut(at->args, ' ', &who, &rest);
    str_cut(who, '/', &question.executor.namespace, &question.executor.name);
    if (executor_check(s->agent, s->c->arena, &question, &denied, &err) < 0)
        return str_fmt(s->c->arena, "error: %s", err.msg);
    return denied.n ? denied : S("allowed");
}

static str read_executor(struct site *s, const struct case_section *at)
{
    struct json work = read_one(s, at);
    struct executor executor;
    str denied;
    if (!executor_read(&work, &executor, &denied))
        return S("none");
    return str_fmt(s->c->arena, "%.*s/%.*s %.*s", STR(executor.namespace), STR(executor.name), STR(denied));
}

static void *sections(void *arg)
{
    struct site *s = arg;
    str got = {0};
    vec_each(&s->c->sections, at)
    {
        if (str_eq(at->name, S("given")))
            create_all(s, at);
        else if (str_eq(at->name, S("check")))
            got = check(s, at);
        else if (str_eq(at->name, S("read")))
            got = read_executor(s, at);
        else
            case_expect(s->c, at, got);
    }
    loop_stop(s->server.loop);
    return NULL;
}

static void run(struct case_file *c)
{
    struct site s = {.c = c};
    pthread_t thread;
    site_open(&s);
    if (pthread_create(&thread, NULL, sections, &s) != 0)
        abort();
    loop_run(s.server.loop);
    pthread_join(thread, NULL);
    site_close(&s);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
