/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/oci_fetch.h"
#include "base/arena.h"
#include "base/map.h"
#include "oci/digest.h"
#include "oci/fetch_internal.h"
#include "oci/layout.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Which digest a question (reference, policy, credentials) was answered with, for a while. Part of the fetcher.
 *
 * An answer stands only for the very same question: somebody else's credentials open nothing. It falls when its time is over or the
 * local store has changed, which always goes first. */

/* What tells one state of the local store from another. All zero: there is none. */
struct fetch_store_state {
    uint64_t inode, size;
    int64_t changed_ns;
};

struct fetch_memory {
    struct map answers; /* question → struct answer */
    int64_t keep_ns;
};

enum { ANSWERS_MAX = 10000 };

struct answer {
    str question; /* behind this struct */
    struct fetch_store_state store;
    struct oci_digest digest;
    int64_t until_ns;
};

static struct fetch_store_state fetch_store_look(const char *path)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct stat st;
    if (path == NULL || stat(str_cstr(&scratch, str_fmt(&scratch, "%s/index.json", path)), &st) < 0)
        return (struct fetch_store_state){0};
    return (struct fetch_store_state){.inode = st.st_ino,
                                      .size = (uint64_t)st.st_size,
                                      .changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec};
}

static void forget_all(struct fetch_memory *m)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&m->answers, &at, &key, &value))
        free(value);
    map_done(&m->answers);
    m->answers = (struct map){0};
}

static void fetch_memory_done(struct fetch_memory *m)
{
    forget_all(m);
}

static void fetch_memory_forget(struct fetch_memory *m, str question)
{
    free(map_del(&m->answers, question));
}

static bool fetch_memory_get(struct fetch_memory *m, str question, const struct fetch_store_state *store,
                             int64_t now_ns, struct oci_digest *ret)
{
    struct answer *answer = map_get(&m->answers, question);
    if (answer == NULL)
        return false;
    if (now_ns < answer->until_ns && answer->store.inode == store->inode && answer->store.size == store->size &&
        answer->store.changed_ns == store->changed_ns) {
        *ret = answer->digest;
        return true;
    }
    fetch_memory_forget(m, question);
    return false;
}

static void fetch_memory_put(struct fetch_memory *m, str question, const struct fetch_store_state *store,
                             int64_t now_ns, const struct oci_digest *digest)
{
    if (m->answers.n >= ANSWERS_MAX)
        forget_all(m); /* they cost a question each */
    struct answer *answer = xmalloc(sizeof *answer + question.n);
    char *text = (char *)(answer + 1);
    memcpy(text, question.p, question.n);
    *answer = (struct answer){{text, question.n}, *store, *digest, now_ns + m->keep_ns};
    fetch_memory_forget(m, question); /* its key goes with it */
    map_set(&m->answers, answer->question, answer);
}

/* ---- Counts. No more names than children can be at work: lists are short. ---- */

static struct fetch_count *find(const struct fetch_counts *c, str name)
{
    for (size_t i = 0; i < c->n; i++) {
        if (str_eq(c->p[i].name, name))
            return &c->p[i];
    }
    return NULL;
}

static unsigned count(const struct fetch_counts *c, str name)
{
    const struct fetch_count *found = find(c, name);
    return found ? found->running : 0;
}

static void add(struct fetch_counts *c, str name)
{
    struct fetch_count *found = find(c, name);
    if (found) {
        found->running++;
        return;
    }
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 8;
        c->p = reallocarray(c->p, c->cap, sizeof *c->p);
        if (c->p == NULL)
            abort();
    }
    char *copy;
    if (asprintf(&copy, "%.*s", STR(name)) < 0)
        abort();
    c->p[c->n++] = (struct fetch_count){{copy, name.n}, 1};
}

static void take_away(struct fetch_counts *c, str name)
{
    struct fetch_count *found = find(c, name);
    assert(found && found->running);
    if (--found->running)
        return;
    free((char *)(uintptr_t)found->name.p);
    *found = c->p[--c->n];
}

