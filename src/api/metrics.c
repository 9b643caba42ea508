/* SPDX-License-Identifier: Apache-2.0 */
#include "api/metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/discovery.h"
#include "api/watch.h"
#include "base/metric.h"

enum {
    SERIES_MAX = 4096, /* sets of labels; what comes later is counted together, without labels */
    CODES_MAX = 24,    /* different codes in one set */
    LABELS_ROOM = 512, /* for most sets; a longer one takes memory */
};

/* Upper ends in seconds, as kube-apiserver has them. */
static const double bounds[] = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5, 2,
                                3,     4,     5,    6,   8,   10,  15,  20,  30, 45,   60};

enum { N_BOUNDS = COUNT(bounds) };

struct code_count {
    int code;
    uint64_t n;
};

struct series {
    str labels; /* everything but the code, as it is printed */
    struct code_count codes[CODES_MAX];
    size_t n_codes;
    struct histogram durations;
};

struct metrics {
    struct arena arena;
    struct map known; /* labels → struct series */
    VEC(struct series *) all;
    struct series *others; /* past the limit */
    int64_t started;       /* seconds */
};

/* ---- Counting. ---- */

static struct series *series_new(struct metrics *m, str labels)
{
    struct series *s = ARENA_NEW(&m->arena, struct series);
    s->labels = str_dup(&m->arena, labels);
    s->durations = (struct histogram){.bounds = bounds, .n_bounds = N_BOUNDS};
    *vec_push(&m->arena, &m->all) = s;
    return s;
}

struct metrics *metrics_new(void)
{
    struct metrics *m = xcalloc(1, sizeof *m);
    m->started = clock_seconds(&clock_system);
    m->others = series_new(m, S("group=\"\",resource=\"\",scope=\"\",subresource=\"\",verb=\"other\",version=\"\""));
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    map_done(&m->known);
    arena_done(&m->arena);
    free(m);
}

static const char *verb_label(const struct api_request *r)
{
    switch (r->route.verb) {
    case VERB_GET:
        return "GET";
    case VERB_LIST:
        return "LIST";
    case VERB_WATCH:
        return "WATCH";
    case VERB_CREATE:
        return "POST";
    case VERB_UPDATE:
        return "PUT";
    case VERB_PATCH:
        return str_has_prefix(http_header(r->x, S("content-type")), S("application/apply-patch")) ? "APPLY" : "PATCH";
    case VERB_DELETE:
        return "DELETE";
    case VERB_DELETECOLLECTION:
        return "DELETECOLLECTION";
    default:
        return str_eq(r->x->method, S("GET")) ? "GET" : "other";
    }
}

/* Paths that are no resources, by where they begin; anything else is not told, as clients can make up as many as they like. */
static const char *path_label(str path)
{
    static const char *const known[] = {"/apis",    "/api",     "/healthz", "/livez",
                                        "/metrics", "/openapi", "/readyz",  "/version"};
    for (size_t i = 0; i < COUNT(known); i++)
        if (str_has_prefix(path, str_of(known[i])))
            return known[i];
    return "";
}

static void add_label(struct buf *b, str start, const char *value)
{
    buf_add_str(b, start);
    buf_add_str(b, str_of(value));
    buf_add_char(b, '"');
}

/* Only what the server itself knows becomes a label: kinds, their subresources, and the paths above. */
static str labels_of(struct arena *a, const struct api_request *r)
{
    const struct route *route = &r->route;
    const struct kind *k = route->kind;
    const struct kind_subresource *sub = k ? kind_subresource(k, route->subresource) : NULL;
    const char *scope = route->name.n ? "resource" : route->namespace.n ? "namespace" : "cluster";
    struct buf b = {.arena = a};
    buf_grow(&b, LABELS_ROOM / 2);
    add_label(&b, S("group=\""), k ? k->group : "");
    add_label(&b, S(",resource=\""), k ? k->plural : "");
    add_label(&b, S(",scope=\""), k ? scope : "");
    add_label(&b, S(",subresource=\""), sub ? sub->name : route->is_resource ? "" : path_label(route->path));
    add_label(&b, S(",verb=\""), verb_label(r));
    add_label(&b, S(",version=\""), k ? k->version : "");
    return buf_str(&b);
}

