/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of this controller share.
 * Owns: struct installs owns everything below it.
 * Threads: lock guards holdings, awaited and pulls; the rest says so itself.
 * Errors: as installs.h. */
#pragma once

#include "base/map.h"
#include "control/applyset.h"
#include "control/control.h"
#include "control/recorder.h"
#include "controllers/installs/installs_crd_table.h"
#include "controllers/policy.h"
#include "oci/oci_fetch.h"
#include "package/family.h"
#include "package/plan.h"

#include <pthread.h>

struct installs;

/* One kind of install object with its records. */
struct lane {
    struct installs *all;
    const struct dialect *dialect;
    bool is_cluster;
    struct client_resource install, record;
    struct informer *installs, *records;
    struct controller *controller;
};

enum { LANES = 4, PULL_WORKERS = 20 }; /* more than children can be at work at once */

/* What an install has alone, by kind; see installs_own.c. */
enum own_kind {
    OWN_ACCOUNT,
    OWN_ROLE,
    OWN_CLUSTER_ROLE,
    OWN_ROLE_BINDING,
    OWN_CLUSTER_ROLE_BINDING,
    OWN_DEPLOYMENT,
    OWN_KINDS
};

/* What the server confirmed of the rules that a controller is granted; see installs_rights.c. */
struct holding_rights {
    uint64_t grants;  /* hash of them */
    size_t confirmed; /* so many, in the order of the plan */
    uint32_t tries;   /* answers in a row that were no */
};

/* An install that was accepted: what of it is shared with others. Owned by installs->holdings. */
struct holding {
    struct arena arena;
    const struct lane *lane;
    str uid, namespace, name;  /* of the install */
    str place;                 /* namespace of its controller */
    str record;                /* uid; empty: it has only a reservation */
    str label;                 /* of its family */
    str since;                 /* its rank in the family, see family_since */
    str approved;              /* when a change of shared CRDs was last approved for it; empty: never */
    const struct package *now; /* counted */
    const struct package *old; /* while an upgrade is under way; or NULL */
    bool is_reserved;          /* now was accepted, but is not written down yet: nothing of it is shared */
    bool is_fresh; /* nothing of it was ever shared: it may wait for the next round, see installs_shares.c */
    bool is_going; /* it was decided that it may be uninstalled: others of its family do not count on it any more */
    bool is_leaving;
    bool is_orphan; /* the install object is gone: whoever unshares it drops it */
    /* Set by shares: */
    bool is_shared;   /* CRDs and roles are written for it as it is now, and */
    bool is_in_force; /* the CRDs are established */
    bool is_unshared; /* leaving: nothing shared is left */
    size_t wanted, established;
    struct holding_rights rights;
    bool awaits_personas;  /* its Deployment waits for the roles of people */
    int64_t unobserved_ns; /* since when its Deployment is there and no controller has observed it; 0: not so */
    str problem;           /* why not, if so */
    str conflict;          /* CRDs that somebody else changed, or that serve others; empty: none */
    bool is_lacking;       /* they lack something that it needs */
    str retained;          /* instances of CRDs that it no longer has; empty: none */
    str written; /* resourceVersion of the install after our last write: a cache that is older is not worth looking at */
    char version[32]; /* where written stands */
};

/* What was pulled for an install. */
struct pull {
    struct arena arena;
    int64_t generation;
    int64_t asked_for, asked_at; /* generation, and when */
    bool is_done, is_slow;
    bool is_busy;                  /* it is not its turn yet */
    const struct package *wanted;  /* of spec; counted; or NULL: why */
    const struct package *running; /* of status; the same object if the same; or NULL */
    const struct package *old;     /* what status says is being replaced; or NULL */
    bool may_pass;
    uint32_t tries;
    str reason, message; /* why wanted is not there */
    str running_message; /* why running is not there, though it should be */
};