/* ---- The gate. ---- */

void fetch_gate_init(struct fetch_gate *g, unsigned max, unsigned max_per_host, unsigned max_per_tenant)
{
    *g = (struct fetch_gate){.max = max, .max_per_host = max_per_host, .max_per_tenant = max_per_tenant};
}

void fetch_gate_done(struct fetch_gate *g)
{
    assert(g->hosts.n == 0 && g->tenants.n == 0);
    free(g->hosts.p);
    free(g->tenants.p);
}

bool fetch_gate_enter(struct fetch_gate *g, str host, str tenant)
{
    bool is_registry = host.n > 0;
    if (count(&g->hosts, host) >= (is_registry ? g->max_per_host : g->max))
        return false;
    if (is_registry && (g->running >= g->max || (tenant.n && count(&g->tenants, tenant) >= g->max_per_tenant)))
        return false;
    add(&g->hosts, host);
    if (is_registry) {
        g->running++;
        if (tenant.n)
            add(&g->tenants, tenant);
    }
    return true;
}

void fetch_gate_leave(struct fetch_gate *g, str host, str tenant)
{
    take_away(&g->hosts, host);
    if (host.n == 0)
        return;
    g->running--;
    if (tenant.n)
        take_away(&g->tenants, tenant);
}

enum { DEFAULT_CHILDREN = 8, DEFAULT_PER_HOST = 3, DEFAULT_PER_TENANT = 2 };
static const uint64_t DEFAULT_CACHE = UINT64_C(1) << 30;
static const int64_t DEFAULT_TIMEOUT = INT64_C(300) * 1000000000, DEFAULT_REMEMBER = INT64_C(300) * 1000000000;

/* A question that is being answered; others who ask the same wait for it. */
struct flight {
    struct flight *next;
    str question;
    unsigned waiting; /* for the end; the last one frees it */
    bool has_ended;
    struct oci_digest digest; /* set: all went well */
    struct fetch_failure failure;
    struct err err;
};

struct fetcher {
    struct arena arena; /* of the options */
    struct fetcher_options options;
    struct fetch_cache *cache;
    int stop; /* an eventfd: readable from fetcher_stop on */

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t change;
    bool is_stopped;
    struct fetch_gate gate;
    struct fetch_memory memory;
    struct flight *flights;
};

/* One pull. */
struct pull {
    struct fetcher *f;
    struct fetch_ask ask;
    str question;
};

const char *fetch_reason_name(enum fetch_reason reason)
{
    static const char *const names[] = {
        [FETCH_PULL_FAILED] = "PullFailed",
        [FETCH_INVALID_PACKAGE] = "InvalidPackage",
        [FETCH_STOPPED] = "Stopped",
        [FETCH_BUSY] = "Busy",
    };
    return names[reason];
}

/* ---- Life. ---- */

static const char *keep_path(struct fetcher *f, const char *path)
{
    return path ? str_cstr(&f->arena, str_of(path)) : NULL;
}

static void keep_options(struct fetcher *f, const struct fetcher_options *o)
{
    struct fetcher_options *k = &f->options;
    struct fetch_mirror *mirrors = ARENA_ARRAY(&f->arena, struct fetch_mirror, o->n_mirrors);
    *k = *o;
    k->program = keep_path(f, o->program);
    k->store = keep_path(f, o->store);
    k->cache = keep_path(f, o->cache);
    k->ca_file = keep_path(f, o->ca_file);
    for (size_t i = 0; i < o->n_mirrors; i++)
        mirrors[i] =
            (struct fetch_mirror){str_dup(&f->arena, o->mirrors[i].prefix), str_dup(&f->arena, o->mirrors[i].location)};
    uint16_t *ports = ARENA_ARRAY(&f->arena, uint16_t, o->n_ports);
    for (size_t i = 0; i < o->n_ports; i++)
        ports[i] = o->ports[i];
    k->mirrors = mirrors;
    k->ports = ports;
    k->max_children = o->max_children ? o->max_children : DEFAULT_CHILDREN;
    k->max_per_host = o->max_per_host ? o->max_per_host : DEFAULT_PER_HOST;
    k->max_per_tenant = o->max_per_tenant ? o->max_per_tenant : DEFAULT_PER_TENANT;
    k->cache_bytes = o->cache_bytes ? o->cache_bytes : DEFAULT_CACHE;
    k->timeout_ns = o->timeout_ns ? o->timeout_ns : DEFAULT_TIMEOUT;
    k->clock = o->clock.mono_ns ? o->clock : clock_system;
}

