/* SPDX-License-Identifier: Apache-2.0 */
#include "hub.h"

#include "controllers/permissions/permissions.h"
#include "fleet_kinds.h"
#include "object/conditions.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

void hub_put(struct world *w, const char *text)
{
    char *json = str_cstr(&w->arena, str_of(text));
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    fake_put(w->fake, json);
}

void hub_put_cluster(struct world *w, const char *name, const char *more)
{
    hub_put(w,
            str_cstr(&w->arena, str_fmt(&w->arena,
                                        "{'apiVersion':'cluster.open-cluster-management.io/v1','kind':'ManagedCluster',"
                                        "'metadata':{'name':'%s'%s},'spec':{'hubAcceptsClient':true}}",
                                        name, more)));
}

void hub_put_permission(struct world *w, const char *name, const char *meta, const char *spec)
{
    hub_put(w, str_cstr(&w->arena, str_fmt(&w->arena,
                                           "{'apiVersion':'rbac.open-cluster-management.io/v1alpha1','kind':"
                                           "'ClusterPermission','metadata':{'namespace':'cluster1','name':'%s','uid':"
                                           "'%s000-uid',%s},'spec':{%s}}",
                                           name, name, meta, spec)));
}

static int set_up_row(void **state, const struct controller_row *row)
{
    world_set_up(state, row);
    struct world *w = *state;
    fleet_kinds(w->fake);
    hub_put_cluster(w, "cluster1", "");
    return 0;
}

int hub_set_up(void **state)
{
    return set_up_row(state, &permissions_row);
}

static int add_strict(const struct controller_env *env, struct err *err)
{
    struct controller_env strict = *env;
    strict.is_embedded = strict.requires_approval = true;
    return permissions_row.add(&strict, err);
}

int hub_set_up_strict(void **state)
{
    static const struct controller_row row = {.add = add_strict};
    return set_up_row(state, &row);
}

static int64_t figure(struct world *w, const char *name)
{
    struct buf text = {.arena = &w->arena};
    control_metrics_write(w->control, &text);
    ptrdiff_t at = str_find(buf_str(&text), str_of(name));
    assert_true(at >= 0);
    return strtoll(text.p + at + strlen(name), NULL, 10);
}

static bool is_idle(struct world *w)
{
    return figure(w, "workqueue_depth{name=\"permissions\"} ") == 0 &&
           figure(w, "controller_runtime_active_workers{controller=\"permissions\"} ") == 0;
}

void hub_settle(struct world *w)
{
    size_t n, last = 0;
    int quiet = 0;
    for (int i = 0; i < TURNS && quiet < 20; i++) {
        loop_turn(w->loop, TURN_NS);
        (void)fake_log(w->fake, &n);
        quiet = n == last && is_idle(w) ? quiet + 1 : 0;
        last = n;
    }
    assert_int_equal(quiet, 20);
}

void hub_pass(struct world *w, int seconds)
{
    for (int i = 0; i < seconds * 20; i++) {
        clock_fake_advance(&w->time, SECOND / 20);
        loop_turn(w->loop, TURN_NS);
    }
    hub_settle(w);
}

void hub_start(struct world *w)
{
    control_start(w->control);
    hub_settle(w);
    fake_log_clear(w->fake);
}

bool hub_find(struct world *w, const char *path, struct json *ret)
{
    return fake_get(w->fake, &w->arena, path, ret);
}

size_t hub_visits(struct world *w, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, PERMISSIONS "/namespaces/cluster1/clusterpermissions/%s", name);
    return fake_count(w->fake, "GET", path);
}

str hub_condition(struct world *w, const char *name, const char *type, const char *field)
{
    struct json permission;
    char path[256];
    (void)snprintf(path, sizeof path, PERMISSIONS "/namespaces/cluster1/clusterpermissions/%s", name);
    assert_true(hub_find(w, path, &permission));
    return json_get_text(condition_find(json_dig(&permission, "status.conditions"), str_of(type)), str_of(field));
}

void hub_assert_str(str got, const char *want)
{
    struct arena scratch ARENA_SCOPE = {0};
    assert_string_equal(str_cstr(&scratch, got), want);
}

const struct json *hub_manifest(struct world *w, const char *path, size_t i)
{
    struct json *work = ARENA_NEW(&w->arena, struct json);
    assert_true(hub_find(w, path, work));
    const struct json *list = json_dig(work, "spec.workload.manifests");
    assert_true(i < json_len(list));
    return &list->items[i];
}

str hub_verb_of(struct world *w, const char *path)
{
    const struct json *rules = json_get(hub_manifest(w, path, 0), S("rules"));
    return json_text(&json_get(&rules->items[0], S("verbs"))->items[0]);
}

void hub_fault(struct world *w, struct fake_fault f)
{
    fake_fault(w->fake, &f);
}