struct installs {
    struct control *control;
    struct client *client;
    struct clock clock;
    bool is_embedded;
    struct policy *policy;            /* guards approvals on other servers; NULL: the server of this process does */
    bool allows_cluster_dependencies; /* --allow-cluster-dependencies */
    struct fetcher *fetcher;
    struct plan_options options;
    struct recorder *recorder;
    struct lane lanes[LANES];
    struct informer *own[OWN_KINDS];
    struct informer *roles;                 /* shared ClusterRoles */
    struct informer *personas;              /* all ClusterRoles; NULL: nobody waits for those of personas */
    struct informer *bindings[2];           /* all ClusterRoleBindings and RoleBindings, as foreign_trim keeps them */
    struct informer *by_install[OWN_KINDS]; /* of cluster-scoped kinds: those of namespaced installs */
    struct crd_table *crds;
    struct informer *crd_informer;
    struct controller *shares, *pulls, *remnants;
    _Atomic int64_t share_wait_ns; /* see shares_enqueue */

    pthread_mutex_t lock;
    bool has_nodes; /* at nodes_asked_ns, see installs_health.c */
    int64_t nodes_asked_ns;
    struct map holdings; /* by uid of the install */
    struct map awaited;  /* uid of an install that holds something and was not visited yet → struct awaited */
    struct map pulled;   /* uid of an install → struct pull */
    struct map deciding; /* labels of families in which somebody is just being accepted */
    struct map packages; /* reference and digest → struct loaded, see installs_packages.c */
    struct map repairs;  /* object → struct repair, see installs_repairs.c */
    struct map
        memos; /* label of a family → struct memo, see installs_shares_crds.c; belongs to whoever works on that family */
};

static inline void installs_lock(struct installs *s)
{
    pthread_mutex_lock(&s->lock);
}
static inline void installs_unlock(struct installs *s)
{
    pthread_mutex_unlock(&s->lock);
}

/* ---- installs_pull.c ---- */

#define PULL_SLOW_NS INT64_C(200000000) /* after which people are told */

/* Reconcile of the pull queue; keys: namespace and "lane/name". */
int pull_visit(void *ctx, struct reconcile *r, struct err *err);
/* What was pulled for this generation, references taken; false: not yet, it has been asked for. */
bool pull_result(struct installs *s, struct arena *a, const struct lane *lane, const struct json *install,
                 struct pull *ret);
/* Gives back what pull_result took. */
void pull_release(struct installs *s, struct pull *p);
void pull_forget(struct installs *s, str uid);
void pull_free_all(struct installs *s);

/* ---- installs_packages.c: each package is in memory once. ---- */

/* Takes the entry over. */
int packages_load(struct installs *s, struct fetch_entry *entry, str reference, str digest, const struct package **ret,
                  struct err *err);
/* One that is in memory, counted; NULL: it is not. */
const struct package *packages_find(struct installs *s, str reference, str digest);
void packages_free_all(struct installs *s);

/* ---- installs_claims.c; all of these under the lock. ---- */

struct awaited {
    struct arena arena;
    str uid, label, what; /* "PackageInstall team-a/wp" */
    str namespace;        /* of the install; empty: it is for the cluster */
    bool is_given_up;     /* it is being deleted and cannot be read: nobody waits for it */
};

struct holding *holding_get(struct installs *s, str uid);
/* A copy of these texts and references; replaces the one that was there. */
struct holding *holding_put(struct installs *s, const struct holding *h);
/* Loop thread: the install object is gone, with or without us: what it shared is left as if it had been uninstalled. */
void holding_orphan(struct installs *s, str uid);
/* Whether the cache still has this very object. If not, what is put for it now would never be orphaned. */
bool holding_is_in_time(const struct lane *lane, const struct json *install);
void holding_drop(struct installs *s, str uid);
void holdings_free_all(struct installs *s);
void holding_set_problem(struct holding *h, str text);
void holding_set_conflict(struct holding *h, str text);
/* When a change of shared CRDs was last approved for an install, as its status says. */
str holding_approved(const struct json *install);
void holding_set_written(struct holding *h, str version);
/* Loop thread: an install object was seen. */
void awaited_see(struct installs *s, const struct lane *lane, const struct json *install);
void awaited_drop(struct installs *s, str uid);
void awaited_give_up(struct installs *s, str uid);
/* The first that a family waits for, other than this install; or NULL. */
const struct awaited *awaited_find(struct installs *s, str label, str except);
/* Of the package that a reference names; empty: it names none. */
str installs_family_label(struct arena *a, str reference);