int fetcher_new(const struct fetcher_options *options, struct fetcher **ret, struct err *err)
{
    struct fetch_cache *cache;
    int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop < 0)
        return err_set(err, ERR_IO, "make an eventfd: %m");
    int code =
        fetch_cache_open(options->cache, options->cache_bytes ? options->cache_bytes : DEFAULT_CACHE, &cache, err);
    if (code < 0) {
        close(stop);
        return code;
    }
    struct fetcher *f = xcalloc(1, sizeof *f);
    keep_options(f, options);
    f->cache = cache;
    f->stop = stop;
    f->memory.keep_ns = options->remember_ns ? options->remember_ns : DEFAULT_REMEMBER;
    fetch_gate_init(&f->gate, f->options.max_children, f->options.max_per_host, f->options.max_per_tenant);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->change, NULL);
    *ret = f;
    return 0;
}

void fetcher_stop(struct fetcher *f)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&f->lock);
    f->is_stopped = true;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
    ssize_t n = write(f->stop, &one, sizeof one); /* fails only when it is readable already */
    (void)n;
}

void fetcher_free(struct fetcher *f)
{
    if (f == NULL)
        return;
    fetch_gate_done(&f->gate);
    fetch_memory_done(&f->memory);
    fetch_cache_close(f->cache);
    pthread_cond_destroy(&f->change);
    pthread_mutex_destroy(&f->lock);
    close(f->stop);
    arena_done(&f->arena);
    free(f);
}

/* ---- Who may run. ---- */

/* Is it in the local store? Then no registry is waited for. Whatever is wrong with the store, the child says so. */
static bool is_in_store(const struct fetch_ask *ask)
{
    struct err unread;
    bool has;
    if (ask->request->policy == FETCH_NEVER)
        return true;
    if (ask->request->policy == FETCH_ALWAYS || ask->options->store == NULL)
        return false;
    return oci_layout_at_has(ask->options->store, &ask->ref, &has, &unread) < 0 || has;
}

/* It does not wait, though it would have to. */
static int busy(struct fetch_failure *failure, struct err *err)
{
    *failure = (struct fetch_failure){.reason = FETCH_BUSY, .may_pass = true};
    return err_set(err, ERR_TOO_MANY_REQUESTS, "others are pulled first");
}

static int enter_gate(struct pull *p, str host, struct fetch_failure *failure, struct err *err)
{
    struct fetcher *f = p->f;
    bool has_entered = false;
    pthread_mutex_lock(&f->lock);
    while (!f->is_stopped && !(has_entered = fetch_gate_enter(&f->gate, host, p->ask.request->tenant)) &&
           !p->ask.request->is_at_once)
        pthread_cond_wait(&f->change, &f->lock);
    bool is_stopped = f->is_stopped;
    pthread_mutex_unlock(&f->lock);
    if (has_entered)
        return 0;
    if (!is_stopped)
        return busy(failure, err);
    *failure = (struct fetch_failure){.reason = FETCH_STOPPED, .may_pass = false};
    return err_set(err, ERR_GONE, "stopped");
}

static void leave_gate(struct pull *p, str host)
{
    pthread_mutex_lock(&p->f->lock);
    fetch_gate_leave(&p->f->gate, host, p->ask.request->tenant);
    pthread_cond_broadcast(&p->f->change);
    pthread_mutex_unlock(&p->f->lock);
}

