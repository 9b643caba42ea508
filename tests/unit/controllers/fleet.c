/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

enum { TURNS = 20000, TURN_NS = 1000000, QUIET = 10 };

#define WORK_PATH "/apis/" FLEET_WORK_GROUP "/v1/namespaces/" CLUSTER "/manifestworks/"

/* ---- The world. ---- */

static void show(void *ctx, str line)
{
    (void)ctx;
    if (getenv("CASES_LOG"))
        (void)fprintf(stderr, "%.*s", STR(line));
}

static void put_definition(struct fake *server, const char *plural, const char *kind, const char *scope)
{
    struct arena a = {0};
    fake_put(
        server,
        str_cstr(&a,
                 str_fmt(&a,
                         "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
                         "\"metadata\":{\"name\":\"%s." FLEET_WORK_GROUP "\"},\"spec\":{\"group\":\"" FLEET_WORK_GROUP
                         "\",\"scope\":\"%s\",\"names\":{\"plural\":\"%s\",\"kind\":\"%s\",\"singular\":\"x%s\","
                         "\"listKind\":\"%sList\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                         "\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
                         "\"x-kubernetes-preserve-unknown-fields\":true}}}]},\"status\":{\"conditions\":["
                         "{\"type\":\"Established\",\"status\":\"True\"}],\"acceptedNames\":{\"plural\":\"%s\","
                         "\"kind\":\"%s\"},\"storedVersions\":[\"v1\"]}}",
                         plural, scope, plural, kind, plural, kind, plural, kind)));
    arena_done(&a);
}

static void add_agent(struct fleet *f)
{
    struct clock clock = clock_of_fake(&f->time);
    f->to_hub = client_new(&(struct client_options){
        .loop = f->loop, .transport = fake_transport(f->hub), .random = random_of_seed(&f->chance)});
    f->to_managed = client_new(&(struct client_options){
        .loop = f->loop, .transport = fake_transport(f->managed), .random = random_of_seed(&f->chance)});
    f->control = control_new(&(struct control_options){f->loop, clock, random_of_seed(&f->chance), &f->log});
    f->is_stopped = false;
    struct works_options options = {.control = f->control,
                                    .loop = f->loop,
                                    .clock = clock,
                                    .log = &f->log,
                                    .hub = f->to_hub,
                                    .managed = f->to_managed,
                                    .cluster = S(CLUSTER),
                                    .hub_url = str_of(f->hub_url),
                                    .agent_id = str_of(f->agent_id)};
    assert_int_equal(works_add(&options, NULL, NULL), 0);
}

int fleet_set_up(void **state)
{
    struct fleet *f = calloc(1, sizeof *f);
    assert_non_null(f);
    *f = (struct fleet){.time = {.wall = INT64_C(1767323045) * SECOND, .mono = SECOND},
                        .chance = {.state = 3},
                        .hub_url = HUB_URL,
                        .agent_id = "agent-a"};
    struct clock clock = clock_of_fake(&f->time);
    assert_int_equal(loop_new_on(&clock, &f->loop, NULL), 0);
    f->hub = fake_new(&(struct fake_options){.loop = f->loop, .clock = clock});
    f->managed = fake_new(&(struct fake_options){.loop = f->loop, .clock = clock});
    f->log = (struct log){.level = LOG_ERROR, .clock = clock, .write = show};
    put_definition(f->hub, "manifestworks", "ManifestWork", "Namespaced");
    put_definition(f->managed, "appliedmanifestworks", "AppliedManifestWork", "Cluster");
    add_agent(f);
    *state = f;
    return 0;
}

static void on_stopped(void *ctx)
{
    struct fleet *f = ctx;
    f->is_stopped = true;
}

static void end_agent(struct fleet *f)
{
    control_stop(f->control, on_stopped, f);
    client_stop(f->to_hub);
    client_stop(f->to_managed);
    for (int i = 0; i < TURNS && !f->is_stopped; i++)
        loop_turn(f->loop, TURN_NS);
    assert_true(f->is_stopped);
    control_free(f->control);
    client_free(f->to_hub);
    client_free(f->to_managed);
}

int fleet_tear_down(void **state)
{
    struct fleet *f = *state;
    end_agent(f);
    fake_free(f->hub);
    fake_free(f->managed);
    loop_free(f->loop);
    arena_done(&f->arena);
    free(f);
    return 0;
}

void fleet_kill(struct fleet *f)
{
    end_agent(f);
    add_agent(f);
}

/* ---- Time. ---- */