/* ---- installs_reconcile.c, installs_leave.c: one install. ---- */

int installs_visit(void *ctx, struct reconcile *r, struct err *err);

struct status_report;

/* Something that only a user who holds this access, cluster-wide, may bring about; see installs_needs.h. */
struct need {
    str text;
    struct rules access;
    bool is_for_others; /* it changes what others use: a user says so explicitly, whoever asked for the install */
};

struct visit {
    struct installs *s;
    const struct lane *lane;
    struct reconcile *r;
    struct arena *a;
    struct json install; /* as the cache has it */
    struct plan_install asked;
    bool is_settled;  /* the same package was installed before: what is missing was deleted by another client */
    bool is_fallback; /* at work is what is installed, because what is asked for was refused */
    bool is_kept; /* at work is what status says is installed: it keeps what it was given, and needs no new approval */
    VEC(struct need) needs; /* of what is at work */
    struct status_report *report;
};

/* The object is being deleted. */
int leave_visit(struct visit *v, struct err *err);
/* "PackageInstall team-a/wp" */
str visit_title(struct arena *a, const struct lane *lane, str namespace, str name);
struct client_ref visit_ref(const struct visit *v);

/* ---- installs_record.c ---- */

/* The record is there and says this; ret: as the server has it. */
int record_keep(struct visit *v, const struct package *p, const struct plan *plan, struct json *ret, struct err *err);
int record_delete(struct visit *v, struct err *err);

/* ---- installs_own.c: what an install has alone. ---- */

struct own_work {
    struct applyset_plan plan;
    size_t before; /* so many steps come before the Deployment */
    str conflict;  /* somebody else's object is in the way */
};

int own_plan(struct visit *v, const struct json *record, const struct plan *plan, struct own_work *ret,
             struct err *err);
/* Deletes bindings that name another role than they should. */
int own_unbind(struct visit *v, const struct json *record, const struct plan *plan, struct err *err);
/* Whether somebody else's objects have the names of what would be written: a finding for each. */
int own_check(struct visit *v, const struct plan *plan, str label, struct findings *findings, struct err *err);
/* Steps [from, to). */
int own_run(struct visit *v, const struct json *record, const struct own_work *work, size_t from, size_t to,
            struct err *err);
/* Deployment first, then bindings and roles, or also the account. */
int own_remove(struct visit *v, str record_uid, bool with_account, struct err *err);
extern const struct client_resource own_resources[OWN_KINDS];

/* ---- installs_remnants.c: cluster-scoped objects of namespaced installs that no longer exist. ---- */

/* Reconcile of the queue; keys: plural and name. */
int remnants_visit(void *ctx, struct reconcile *r, struct err *err);
/* Loop thread: a cluster-scoped object changed that has, or had, the label of an install or a record. */
void remnants_see(struct installs *s, const struct json *object);
/* Loop thread: an install, or the record of one, is gone. */
void remnants_enqueue(struct installs *s, str install_uid, str record_uid);
/* Whether a live object (caches keep no managedFields) was written by this controller. */
bool remnants_is_made_here(const struct json *object);

/* ---- installs_repairs.c ---- */

/* The plan without the repairs that have to wait: see there. */
struct applyset_plan repairs_due(struct visit *v, const struct applyset_plan *plan);
/* An Event and a count for each repair of a plan that was carried out. */
void repairs_report(struct visit *v, const struct applyset_plan *done);
void repairs_free_all(struct installs *s);

/* ---- installs_foreign.c: access that the account of an install has by others. ---- */

