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
#include "controllers/works/executor.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api.h"
#include "api/loopback_client.h"
#include "cases/case.h"
#include "kinds/builtin.h"
#include "object/object.h"
#include "json/yaml.h"

struct site {
    struct case_file *c;
    struct loop *loop;
    struct api *api;
    struct client *admin, *agent;
    struct clock_fake time;
    struct random_seeded chance;
    struct log log;
    char dir[64];
    bool is_ready;
};

static void discard(void *ctx, str line)
{
    (void)ctx, (void)line;
}

static void on_ready(void *ctx, const struct err *err)
{
    struct site *s = ctx;
    s->is_ready = true;
    if (err)
        case_fail(s->c, NULL, "cannot start: %s", err->msg);
}

static struct client *client_of(struct site *s, struct transport *t)
{
    return client_new(&(struct client_options){.loop = s->loop, .transport = t, .random = random_of_seed(&s->chance)});
}

static int site_open(struct site *s, struct err *err)
{
    static const str masters[] = {S_INIT("system:masters")};
    snprintf(s->dir, sizeof s->dir, "/tmp/executor-cases-XXXXXX");
    s->time.wall = INT64_C(1767323045) * 1000000000;
    s->log = (struct log){.level = LOG_ERROR, .clock = clock_of_fake(&s->time), .write = discard};
    if (!mkdtemp(s->dir))
        return err_set(err, ERR_IO, "cannot make a directory: %m");
    int code = loop_new(&s->loop, err);
    if (code < 0)
        return code;
    struct api_options options = {.loop = s->loop,
                                  .data_dir = s->dir,
                                  .clock = clock_of_fake(&s->time),
                                  .random = random_of_seed(&s->chance),
                                  .log = &s->log,
                                  .address = S("127.0.0.1:6443")};
    code = api_open(&options, on_ready, s, &s->api, err);
    while (code == 0 && !s->is_ready)
        loop_turn(s->loop, -1);
    if (code < 0)
        return code;
    struct loopback_client_options admin = {.who = {.user = S("admin"), .groups = {masters, 1}}};
    s->admin = client_of(s, loopback_client_new(s->api, &admin));
    s->agent = client_of(s, loopback_client_new_account(s->api, S("fleet"), S("agent")));
    return 0;
}

static void site_close(struct site *s)
{
    client_free(s->admin);
    client_free(s->agent);
    if (s->api)
        api_close(s->api);
    loop_free(s->loop);
    DIR *dir = opendir(s->dir);
    struct dirent *e;
    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        (void)closedir(dir);
    (void)rmdir(s->dir);
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
    loop_stop(s->loop);
    return NULL;
}

static void run(struct case_file *c)
{
    struct site s = {.c = c, .chance = {.state = 7}};
    struct err err;
    pthread_t thread;
    if (site_open(&s, &err) < 0) {
        case_fail(c, NULL, "%s", err.msg);
    } else if (pthread_create(&thread, NULL, sections, &s) == 0) {
        loop_run(s.loop);
        pthread_join(thread, NULL);
    }
    site_close(&s);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
