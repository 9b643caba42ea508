/* SPDX-License-Identifier: Apache-2.0 */
/* A write between store_submit and its done function. */
#include "store/store_internal.h"

#include <stdlib.h>

static bool is_key(const struct store_tables *tables, uint32_t table, str namespace, str name)
{
    struct store_key key;
    return table > 0 && table <= tables->list.n && name.n > 0 && store_key_make(&key, table, namespace, name);
}

static int bad_key(str namespace, str name, struct err *err)
{
    return err_set(err, ERR_INVALID, "\"%.*s/%.*s\" cannot be a key of the store", STR(str_upto(namespace, 100)),
                   STR(str_upto(name, 100)));
}

static int by_key(const void *x, const void *y)
{
    const struct store_change *a = *(const struct store_change *const *)x, *b = *(const struct store_change *const *)y;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    int order = str_cmp(a->namespace, b->namespace);
    return order ? order : str_cmp(a->name, b->name);
}

/* What is to become of an object that is changed twice, nobody can say. */
static int check_twice(const struct store_write *w, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    const struct store_change **sorted = ARENA_ARRAY(&a, const struct store_change *, w->n_changes);
    for (size_t i = 0; i < w->n_changes; i++)
        sorted[i] = &w->changes[i];
    qsort(sorted, w->n_changes, sizeof *sorted, by_key);
    for (size_t i = 1; i < w->n_changes; i++)
        if (by_key(&sorted[i - 1], &sorted[i]) == 0)
            return err_set(err, ERR_INVALID, "one write changes %.*s/%.*s twice", STR(sorted[i]->namespace),
                           STR(sorted[i]->name));
    return 0;
}

int store_job_check(const struct store_tables *tables, const struct store_write *w, struct err *err)
{
    if (w->n_changes == 0)
        return err_set(err, ERR_INVALID, "a write without a change");
    for (size_t i = 0; i < w->n_changes; i++) {
        const struct store_change *c = &w->changes[i];
        if (!is_key(tables, c->table, c->namespace, c->name))
            return bad_key(c->namespace, c->name, err);
        if (c->value.n > STORE_VALUE_MAX || c->value_rest.n > STORE_VALUE_MAX - c->value.n)
            return err_set(err, ERR_TOO_LARGE, "the value of %.*s/%.*s is larger than %d bytes", STR(c->namespace),
                           STR(c->name), STORE_VALUE_MAX);
        if (c->is_delete && c->expect == 0)
            return err_set(err, ERR_INVALID, "%.*s/%.*s: what must not exist cannot be deleted", STR(c->namespace),
                           STR(c->name));
    }
    for (size_t i = 0; i < w->n_guards; i++)
        if (!is_key(tables, w->guards[i].table, w->guards[i].namespace, w->guards[i].name))
            return bad_key(w->guards[i].namespace, w->guards[i].name, err);
    return w->n_changes > 1 ? check_twice(w, err) : 0;
}

size_t store_job_size(const struct store_write *w)
{
    size_t n = sizeof(struct store_job) + w->n_changes * (sizeof(struct store_change) + sizeof(struct store_entry)) +
               w->n_guards * sizeof(struct store_guard);
    for (size_t i = 0; i < w->n_changes; i++) {
        const struct store_change *c = &w->changes[i];
        n += c->namespace.n + c->name.n + c->value.n + c->value_rest.n;
    }
    for (size_t i = 0; i < w->n_guards; i++)
        n += w->guards[i].namespace.n + w->guards[i].name.n;
    return n;
}

static str copy(char **at, str s)
{
    str own = {*at, s.n};
    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return own;
}

struct store_job *store_job_new(const struct store_write *w, int64_t time)
{
    size_t bytes = store_job_size(w);
    struct store_job *job = xmalloc(bytes);
    struct store_change *changes = (struct store_change *)(job + 1);
    struct store_entry *before = (struct store_entry *)(changes + w->n_changes);
    struct store_guard *guards = (struct store_guard *)(before + w->n_changes);
    char *at = (char *)(guards + w->n_guards);
    for (size_t i = 0; i < w->n_changes; i++) {
        const struct store_change *from = &w->changes[i];
        changes[i] = *from;
        changes[i].namespace = copy(&at, from->namespace);
        changes[i].name = copy(&at, from->name);
        changes[i].value = copy(&at, from->value);
        changes[i].value.n += copy(&at, from->value_rest).n;
        changes[i].value_rest = (str){0};
    }
    for (size_t i = 0; i < w->n_guards; i++) {
        guards[i] = w->guards[i];
        guards[i].namespace = copy(&at, w->guards[i].namespace);
        guards[i].name = copy(&at, w->guards[i].name);
    }
    *job = (struct store_job){
        .bytes = bytes,
        .time = time,
        .done = w->done,
        .ctx = w->ctx,
        .changes = changes,
        .before = before,
        .guards = guards,
        .n_changes = w->n_changes,
        .n_guards = w->n_guards,
        .is_cleanup = w->is_cleanup,
    };
    return job;
}

void store_job_free(struct store_job *job)
{
    if (job == NULL)
        return;
    free(job->message);
    free(job);
}

void store_job_fail(struct store_job *job, const struct err *err)
{
    free(job->message);
    job->message = xstrdup(err->msg);
    job->result = (struct store_result){.code = err->code, .message = job->message};
}

void store_jobs_init(struct store_jobs *jobs)
{
    jobs->first = NULL;
    jobs->last = &jobs->first;
}

void store_jobs_push(struct store_jobs *jobs, struct store_job *job)
{
    job->next = NULL;
    *jobs->last = job;
    jobs->last = &job->next;
}

void store_jobs_move(struct store_jobs *to, struct store_jobs *from)
{
    if (from->first == NULL)
        return;
    *to->last = from->first;
    to->last = from->last;
    store_jobs_init(from);
}
