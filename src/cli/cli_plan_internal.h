/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of reeve plan share.
 * Owns: struct planning owns the packages it read and the index of rights, until planning_done.
 * Threads: the main thread.
 * Errors: an err for what could not be found out; what stands in the way of the install is told as findings, and what could not be
 *         seen as notes.
 *
 *   cli_plan.c               the command; which install the plan is about
 *   cli_plan_world.c         what the server has: CRDs, installs, packages of the same family, permissions in effect
 *   cli_plan_permissions.c   permissions as lines of text; subjects that gain them; the plan as JSON
 *   cli_plan_print.c         what changes (pure), and the plan as text */
#pragma once

#include "cli/cli_access.h"
#include "cli/package_source.h"
#include "client/client_discovery.h"
#include "package/plan.h"
#include "package/rival.h"

enum { PLANNING_PERSONAS = 3 }; /* PLAN_ADMIN, PLAN_EDIT, PLAN_VIEW */

/* ---- What the server has. ---- */

struct planning_install {
    const struct dialect *dialect;
    bool is_cluster;
    struct json object;
};

enum { PLANNING_LANES = 4 }; /* kinds of installs */

/* A kind of installs that may not be listed, not even in the namespace. */
struct planning_refusal {
    bool is_refused;
    str namespace; /* that was asked for last */
    struct err err;
};

struct planning_world {
    bool is_known;                     /* a server was asked; else nothing is installed */
    VEC(struct plan_crd) crds;         /* by group and name */
    struct map by_name;                /* name → struct plan_crd * */
    bool knows_owners;                 /* of CRDs; else only that they are there */
    VEC(struct planning_install) list; /* the installs that could be seen */
    bool has_kinds;                    /* the kinds of installs are served */
    struct buf unseen;                 /* those that could not be listed everywhere: "packageinstalls, …" */
    struct planning_refusal refusals[PLANNING_LANES];
};

/* ---- What changes. ---- */

enum planning_change { CHANGE_NONE, CHANGE_ADDED, CHANGE_CHANGED, CHANGE_REMOVED, CHANGE_UNKNOWN };

struct planning_crd {
    str name, kind;
    bool is_namespaced;
    enum planning_change change;
};

/* Somebody who has what a persona has. */
struct planning_subject {
    struct authz_subject subject;
    enum authz_kind binding_kind;
    str binding, namespace; /* empty: everywhere */
    str role;               /* that is bound: "crossplane:ns:team-a:admin" */
    bool gains_everywhere;  /* what the plan grants for one namespace, because the binding is for all */
};

/* What waits for the account of the package: a ClusterRoleBinding to its name, or to all accounts of its namespace. */
struct planning_waiting {
    str binding;
    struct rules rules;
};

struct planning_people {
    VEC(struct planning_subject) list; /* by place, kind and name */
    size_t n_roles;                    /* so many roles will aggregate it; 0: nobody can have it */
};

/* What an install runs now. */
struct planning_running {
    const struct json *install;             /* NULL: there is none of this name */
    str reference, digest, version, family; /* of what is installed; empty: nothing is */
    struct json record;                     /* null: there is none */
    struct package_source old;              /* the package; NULL in it: it could not be read, or is the same */
};

struct planning {
    struct command *c;
    struct arena *a;

    /* As the command line has it. */
    const char *what; /* PACKAGE */
    str tag, name, namespaced_groups;
    bool is_cluster, is_stack, is_offline, pass_full_deployment;
    int output; /* enum output */
    struct package_flags images;

    /* As it was found. */
    struct package_source source;
    struct planning_world world;
    struct plan_facts facts;
    struct rights rights;
    struct rival self;   /* the install as it would be */
    struct json install; /* the same: self.install */
    struct plan_install asked;
    struct planning_running running;
    VEC(struct package_source) others; /* of the family, besides */
    VEC(str) approvals;                /* what a user who may update CRDs has to approve */
    bool is_held;                      /* somebody has this very package already */
    struct plan plan;
    struct findings findings; /* all, in the order in which they were found */
    VEC(str) notes;           /* what could not be seen */
    unsigned unread;          /* kinds of own objects that could not be read, as bits */

    /* What follows. */
    struct plan_grants before, after, gains, losses;
    bool knows_people; /* who they are */
    struct planning_people people[PLANNING_PERSONAS];
    VEC(struct planning_waiting) waiting;
    VEC(struct planning_crd) crds;
    struct json deployment; /* as it is; null: none */
    enum planning_change deployment_change;
    bool has_changes;
};

void planning_note(struct planning *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Needs nothing of the package. */
int planning_see_world(struct planning *p, struct err *err);
/* Once it is known of which kind the install is to be: whether that kind may be listed. A note on those that are not. */
int planning_check_seen(struct planning *p, struct err *err);
/* Findings about others in the same place and of the same family; running.old and others. */
int planning_meet_others(struct planning *p, struct err *err);
int planning_see_before(struct planning *p, struct err *err);
/* Of the objects of a plan: those whose names somebody else has. Findings. */
int planning_check_names(struct planning *p, struct err *err);
int planning_see_people(struct planning *p, struct err *err);
/* gains, losses, crds, deployment_change, has_changes; of people gains_everywhere. */
void planning_compare(struct planning *p);

/* ---- How it is shown. ---- */

struct planning_count {
    size_t accounts, personas; /* who gain or lose something */
    size_t gained, lost;       /* rights: one verb, or all, on one resource */
    size_t wide, by_bindings;  /* gained everywhere; of those, by who is bound everywhere already */
};

struct planning_count planning_count(const struct planning *p);
/* Whether somebody may gain more than is told, by bindings that were not seen. */
bool planning_misses_people(const struct planning *p);
/* "none", "changes", "refused" */
const char *planning_outcome(const struct planning *p);
/* What a person can do about a finding, as commands; empty: nothing but what it says. */
str planning_remedy(const struct planning *p, const struct finding *f);
/* "admins" */
const char *planning_who(enum plan_subject who);
/* "added" */
const char *planning_change_name(enum planning_change change);

/* Lines of rights: at most width columns, indented, with this sign in front, each with a newline. */
struct planning_lines {
    const struct term *term;
    struct arena *arena;
    unsigned indent;
    char sign;     /* '+', '-' */
    bool is_whole; /* lists are not shortened */
};

void planning_add_rules(struct buf *b, const struct planning_lines *l, struct rules rules);
/* Words in lines of at most the terminal's width, hanging behind the first. */
void planning_add_wrapped(struct buf *b, const struct planning_lines *l, enum term_style style, str text);

void planning_print(struct buf *b, const struct planning *p);
struct json planning_tree(const struct planning *p);
/* In o: ports, volumes and unusual settings of a Deployment, which may be null. */
void planning_add_pod(struct arena *a, struct json *o, const struct json *deployment);