static int ask_child(struct pull *p, struct oci_digest *ret_digest, struct fetch_entry **ret_entry,
                     struct fetch_failure *failure, struct err *err)
{
    struct fetcher *f = p->f;
    p->ask.is_in_store = is_in_store(&p->ask);
    str host = p->ask.is_in_store ? (str){0} : p->ask.ref.registry;
    int code = enter_gate(p, host, failure, err);
    if (code < 0)
        return code;
    code = fetch_ask(&p->ask, true, ret_digest, ret_entry, failure, err);
    if (code == 0 && *ret_entry == NULL &&
        fetch_cache_get(f->cache, p->ask.repository, ret_digest, ret_entry, NULL) < 0)
        code = fetch_ask(&p->ask, false, ret_digest, ret_entry, failure, err); /* it was damaged, or has just gone */
    if (code == 0 && *ret_entry == NULL) {
        err_set(err, ERR_UNAVAILABLE, "reeve-fetch brought nothing");
        code = fetch_broken(failure, err);
    }
    leave_gate(p, host);
    return code;
}

/* ---- The same question, asked by many. ---- */

static struct flight *find_flight(struct fetcher *f, str question)
{
    for (struct flight *it = f->flights; it; it = it->next) {
        if (str_eq(it->question, question))
            return it;
    }
    return NULL;
}

static void end_flight(struct flight *flight)
{
    if (flight->waiting == 0)
        free(flight);
}

/* Waits for somebody else's answer_pull. Under the lock. */
static int join_flight(struct fetcher *f, struct flight *flight, struct oci_digest *ret, struct fetch_failure *failure,
                       struct err *err)
{
    flight->waiting++;
    while (!flight->has_ended)
        pthread_cond_wait(&f->change, &f->lock);
    flight->waiting--;
    int code = oci_digest_is_set(&flight->digest) ? 0 : flight->err.code;
    *ret = flight->digest;
    if (code < 0) {
        *failure = flight->failure;
        *err = flight->err;
    }
    end_flight(flight);
    return code;
}

/* Asks, for all who want to know. Called and left with the lock held. */
static int fly(struct pull *p, struct oci_digest *ret_digest, struct fetch_entry **ret_entry,
               struct fetch_failure *failure, struct err *err)
{
    struct fetcher *f = p->f;
    struct flight *flight = xcalloc(1, sizeof *flight);
    flight->question = p->question;
    flight->next = f->flights;
    f->flights = flight;
    pthread_mutex_unlock(&f->lock);
    struct fetch_store_state store = fetch_store_look(f->options.store);
    int code = ask_child(p, ret_digest, ret_entry, failure, err);
    pthread_mutex_lock(&f->lock);
    for (struct flight **at = &f->flights; *at; at = &(*at)->next) {
        if (*at == flight) {
            *at = flight->next;
            break;
        }
    }
    flight->has_ended = true;
    if (code == 0) {
        flight->digest = *ret_digest;
        fetch_memory_put(&f->memory, p->question, &store, clock_mono_ns(&f->options.clock), ret_digest);
    } else {
        flight->failure = *failure;
        flight->err = *err;
    }
    pthread_cond_broadcast(&f->change);
    end_flight(flight);
    return code;
}

/* From memory, from another who asks the same, or from a child. *ret_entry may be NULL: then it is in the cache. */
static int answer_pull(struct pull *p, struct oci_digest *ret_digest, struct fetch_entry **ret_entry,
                       struct fetch_failure *failure, struct err *err)
{
    struct fetcher *f = p->f;
    struct flight *flight;
    struct fetch_store_state store = fetch_store_look(f->options.store);
    bool is_always = p->ask.request->policy == FETCH_ALWAYS;
    int code = 0;
    *ret_entry = NULL;
    pthread_mutex_lock(&f->lock);
    if (f->is_stopped) {
        *failure = (struct fetch_failure){.reason = FETCH_STOPPED, .may_pass = false};
        code = err_set(err, ERR_GONE, "stopped");
    } else if (is_always ||
               !fetch_memory_get(&f->memory, p->question, &store, clock_mono_ns(&f->options.clock), ret_digest)) {
        flight = is_always ? NULL : find_flight(f, p->question);
        if (flight && p->ask.request->is_at_once)
            code = busy(failure, err);
        else if (flight)
            code = join_flight(f, flight, ret_digest, failure, err);
        else
            code = fly(p, ret_digest, ret_entry, failure, err);
    }
    pthread_mutex_unlock(&f->lock);
    return code;
}