static int64_t sum_of(struct fleet *f, str metric)
{
    struct buf text = {0};
    int64_t sum = 0, n;
    str rest, line, value;
    control_metrics_write(f->control, &text);
    for (rest = buf_str(&text); rest.n;) {
        str_cut(rest, '\n', &line, &rest);
        if (str_has_prefix(line, metric) && str_cut(line, '}', &line, &value) && str_to_int64(str_trim(value), &n))
            sum += n;
    }
    buf_done(&text);
    return sum;
}

/* What comes back after milliseconds comes: a little time passes with each quiet turn. */
void fleet_settle(struct fleet *f)
{
    int quiet = 0;
    for (int i = 0; i < TURNS && quiet < QUIET; i++) {
        loop_turn(f->loop, TURN_NS);
        int64_t held = (int64_t)(fake_held(f->hub) + fake_held(f->managed));
        bool is_busy =
            sum_of(f, S("workqueue_depth{")) > held || sum_of(f, S("controller_runtime_active_workers{")) > held;
        quiet = is_busy ? 0 : quiet + 1;
        if (!is_busy)
            clock_fake_advance(&f->time, SECOND / 100);
    }
    assert_int_equal(quiet, QUIET);
}

bool fleet_run_writes(struct fleet *f, size_t n)
{
    int quiet = 0;
    for (int i = 0; i < TURNS && quiet < QUIET; i++) {
        if (fake_writes(f->hub) + fake_writes(f->managed) >= n)
            return true;
        loop_turn(f->loop, TURN_NS / 4);
        bool is_busy = sum_of(f, S("workqueue_depth{")) || sum_of(f, S("controller_runtime_active_workers{"));
        quiet = is_busy ? 0 : quiet + 1;
        if (!is_busy)
            clock_fake_advance(&f->time, SECOND / 100);
    }
    return false;
}

void fleet_pass(struct fleet *f, int seconds)
{
    int step = seconds > 10 ? seconds / 10 : 1;
    for (; seconds > 0; seconds -= step) {
        clock_fake_advance(&f->time, step * SECOND);
        fleet_settle(f);
    }
}

void fleet_start(struct fleet *f)
{
    control_start(f->control);
    fleet_settle(f);
}

/* ---- Objects. ---- */

static struct json parse(struct fleet *f, const char *text)
{
    struct json value;
    struct err err;
    char *copy = str_cstr(&f->arena, str_of(text));
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (json_decode(&f->arena, str_of(copy), NULL, NULL, &value, &err) < 0)
        fail_msg("%s: %s", err.msg, copy);
    return value;
}

static void put_tree(struct fleet *f, struct fake *server, const struct json *object)
{
    struct buf text = {.arena = &f->arena};
    json_encode(&text, object, 0);
    fake_put(server, str_cstr(&f->arena, buf_str(&text)));
}

void fleet_put(struct fleet *f, struct fake *server, const char *text)
{
    struct json object = parse(f, text);
    put_tree(f, server, &object);
}

static const char *work_path(struct fleet *f, const char *name)
{
    return str_cstr(&f->arena, str_fmt(&f->arena, WORK_PATH "%s", name));
}

bool fleet_has_work(struct fleet *f, const char *name)
{
    struct json o;
    return fake_get(f->hub, &f->arena, work_path(f, name), &o);
}

struct json fleet_get_work(struct fleet *f, const char *name)
{
    struct json o;
    assert_true(fake_get(f->hub, &f->arena, work_path(f, name), &o));
    return o;
}

void fleet_work(struct fleet *f, const char *name, const char *spec)
{
    struct json work, meta = json_obj();
    if (fake_get(f->hub, &f->arena, work_path(f, name), &work)) {
        work = json_dup(&f->arena, &work);
        json_set(&f->arena, json_get_mut(&work, S("metadata")), S("generation"),
                 json_int(object_generation(&work) + 1));
    } else {
        work = json_obj();
        json_add(&f->arena, &meta, S("name"), json_str(str_of(name)));
        json_add(&f->arena, &meta, S("namespace"), json_str(S(CLUSTER)));
        json_add(&f->arena, &meta, S("generation"), json_int(1));
        json_add(&f->arena, &work, S("apiVersion"), json_str(S(FLEET_WORK_GROUP "/v1")));
        json_add(&f->arena, &work, S("kind"), json_str(S("ManifestWork")));
        json_add(&f->arena, &work, S("metadata"), meta);
    }
    json_set(&f->arena, &work, S("spec"), parse(f, spec));
    put_tree(f, f->hub, &work);
}

void fleet_manifests(struct fleet *f, const char *name, const char *manifests)
{
    fleet_work(f, name, str_cstr(&f->arena, str_fmt(&f->arena, "{'workload':{'manifests':[%s]}}", manifests)));
}

