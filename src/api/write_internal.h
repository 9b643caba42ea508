/* SPDX-License-Identifier: Apache-2.0 */
/* What: one write at work, and the steps it is made of. Private to write_*.c, scale.c and the reviews.
 * Owns: struct write lives in the arena of its request; what an attempt makes lives in `work` and goes with the attempt.
 * Threads: the loop thread.
 * Errors: a step that refuses leaves the Status in w->status and answers WRITE_REFUSED.
 *
 *   write_start ─► attempt ──► build: looks at the present, makes the next state, touches nothing
 *                     ▲           │
 *                     │           ├─ WRITE_REFUSED, WRITE_SAME, a dry run ─────────────► answer
 *                     │           └─ WRITE_STORE, WRITE_REMOVE ─► store ─► done ─┬─────► answer
 *                     └────────────── something changed in between ◄─────────────┘
 *
 * An attempt is a step of the request's task: it may be suspended wherever it charges its budget. What it has read may have
 * changed by then; the store finds out by revision, and submit by the revision of the definition of a custom kind. */
#pragma once

#include "api/api_decode.h"
#include "api/api_view.h"
#include "api/task.h"
#include "api/write.h"
#include "object/meta.h"
#include "object/status.h"

struct write;

enum write_step {
    WRITE_REFUSED, /* w->status says why */
    WRITE_STORE,   /* w->next is to be stored, over w->current if that exists */
    WRITE_REMOVE,  /* the object is to leave the store */
    WRITE_SAME,    /* there is nothing to do */
};

/* Makes the next state of one object out of the present one. Pure but for reading: it may run again. */
typedef enum write_step write_build(struct write *w);

enum { WRITE_COMPANIONS = 3 }; /* the most objects that are stored together with another */

struct write_options {
    bool is_dry_run;
    bool force;  /* of apply */
    str manager; /* fieldManager, else what the User-Agent says */
    enum strictness strictness;
};

struct write {
    /* ---- The request; the same for all attempts. ---- */
    struct api_request *r;
    struct api *api;
    const struct kind *kind;
    str namespace, name; /* of the path; the name of a POST is empty */
    str subresource;
    struct accept accept;
    struct view view; /* how the answer looks */
    struct write_options options;
    write_build *build;
    const struct json *delete_options;                     /* of a deletion */
    str patch_type;                                        /* of a patch: its media type */
    void (*reshape)(struct write *w, struct json *object); /* into what is answered; NULL: the object itself */

    /* ---- This attempt. ---- */
    struct arena work;
    struct json current; /* if it exists: as an object of kind */
    rev revision;        /* …and its revision; else 0 */
    size_t stored_bytes; /* …and its size in the store */
    rev seen;            /* the revision of the store when the attempt began */
    size_t size;         /* bytes that were submitted */
    struct json next;
    struct json answer; /* if has_answer: instead of next */
    struct json status;
    struct admission_outcome admission;
    VEC(str) warnings;
    int tries; /* attempts so far, this one included */
    int code;  /* of the answer, when all goes well */
    bool exists;
    bool is_create; /* next is a new object */
    bool has_answer;
    bool is_removal; /* on its way to the store */
    bool is_cleanup; /* it marks an object for deletion: the store has space in reserve for that */
    struct store_change changes[1 + WRITE_COMPANIONS]; /* the object, then its companions */
    size_t n_companions;
    struct task_step step;
    enum write_step last; /* what `step` ends it with */
    bool takes_names;     /* a CRD whose names were accepted in this attempt */

    /* ---- Its place among the writes of CRDs (write_crd.c). ---- */
    bool is_waiting;
    struct write *next_crd;
    str crd_group;
    VEC(str) crd_names;

    /* ---- Its end, for those who write many objects; NULL: the request is answered. ---- */
    void (*ended)(struct write *w, enum write_step last);
    void *ctx;
};

/* ---- Running (write_commit.c). ---- */

/* A write of what the request speaks of. False: the Accept header cannot be served, and the request was refused. */
bool write_begin(struct api_request *r, write_build *build, struct write **ret);
/* The next attempt, as a step of the request's task; everything else follows by itself. */
void write_run(struct write *w);
/* Ends a write before it has begun. */
void write_refuse(struct write *w, struct json status);

/* ---- Options (write_options.c): read and checked; 0, or a code with w->status set. ---- */

enum write_verb { WRITE_CREATE, WRITE_UPDATE, WRITE_PATCH, WRITE_APPLY };
int write_options_parse(struct write *w, enum write_verb verb);
/* DeleteOptions from the body or the query, into w->delete_options. */
int write_delete_options_parse(struct write *w);

/* ---- Building (write_build.c). ---- */

struct meta_place write_place(const struct write *w);
/* The part of the object that the write is about, as strategy.h names it: a scale is a write of the object itself. */
str write_part(const struct write *w);
/* What is spoken of: by plural, or by Kind in answers about invalid objects. */
struct status_subject write_subject(const struct write *w, str name);
struct status_subject write_subject_kind(const struct write *w, str name);
enum write_step write_refused(struct write *w, struct json status);
/* The code and text of err. */
enum write_step write_failed(struct write *w, const struct err *err);
void write_warn(struct write *w, str text);
void write_warn_all(struct write *w, const struct strict_notes *notes);
/* The object in the body of the request becomes next, in the place that the path gives it. False: refused, status says why. */
bool write_take_body(struct write *w);
/* In place: owners that stand there twice go, with a warning. */
void write_dedup_owners(struct write *w);

/* Reads the present object of this name into the attempt; a negative code other than ERR_NOT_FOUND is trouble. */
int write_load(struct write *w, str name, struct err *err);
/* From w->next as a client wants it (decoded, defaulted) to a new object that may be stored. */
enum write_step write_next_create(struct write *w);
/* The same for a change of w->current. */
enum write_step write_next_update(struct write *w);
/* From w->current to what is left of it after a deletion. */
enum write_step write_next_delete(struct write *w);
/* Whether the asker may also create what is not there; else refused. */
bool write_may_create(struct write *w);

/* ---- Records of who manages what (write_managed.c). ---- */

/* In place: w->next with its managedFields brought up to date. */
void write_track(struct write *w);
/* What apply needs to know of the write. */
struct managed_write write_managed(struct write *w);

/* ---- Objects that are stored together with a Namespace (write_companions.c). ---- */

/* Fills in list with the changes that belong to the transaction of w->next, in w->work; returns their number. A companion that exists
 * is never changed: one that belongs to the same manager is stored again as it is, so that its revision moves and a deletion that
 * was decided on before fails. */
size_t write_companions(struct write *w, struct store_change *list);

/* ---- CustomResourceDefinitions (write_crd.c). ---- */

bool write_is_crd(const struct kind *kind);
/* In place, behind validation: conditions and accepted names; warns about rules that are not enforced. */
void write_crd_settle(struct write *w);
/* Of two CRDs that ask for the same names only one may get them. So within an API group one write goes after the other: who
 * may not enter yet is run again later. Whoever entered must leave. */
bool write_crd_enter(struct write *w);
void write_crd_leave(struct write *w);
/* Whether new resources of w->kind may still come; else refused. Asked in every attempt: what defines the kind may have gone or
 * changed since the request was taken in. */
bool write_crd_stays(struct write *w);
/* In place: the first request to delete one only marks it: its resources go first. False: it was marked before. */
bool write_crd_mark(struct write *w);