item_trim foreign_trim;
/* Loop thread: wakes the installs whose accounts a binding names. */
void foreign_changed(void *ctx, const struct informer_change *change);
/* ret: what gives the account more than every authenticated account has, though this install did not create it; empty: nothing.
 * ret_any: there are such bindings, whatever they give. */
int foreign_check(struct visit *v, str *ret, bool *ret_any, struct err *err);

/* ---- installs_rights.c ---- */

/* Whether the server already says yes to what the controller is granted, and the roles of people have followed. */
int rights_are_in_force(struct visit *v, const struct plan *plan, bool *ret, struct err *err);
/* What grants them was written: the server is asked again. */
void rights_forget(struct visit *v);
/* Loop thread: wakes the installs that wait for this role. */
void rights_persona_changed(void *ctx, const struct informer_change *change);

/* ---- installs_instances.c ---- */

struct instances {
    uint64_t n;
    str text; /* "3 wordpressinstances (2 in team-a, 1 in team-b)" */
};

/* Objects of one CRD. */
struct instances_of {
    str crd;
    str namespace; /* empty: in all namespaces */
};

/* The text names at most a few places. */
int instances_count(struct client *c, struct installs *s, struct arena *a, const struct instances_of *list, size_t n,
                    struct instances *ret, struct err *err);
/* Where the install may speak for them: everywhere, or in its own namespace. found: so many were there. */
int instances_delete(struct visit *v, const struct instances_of *list, size_t n, uint64_t *ret_found, struct err *err);

/* ---- installs_shares.c, installs_shares_crds.c: what a family shares. ---- */

int shares_visit(void *ctx, struct reconcile *r, struct err *err);
/* Soon: the more there is to write the longer it waits for others to join. */
void shares_enqueue(struct installs *s, str label);
void shares_free_memos(struct installs *s);
/* Until when a family takes no fresh installs in; 0: it takes them. Belongs to whoever works on that family, as its memo does. */
int64_t *shares_rest(struct installs *s, str label);

/* ---- installs_retain.c: CRDs that an install had, and that have instances still. ---- */

struct retained_place {
    str namespace;
    uint64_t n;
};

struct retained {
    struct plan_crd crd;
    uint64_t n;                        /* instances that keep it */
    bool is_environment;               /* it was a cluster package's, and no install has it */
    VEC(struct retained_place) places; /* namespaces that had it, sorted */
};

typedef VEC(struct retained) retained_vec;

struct share_crd;

/* Of a family; crds: those that are wanted. */
int retain_find(struct installs *s, struct reconcile *r, str label, const struct share_crd *crds, size_t n,
                retained_vec *ret, struct err *err);
struct plan_sharers retain_places(struct arena *a, const struct retained *one);
void retain_labels(struct arena *a, const retained_vec *retained, struct share_crd *crds, size_t n);
/* What is reported to the install in this namespace (empty: to that of the cluster); empty: nothing. */
str retain_text(struct arena *a, const retained_vec *retained, str namespace);
/* When to count again: soon after a change, then less and less often. */
int64_t shares_recheck_ns(struct installs *s, str label, const retained_vec *retained);

struct share_crd {
    str name;
    const struct dialect *dialect;
    const struct family_side *sides; /* all that have it; those that are being replaced come last */
    size_t n_sides;
    struct plan_sharers sharers;
};

/* What the server has of a CRD, and who wrote it. */
int shares_read_live(struct client *c, struct arena *a, str name, struct family_live *ret, struct err *err);
/* What is wrong with the CRDs of a package of this family since they were last written; empty: nothing. */
str shares_conflict(struct installs *s, struct arena *a, str label, const struct package *p, bool *ret_is_lacking);
/* Writes those that differ. */
int shares_write_crds(struct installs *s, struct reconcile *r, str label, const struct share_crd *list, size_t n,
                      struct err *err);
/* Those that no object is left of; going: so many more are on their way. */
int shares_delete_crds(struct installs *s, struct reconcile *r, const struct crd_row *const *list, size_t n,
                       size_t *going, struct err *err);