/* Policy, name, and a digest of the credentials. */
static str question_of(struct pull *p)
{
    struct oci_hash *hash = oci_hash_new(OCI_SHA256);
    for (size_t i = 0; i < p->ask.request->n_auths; i++) {
        const uint64_t n = p->ask.request->auths[i].n;
        oci_hash_add(hash, (str){(const char *)&n, sizeof n});
        oci_hash_add(hash, p->ask.request->auths[i]);
    }
    struct oci_digest auths = oci_hash_finish(hash);
    oci_hash_free(hash);
    return str_fmt(p->ask.arena, "%d %.*s %.*s", p->ask.request->policy, STR(p->ask.ref.text),
                   STR(oci_digest_hex(p->ask.arena, &auths)));
}

static int read_reference(struct arena *a, str text, struct oci_reference *ret, str *ret_repository, struct err *err)
{
    struct oci_reference ref;
    if (text.n > FETCH_MAX_REFERENCE)
        return err_set(err, ERR_INVALID, "reference has more than %d bytes", FETCH_MAX_REFERENCE);
    int code = oci_reference_parse(text, &ref, err);
    if (code < 0)
        return code;
    *ret = oci_reference_normalize(a, &ref);
    *ret_repository = str_fmt(a, "%.*s/%.*s", STR(ret->registry), STR(ret->path));
    return 0;
}

int fetch_pull(struct fetcher *f, struct arena *a, const struct fetch_request *request, struct fetch_result *ret,
               struct fetch_failure *failure, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct pull p = {
        .f = f,
        .ask = {.options = &f->options, .cache = f->cache, .stop = f->stop, .arena = &scratch, .request = request}};
    struct fetch_entry *entry = NULL;
    struct oci_digest digest;
    struct fetch_failure unwanted;
    struct err mine;
    failure = failure ? failure : &unwanted;
    err = err ? err : &mine;
    if (read_reference(&scratch, request->reference, &p.ask.ref, &p.ask.repository, err) < 0) {
        *failure = (struct fetch_failure){.reason = FETCH_PULL_FAILED, .may_pass = false};
        return err->code;
    }
    p.question = question_of(&p);
    for (int attempts = 0; attempts < 3; attempts++) {
        int code = answer_pull(&p, &digest, &entry, failure, err);
        if (code < 0)
            return code;
        if (entry == NULL && fetch_cache_get(f->cache, p.ask.repository, &digest, &entry, err) < 0) {
            /* It was thrown out of the cache meanwhile. */
            pthread_mutex_lock(&f->lock);
            fetch_memory_forget(&f->memory, p.question);
            pthread_mutex_unlock(&f->lock);
            continue;
        }
        *ret = (struct fetch_result){
            .digest = oci_digest_format(a, &digest), .entry = entry, .is_from_store = is_in_store(&p.ask)};
        return 0;
    }
    return fetch_broken(failure, err);
}

int fetch_open(struct fetcher *f, str reference, str digest, struct fetch_entry **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct oci_reference ref;
    struct oci_digest want;
    str repository = {0};
    if (read_reference(&scratch, reference, &ref, &repository, err) < 0)
        return err_wrap(err, "open package");
    if (!oci_digest_parse(digest, &want))
        return err_set(err, ERR_INVALID, "open package: \"%.*s\" is no digest", STR(digest));
    return fetch_cache_get(f->cache, repository, &want, ret, err);
}