void fleet_edit(struct fleet *f, struct fake *server, const char *path, const char *field, const char *value)
{
    struct json object;
    str head, rest = str_of(field);
    assert_true(fake_get(server, &f->arena, path, &object));
    object = json_dup(&f->arena, &object);
    struct json *at = &object;
    while (str_cut(rest, '.', &head, &rest)) {
        struct json *next = json_get_mut(at, head);
        at = next ? next : json_set(&f->arena, at, head, json_obj());
    }
    json_set(&f->arena, at, head, parse(f, value));
    put_tree(f, server, &object);
}

void fleet_delete_work(struct fleet *f, const char *name)
{
    fleet_edit(f, f->hub, work_path(f, name), "metadata.deletionTimestamp", "'2026-01-02T03:04:05Z'");
}

void fleet_namespace(struct fleet *f, const char *name, const char *labels)
{
    fleet_put(
        f, f->managed,
        str_cstr(&f->arena,
                 str_fmt(&f->arena, "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'%s','labels':{%s}}}",
                         name, labels)));
}

const char *fleet_path(struct fleet *f, const char *object)
{
    str plural, name, namespace, text = str_of(object);
    bool is_rbac = str_has_prefix(text, S("cluster")) || str_has_prefix(text, S("role"));
    const char *base = is_rbac ? "/apis/" RBAC "/v1" : "/api/v1";
    str_cut(text, '/', &plural, &name);
    if (str_cut(name, '/', &namespace, &name))
        return str_cstr(&f->arena, str_fmt(&f->arena, "%s/namespaces/%.*s/%.*s/%.*s", base, STR(namespace), STR(plural),
                                           STR(name)));
    return str_cstr(&f->arena, str_fmt(&f->arena, "%s/%.*s/%.*s", base, STR(plural), STR(namespace)));
}

bool fleet_has(struct fleet *f, const char *object)
{
    struct json o;
    return fake_get(f->managed, &f->arena, fleet_path(f, object), &o);
}

struct json fleet_get(struct fleet *f, const char *object)
{
    struct json o;
    if (!fake_get(f->managed, &f->arena, fleet_path(f, object), &o))
        fail_msg("there is no %s", object);
    return o;
}

const char *fleet_verb(struct fleet *f, const char *role)
{
    struct json o = fleet_get(f, role);
    const struct json *rules = json_get(&o, S("rules"));
    return json_len(rules) ? str_cstr(&f->arena, json_text(&json_get(&rules->items[0], S("verbs"))->items[0])) : "none";
}

size_t fleet_owners(struct fleet *f, const char *object)
{
    struct json o = fleet_get(f, object);
    return json_len(object_owners(&o));
}

/* sha256 of HUB_URL: by another's hand, so that it is known not to change. */
#define HUB_HASH "5752eec54596c9e783980dfcc51609e0654205e048ca38e03e73a91533419e15"

const char *fleet_applied_path(struct fleet *f, const char *work)
{
    return str_cstr(&f->arena,
                    str_fmt(&f->arena, "/apis/" FLEET_WORK_GROUP "/v1/appliedmanifestworks/" HUB_HASH "-%s", work));
}

bool fleet_has_applied(struct fleet *f, const char *work)
{
    struct json o;
    return fake_get(f->managed, &f->arena, fleet_applied_path(f, work), &o);
}

struct json fleet_applied(struct fleet *f, const char *work)
{
    struct json o;
    if (!fake_get(f->managed, &f->arena, fleet_applied_path(f, work), &o))
        fail_msg("there is no AppliedManifestWork of %s", work);
    return o;
}

/* ---- What a work says. ---- */

static const char *words(struct fleet *f, const struct json *conditions, const char *type)
{
    const struct json *c = condition_find(conditions, str_of(type));
    if (!c)
        return "none";
    return str_cstr(&f->arena, str_fmt(&f->arena, "%.*s %.*s: %.*s", STR(json_get_text(c, S("status"))),
                                       STR(json_get_text(c, S("reason"))), STR(json_get_text(c, S("message")))));
}

const char *fleet_condition(struct fleet *f, const char *work, const char *type)
{
    struct json w = fleet_get_work(f, work);
    return words(f, json_dig(&w, "status.conditions"), type);
}

const char *fleet_manifest_condition(struct fleet *f, const char *work, size_t i, const char *type)
{
    struct json w = fleet_get_work(f, work);
    const struct json *list = json_dig(&w, "status.resourceStatus.manifests");
    return i < json_len(list) ? words(f, json_get(&list->items[i], S("conditions")), type) : "no entry";
}
