/* SPDX-License-Identifier: Apache-2.0 */
/* What: a hub and a managed cluster, both fake API servers, and the works controller of an agent between them; time moves when the
 *       test says so.
 * Owns: all of it.
 * Threads: the test's is the loop's; workers are those of the controller.
 * Errors: fail the test. */
#pragma once

#include "controllers/works/works.h"
#include "lib/fake.h"
#include "object/fleet.h"

#define SECOND INT64_C(1000000000)
#define CLUSTER "cluster1"
#define HUB_URL "https://hub.example:6443"
#define RBAC "rbac.authorization.k8s.io"

struct fleet {
    struct clock_fake time;
    struct random_seeded chance;
    struct loop *loop;
    struct fake *hub, *managed;
    struct client *to_hub, *to_managed;
    struct log log; /* shown if CASES_LOG is set */
    struct control *control;
    const char *hub_url, *agent_id;
    bool is_stopped;
    struct arena arena; /* of the test */
};

/* For cmocka: *state is a fleet on the heap, whose agent has yet to be started. */
int fleet_set_up(void **state);
int fleet_tear_down(void **state);
/* The agent begins to work, and has done what there is to do. */
void fleet_start(struct fleet *f);
/* As kill -9, but for the threads: nothing that it knows is left, the servers are as they were. */
void fleet_kill(struct fleet *f);
/* Runs until the agent has sent so many writes in all, or has nothing to do: false. */
bool fleet_run_writes(struct fleet *f, size_t n);
/* Until nobody has anything to do now. */
void fleet_settle(struct fleet *f);
void fleet_pass(struct fleet *f, int seconds);

/* ---- Objects. ---- */

/* A text with ' instead of ", for tests to be read. */
void fleet_put(struct fleet *f, struct fake *server, const char *text);
/* Creates or changes the work of this name: what stands in its spec; the generation counts up. */
void fleet_work(struct fleet *f, const char *name, const char *spec);
/* The same, with these manifests. */
void fleet_manifests(struct fleet *f, const char *name, const char *manifests);
/* Somebody asks for its deletion. */
void fleet_delete_work(struct fleet *f, const char *name);
void fleet_namespace(struct fleet *f, const char *name, const char *labels);
/* "clusterroles/x" or "roles/ns/x", of the managed cluster. */
bool fleet_has(struct fleet *f, const char *object);
struct json fleet_get(struct fleet *f, const char *object);
const char *fleet_path(struct fleet *f, const char *object);
struct json fleet_get_work(struct fleet *f, const char *name);
bool fleet_has_work(struct fleet *f, const char *name);
bool fleet_has_applied(struct fleet *f, const char *work);
struct json fleet_applied(struct fleet *f, const char *work);
const char *fleet_applied_path(struct fleet *f, const char *work);
/* A copy with one part put in its place: 'metadata.labels' and so on. */
void fleet_edit(struct fleet *f, struct fake *server, const char *path, const char *field, const char *value);

/* The first verb of its first rule. */
const char *fleet_verb(struct fleet *f, const char *role);
size_t fleet_owners(struct fleet *f, const char *object);

/* ---- What a work says. ---- */

/* "True AppliedManifestWorkComplete: Apply manifest work complete" of a condition of the work. */
const char *fleet_condition(struct fleet *f, const char *work, const char *type);
/* The same of its i-th manifest entry. */
const char *fleet_manifest_condition(struct fleet *f, const char *work, size_t i, const char *type);
