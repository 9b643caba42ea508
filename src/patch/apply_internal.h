/* SPDX-License-Identifier: Apache-2.0 */
/* What: the steps of apply and of tracking, only for apply*.c and managed.c.
 * Owns: nothing; results live in the arena given and share parts of their inputs, which are not changed.
 * Threads: pure functions.
 * Errors: ERR_INTERNAL with the texts of structured-merge-diff. */
#pragma once

#include "patch/apply.h"
#include "patch/fieldset.h"
#include "patch/typed.h"

/* ---- List items. ---- */

/* What identifies an item of a set or keyed list. */
int item_elem(struct arena *a, const struct typed *list, const struct json *item, struct fieldset_elem *ret,
              struct err *err);

/* The items of a list, by element. */
struct item {
    struct fieldset_elem elem;
    const struct json *value;
    uint32_t next;  /* another item with the same element, or ITEM_NONE */
    bool is_repeat; /* there is one in front of it */
};

enum { ITEM_NONE = UINT32_MAX };

struct items {
    struct item *p; /* one for each item of the list, in its order */
    uint32_t n, mask;
    uint32_t *slots;
};

/* Fails when an item cannot be identified. v may be any value: one that is not a list has no items. */
int items_init(struct arena *a, struct items *ret, const struct typed *list, const struct json *v, struct err *err);
/* The first item with this element, or ITEM_NONE. */
uint32_t items_find(const struct items *set, const struct fieldset_elem *elem);

/* ---- Values. ---- */

/* Fails unless config fits the type and no list has two items with the same element. Text: ".spec.x: …". */
int value_check(const struct typed *t, const struct json *config, struct arena *a, struct err *err);
/* The fields that a configuration sets. */
struct fieldset value_fields(struct arena *a, const struct typed *t, const struct json *config);

/* ---- Differences. ---- */

/* Paths that next added or changed (FIELDSET_IN) and removed (FIELDSET_REMOVED). old NULL is an empty object. */
int value_diff(struct arena *a, const struct typed *t, const struct json *old, const struct json *next,
               struct fieldset *ret, struct err *err);

/* ---- Merging. ---- */

/* True when both handles mean the same scalar or the same memory. */
bool value_is_shared(const struct json *x, const struct json *y);

/* ---- Records. ---- */

struct managed_entry {
    str manager, api_version, subresource, time;
    bool applied; /* operation Apply; else Update */
    str id;       /* its identity, as JSON: no time, and for Apply no version */
    struct fieldset set;
    const struct json *fields; /* the FieldsV1 tree the set was read from and still equals, or NULL */
};

struct managed {
    struct arena *arena;
    VEC(struct managed_entry) list;
};

int managed_decode(struct arena *a, const struct json *entries, struct managed *ret, struct err *err);
/* The list for metadata.managedFields, sorted; null when it is empty. */
struct json managed_encode(const struct managed *m);
/* Identity of the entry this write belongs to. */
str managed_id(struct arena *a, const struct managed_write *w, bool applied);
struct managed_entry *managed_find(const struct managed *m, str id);
/* The object with these managedFields, or without any. */
struct json managed_attach(struct arena *a, const struct json *object, const struct managed *m);
const struct json *managed_of(const struct json *object);
/* Replaces the set of an entry; an empty set removes nothing here, see managed_sweep. */
void managed_set(struct managed_entry *e, struct fieldset set);
/* Drops the entries whose set is empty. */
void managed_sweep(struct managed *m);
/* Drops entries of versions that are no longer served, and adapts sets where the type became atomic. */
void managed_reconcile(struct managed *m, const struct managed_write *w);
/* True when that, and a round trip of the entries, certainly changes nothing; the texts of keys are not normalized. */
bool managed_is_reconciled(const struct json *entries, const struct managed_write *w);
/* Fields no set ever holds. */
struct fieldset managed_never(void);
/* Records the change from old to next as an Update of this manager. */
int managed_track(struct managed *m, const struct managed_write *w, const struct json *old, const struct json *next,
                  struct err *err);

/* ---- Client-side apply. ---- */

/* The annotation; empty when there is none. */
str last_applied_text(const struct json *object);
/* Updates the annotation, if there is one, to what kubectl applies. */
struct json last_applied_refresh(struct arena *a, const struct json *object, const struct json *config);

/* ---- Detection of applies that change nothing. ---- */

/* True when applying config certainly changes nothing. False: it may change something. */
bool apply_is_noop(const struct apply_args *args, const struct json *own_entry);
/* apply_patch without that check. */
int apply_thoroughly(struct arena *a, const struct apply_args *args, struct apply_result *ret, struct err *err);