static struct series *series_of(struct metrics *m, const struct api_request *r)
{
    char room[LABELS_ROOM];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    str labels = labels_of(&scratch, r);
    struct series *s = map_get(&m->known, labels);
    if (s || m->all.n >= SERIES_MAX)
        return s ? s : m->others;
    s = series_new(m, labels);
    map_set(&m->known, s->labels, s);
    return s;
}

static void count_code(struct series *s, int code)
{
    for (size_t i = 0; i < s->n_codes; i++)
        if (s->codes[i].code == code) {
            s->codes[i].n++;
            return;
        }
    if (s->n_codes < CODES_MAX)
        s->codes[s->n_codes++] = (struct code_count){code, 1};
}

void metrics_request(struct metrics *m, const struct api_request *r, int64_t took_ns)
{
    struct series *s = series_of(m, r);
    histogram_add(&s->durations, (double)took_ns / 1e9);
    count_code(s, r->status);
}

/* ---- Telling. ---- */

static void add_number(struct buf *b, const char *name, const char *type, const char *help, double value)
{
    metric_head(b, name, type, help);
    metric_value(b, name, (str){0}, value);
}

static void add_durations(struct buf *b, const struct series *s)
{
    char room[LABELS_ROOM];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    str labels = str_fmt(&scratch, "component=\"apiserver\",dry_run=\"\",%.*s", STR(s->labels));
    metric_histogram(b, "apiserver_request_duration_seconds", labels, &s->durations);
}

void metrics_format_requests(const struct metrics *m, struct buf *b)
{
    metric_head(b, "apiserver_request_total", "counter", "Requests answered, by what was asked and the HTTP code.");
    vec_each(&m->all, s)
    {
        for (size_t c = 0; c < (*s)->n_codes; c++)
            buf_fmt(b, "apiserver_request_total{code=\"%d\",component=\"apiserver\",dry_run=\"\",%.*s} %llu\n",
                    (*s)->codes[c].code, STR((*s)->labels), (unsigned long long)(*s)->codes[c].n);
    }
    metric_head(b, "apiserver_request_duration_seconds", "histogram",
                "How long requests took; watches until their end.");
    vec_each(&m->all, s)
    {
        if (histogram_count(&(*s)->durations))
            add_durations(b, *s);
    }
}

/* Objects by resource; views of the same objects are told once. */
static void format_objects(struct api *api, struct buf *b)
{
    struct discovery_groups groups = discovery_groups(api->discovery);
    struct map told = {0};
    struct arena scratch ARENA_SCOPE = {0};
    metric_head(b, "apiserver_storage_objects", "gauge", "Objects stored, by resource.");
    for (size_t g = 0; g < groups.n; g++)
        for (size_t v = 0; v < groups.p[g].n; v++)
            for (size_t i = 0; i < groups.p[g].versions[v].n; i++) {
                const struct kind *k = groups.p[g].versions[v].kinds[i];
                str name = str_fmt(&scratch, "%s%s%s", k->plural, k->group[0] ? "." : "", k->group);
                if (k->flags & KIND_NOT_STORED || map_set(&told, name, b))
                    continue;
                buf_fmt(b, "apiserver_storage_objects{resource=\"%.*s\"} %llu\n", STR(name),
                        (unsigned long long)store_count(api->store, api_table(api, k)));
            }
    map_done(&told);
}

static void format_store(struct api *api, struct buf *b)
{
    struct store_stats s = store_stats(api->store);
    add_number(b, "reeve_store_file_bytes", "gauge", "Size of the store's file.", (double)s.file_bytes);
    add_number(b, "reeve_store_used_bytes", "gauge", "Bytes of it in use.", (double)s.used_bytes);
    add_number(b, "reeve_store_history_bytes", "gauge", "Bytes of history that can be given up.", (double)s.log_bytes);
    add_number(b, "reeve_store_commits_total", "counter", "Transactions written to disk.", (double)s.commits);
    add_number(b, "reeve_store_writes_total", "counter", "Writes in them.", (double)s.writes);
    add_number(b, "reeve_store_objects", "gauge", "Objects of all kinds.", (double)s.objects);
    add_number(b, "reeve_store_revision", "gauge", "The newest resourceVersion.", (double)store_revision(api->store));
    add_number(b, "reeve_store_pending_writes", "gauge", "Writes on their way to disk.",
               (double)store_pending(api->store));
    add_number(b, "reeve_store_failing", "gauge", "1 when the last write to disk failed.", s.is_failing);
    add_number(b, "reeve_store_full", "gauge", "1 when only deletions are accepted, for lack of space.", s.is_full);
}

static void format_flows(struct api *api, struct buf *b)
{
    struct flows_stats s = flows_stats(api->flows);
    metric_head(b, "apiserver_current_inflight_requests", "gauge",
                "Requests being served, by kind; watches and requests of system:masters are not counted.");
    buf_fmt(b, "apiserver_current_inflight_requests{request_kind=\"mutating\"} %u\n", s.at_work[FLOW_WRITE]);
    buf_fmt(b, "apiserver_current_inflight_requests{request_kind=\"readOnly\"} %u\n", s.at_work[FLOW_READ]);
    add_number(b, "reeve_requests_waiting", "gauge", "Requests waiting for their turn.", (double)s.waiting);
    add_number(b, "reeve_requests_refused_total", "counter", "Requests refused because too many of their user wait.",
               (double)s.refused);
}

static void format_server(struct api *api, struct buf *b)
{
    format_flows(api, b);
    add_number(b, "reeve_watches", "gauge", "Watches at work.", (double)watch_count(api->watches));
    add_number(b, "reeve_requests", "gauge", "Requests at work, watches included.", (double)api->n_requests);
    if (!api->options.connections)
        return;
    struct http_server_stats s = api->options.connections(api->options.connections_ctx);
    add_number(b, "reeve_connections", "gauge", "Connections open.", (double)s.connections);
    add_number(b, "reeve_connections_accepted_total", "counter", "Connections accepted.", (double)s.accepted);
    add_number(b, "reeve_connections_refused_total", "counter", "Connections refused for limits.", (double)s.refused);
    add_number(b, "reeve_connections_evicted_total", "counter", "Connections closed to make place for others.",
               (double)s.evicted);
    add_number(b, "reeve_request_head_bytes", "gauge", "Bytes of heads of requests at work.", (double)s.head_bytes);
    add_number(b, "reeve_request_body_bytes", "gauge", "Bytes of bodies of requests at work.", (double)s.body_bytes);
    add_number(b, "reeve_response_held_bytes", "gauge", "Bytes of responses that clients have not taken.",
               (double)s.answer_bytes);
    add_number(b, "reeve_unauthenticated_connections", "gauge", "Connections of clients that are not authenticated.",
               (double)s.unknown_connections);
    add_number(b, "reeve_unauthenticated_bytes", "gauge", "Bytes of requests and responses of those clients.",
               (double)s.unknown_bytes);
    add_number(b, "reeve_memory_returned_total", "counter", "Times that memory was returned to the system.",
               (double)s.trims);
}

/* The first two numbers of statm: pages of address space, and those of them in memory. */
static double resident_bytes(double *ret_virtual)
{
    char text[128];
    str first, second, rest;
    uint64_t pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        (void)fclose(f);
    str_cut((str){text, n}, ' ', &first, &rest);
    str_cut(rest, ' ', &second, &rest);
    (void)(str_to_uint64(first, &pages) && str_to_uint64(second, &resident));
    double page = (double)sysconf(_SC_PAGESIZE);
    *ret_virtual = (double)pages * page;
    return (double)resident * page;
}

static double open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    double n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        (void)closedir(dir);
    return n > 3 ? n - 3 : 0; /* ".", ".." and the directory itself */
}

static void format_process(const struct metrics *m, struct buf *b)
{
    struct rusage use = {0};
    struct rlimit files = {0};
    double virtual_bytes, resident = resident_bytes(&virtual_bytes);
    (void)getrusage(RUSAGE_SELF, &use);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                 (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    add_number(b, "process_cpu_seconds_total", "counter", "CPU time used, in seconds.", cpu);
    add_number(b, "process_max_fds", "gauge", "Most files that may be open.", (double)files.rlim_cur);
    add_number(b, "process_open_fds", "gauge", "Files open.", open_files());
    add_number(b, "process_resident_memory_bytes", "gauge", "Memory in use, in bytes.", resident);
    add_number(b, "process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.",
               (double)m->started);
    add_number(b, "process_virtual_memory_bytes", "gauge", "Address space in use, in bytes.", virtual_bytes);
}

void metrics_format(struct api *api, struct buf *b)
{
    metrics_format_requests(api->metrics, b);
    format_objects(api, b);
    format_store(api, b);
    format_server(api, b);
    format_process(api->metrics, b);
    if (api->options.metrics)
        api->options.metrics(api->options.metrics_ctx, b);
}
