/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the whole API server: requests and what is answered, as over HTTPS but without sockets. Each case begins with a
 * new data directory.
 *
 *     --- request [as=jane] [groups=dev,ops]
 *     POST /api/v1/namespaces/default/configmaps?fieldManager=me
 *     Content-Type: application/yaml
 *
 *     body
 *     --- expect 201 [part|text]
 *     Warning: 299 - "unknown field \"zz\""
 *
 *     {"kind":"ConfigMap","metadata":{"uid":"<uid a>","resourceVersion":"<rv a>", …}, …}
 *
 * Requests that stand together, without an expectation between them, are sent together; their expectations follow in the
 * same order. Who asks is a member of system:masters unless said otherwise; others are in system:authenticated. The
 * User-Agent is tester/1.
 *
 *     --- watch NAME [as=jane]        begins to watch; as a request, but the connection stays
 *     GET /api/v1/configmaps?watch=1
 *     --- events NAME [end]           what must have come since, one event a line; lines that begin with a blank belong to
 *     {"type":"ADDED",                the one before. Members that are not listed do not matter. end: then the server ends it
 *      "object":{…}}
 *     --- hangup NAME                 stops watching
 *     --- stored                      puts the object (JSON) into the store as it is, as an earlier version might have
 *     --- restart                     closes the server and opens it again on the same directory; watches must have ended
 *     --- note …                      says something to the reader
 *     --- server keep=SECONDS         first of all: how long history is kept; else five minutes
 *
 * The answer must be the same JSON, whatever the order of its members; with "part" it may have members that are not listed
 * here, at any depth, but for those that are "<none>"; with "text" it must be the same letter by letter. managedFields may
 * be left out in any case. A body that is no JSON is compared as text; no body: it does not matter. Warnings must be exactly
 * those listed; other headers are looked at if they are listed.
 *
 * Texts of the form "<kind name>" stand for what the server makes up: <uid …>, <rv …>, <time …>, <any …>. The first of a
 * name may be anything of that kind, later ones must be the same, and in requests they are put in, also as "<rv a + 1>".
 * The name may be left out. In requests <fill 1000> is a thousand letters. The clock stands at 2026-01-02T03:04:05Z unless
 * it is moved: --- clock SECONDS */
#include "api/api.h"
#include "api/api_value.h"
#include "api/loopback.h"
#include "api/server.h"
#include "authn/authn_token.h"
#include "authn/pki_issue.h"
#include "cases/case.h"
#include "cases/match.h"
#include "kinds/builtin.h"
#include "lib/scratch.h"
#include "object/object.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>

enum { TOGETHER = 64, WATCHES = 16, TURNS = 2000, TURN_NS = 5000000 };

/* One request on its way. */
struct round {
    struct world *world;
    bool is_done;
    int status;
    struct buf body, headers; /* headers: "Name: value" lines */
    str name;                 /* of a watch */
    struct loopback *call;    /* of a watch that goes on */
    size_t n_read;            /* of the body of a watch */
};

struct world {
    struct case_file *c;
    struct arena *a;
    struct loop *loop;
    struct api *api;
    struct clock_fake time;
    struct random_seeded chance;
    struct log log;
    struct token_signer *signer;
    bool is_ready, has_failed;
    char dir[SCRATCH_MAX];
    struct match match;
    struct round rounds[TOGETHER], watches[WATCHES];
    size_t n_rounds, n_checked, n_watches;
};

/* ---- The server. ---- */

static void discard(void *ctx, str line)
{
    (void)ctx;
    if (getenv("API_CASES_LOG"))
        fprintf(stderr, "%.*s", STR(line));
}

static void ready(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    w->is_ready = true;
    w->has_failed = err != NULL;
    if (err)
        case_fail(w->c, NULL, "cannot start: %s", err->msg);
}

static bool wait_for(struct world *w, const bool *flag)
{
    for (int i = 0; i < TURNS && !*flag; i++)
        loop_turn(w->loop, TURN_NS);
    return *flag;
}

static bool make_signer(struct world *w, struct err *err)
{
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    return pki_make_key(&key, err) == 0 &&
           token_signer_new(pem_write_key(w->a, key), TOKEN_ISSUER, &w->signer, err) == 0;
}

static bool open_api(struct world *w)
{
    struct err err = {0};
    const struct case_section *server = case_find(w->c, NULL, S("server"));
    int64_t keep = 0;
    if (server && !str_to_int64(case_arg(server, S("keep")), &keep))
        case_fail(w->c, server, "expected keep=SECONDS");
    struct api_options options = {
        .loop = w->loop,
        .data_dir = w->dir,
        .clock = clock_of_fake(&w->time),
        .random = random_of_seed(&w->chance),
        .log = &w->log,
        .signer = w->signer,
        .address = S("127.0.0.1:6443"),
        .ca_pem = S("-----BEGIN CERTIFICATE-----\n"),
        .keep_ns = keep * 1000000000,
    };
    w->is_ready = false;
    if (api_open(&options, ready, w, &w->api, &err) < 0) {
        case_fail(w->c, NULL, "cannot open: %s", err.msg);
        return false;
    }
    if (!wait_for(w, &w->is_ready) || w->has_failed)
        return false;
    while (store_pending(w->api->store)) /* what it writes on its own at the start would move revisions later */
        loop_turn(w->loop, TURN_NS);
    return true;
}

static bool open_world(struct world *w)
{
    struct err err = {0};
    if (!make_signer(w, &err)) {
        case_fail(w->c, NULL, "cannot make a key: %s", err.msg);
        return false;
    }
    scratch_make(w->dir, "api-cases");
    if (loop_new(&w->loop, &err) < 0)
        return false;
    w->time = (struct clock_fake){.wall = INT64_C(1767323045) * 1000000000};
    w->chance = (struct random_seeded){.state = 1};
    w->log = (struct log){.level = LOG_WARN, .clock = clock_of_fake(&w->time), .write = discard};
    return open_api(w);
}

static void restart(struct world *w, const struct case_section *s)
{
    loop_turn(w->loop, 0); /* exchanges that were answered end with their turn */
    api_close(w->api);
    w->api = NULL;
    if (!open_api(w))
        case_fail(w->c, s, "cannot start again");
}

static void hang_up(struct round *watch)
{
    if (watch->call)
        loopback_cancel(watch->call);
    watch->call = NULL;
}

static void close_world(struct world *w)
{
    for (size_t i = 0; i < w->n_watches; i++) {
        hang_up(&w->watches[i]);
        buf_done(&w->watches[i].body);
        buf_done(&w->watches[i].headers);
    }
    if (w->loop)
        loop_turn(w->loop, 0); /* what was hung up goes at the end of a turn */
    if (w->api)
        api_close(w->api);
    token_signer_free(w->signer);
    loop_free(w->loop);
    match_done(&w->match);
    for (size_t i = 0; i < TOGETHER; i++) {
        buf_done(&w->rounds[i].body);
        buf_done(&w->rounds[i].headers);
    }
    if (w->dir[0])
        scratch_remove(w->dir);
}

/* ---- Requests. ---- */

static void answered(void *ctx, int status, struct http_headers headers, str body)
{
    struct round *round = ctx;
    round->is_done = true;
    round->status = status;
    round->call = NULL;
    buf_add_str(&round->body, body);
    for (size_t i = 0; i < headers.n; i++)
        buf_fmt(&round->headers, "%.*s: %.*s\n", STR(headers.p[i].name), STR(headers.p[i].value));
}

static void streamed(void *ctx, str bytes)
{
    struct round *round = ctx;
    buf_add_str(&round->body, bytes);
}

static struct authz_identity who_of(struct world *w, const struct case_section *s)
{
    static const str masters[] = {S_INIT("system:masters"), S_INIT("system:authenticated")};
    str user = case_arg(s, S("as")), groups = case_arg(s, S("groups")), group;
    if (user.n == 0)
        return (struct authz_identity){.user = S("admin"), .groups = {masters, 2}};
    VEC(str) list = {0};
    while (groups.n) {
        str_cut(groups, ',', &group, &groups);
        *vec_push(w->a, &list) = group;
    }
    *vec_push(w->a, &list) = S("system:authenticated");
    return (struct authz_identity){.user = user, .groups = {list.p, list.n}};
}

/* "Name: value" lines up to an empty one; the rest stays in *text. */
static struct http_headers take_headers(struct world *w, str *text)
{
    VEC(struct http_header) list = {0};
    str line, name, value;
    while (text->n) {
        str_cut(*text, '\n', &line, text);
        if (str_trim(line).n == 0)
            break;
        if (str_cut(line, ':', &name, &value))
            *vec_push(w->a, &list) = (struct http_header){str_trim(name), str_trim(value)};
    }
    return (struct http_headers){list.p, list.n};
}

static void send(struct world *w, const struct case_section *s, struct round *round, bool is_watch)
{
    str text = match_fill(&w->match, s->text), first, method, target;
    round->world = w;
    round->is_done = false;
    round->body.n = round->headers.n = 0;
    str_cut(text, '\n', &first, &text);
    if (!str_cut(first, ' ', &method, &target)) {
        case_fail(w->c, s, "expected METHOD PATH");
        return;
    }
    struct http_headers given = take_headers(w, &text);
    struct http_header *headers = ARENA_ARRAY(w->a, struct http_header, given.n + 1);
    struct loopback_call call = {.who = who_of(w, s), .method = method, .target = str_trim(target), .body = text};
    size_t n = 0;
    bool has_agent = false;
    for (size_t i = 0; i < given.n; i++) {
        str name = str_lower(w->a, given.p[i].name);
        has_agent = has_agent || str_eq(name, S("user-agent"));
        if (str_eq(name, S("content-type")))
            call.content_type = given.p[i].value;
        else if (str_eq(name, S("accept")))
            call.accept = given.p[i].value;
        else
            headers[n++] = given.p[i];
    }
    if (!has_agent)
        headers[n++] = (struct http_header){S("User-Agent"), S("tester/1")};
    call.headers = (struct http_headers){headers, n};
    call.done = answered;
    call.piece = is_watch ? streamed : NULL;
    call.ctx = round;
    struct loopback *started = loopback_start(w->api, &call);
    round->call = is_watch ? started : NULL;
}

static void send_request(struct world *w, const struct case_section *s)
{
    if (w->n_checked == w->n_rounds)
        w->n_checked = w->n_rounds = 0;
    if (w->n_rounds == TOGETHER)
        case_fail(w->c, s, "more than %d requests together", TOGETHER);
    else
        send(w, s, &w->rounds[w->n_rounds++], false);
}

/* ---- The store. ---- */

struct stored {
    bool is_done;
    int code;
};

static void is_stored(void *ctx, const struct store_result *result)
{
    struct stored *stored = ctx;
    stored->is_done = true;
    stored->code = result->code;
}

static void put_stored(struct world *w, const struct case_section *s)
{
    struct json object;
    struct stored stored = {0};
    str text = match_fill(&w->match, s->text);
    if (json_decode(w->a, text, NULL, NULL, &object, NULL) < 0) {
        case_fail(w->c, s, "not an object");
        return;
    }
    const struct kind *kind = kind_builtin_by_body(object_api_version(&object), object_kind(&object));
    if (!kind) {
        case_fail(w->c, s, "not a built-in kind");
        return;
    }
    struct value_parts parts = value_encode(w->api, w->a, kind, &object);
    struct store_change change = {.table = api_table(w->api, kind),
                                  .namespace = object_namespace(&object),
                                  .name = object_name(&object),
                                  .value = parts.header,
                                  .value_rest = parts.body};
    struct store_write write = {.changes = &change, .n_changes = 1, .done = is_stored, .ctx = &stored};
    if (store_submit(w->api->store, &write, NULL) < 0 || !wait_for(w, &stored.is_done) || stored.code < 0)
        case_fail(w->c, s, "cannot store");
}

/* ---- Comparing headers. ---- */

static bool has_line(struct world *w, str lines, str name, str value)
{
    str line, n, v;
    while (lines.n) {
        str_cut(lines, '\n', &line, &lines);
        if (str_cut(line, ':', &n, &v) && str_eq(str_trim(n), name) && match_text(&w->match, value, str_trim(v)))
            return true;
    }
    return false;
}

static size_t count_warnings(str lines)
{
    size_t n = 0;
    str line;
    while (lines.n) {
        str_cut(lines, '\n', &line, &lines);
        n += str_has_prefix(line, S("Warning:"));
    }
    return n;
}

static bool same_headers(struct world *w, struct http_headers want, str got)
{
    size_t warnings = 0;
    for (size_t i = 0; i < want.n; i++) {
        warnings += str_eq(want.p[i].name, S("Warning"));
        if (!has_line(w, got, want.p[i].name, want.p[i].value))
            return false;
    }
    return warnings == count_warnings(got);
}

/* ---- Expectations. ---- */

/* What came, in the form of an expectation: to be compared by eye, or pasted. */
static str show(struct world *w, const struct round *round)
{
    struct buf b = {.arena = w->a};
    str headers = buf_str(&round->headers), line;
    buf_fmt(&b, "(%d)\n", round->status);
    while (headers.n) {
        if (!str_cut(headers, '\n', &line, &headers))
            break;
        if (str_has_prefix(line, S("Warning:")))
            buf_fmt(&b, "%.*s\n", STR(line));
    }
    buf_add_char(&b, '\n');
    buf_add_str(&b, str_trim(buf_str(&round->body)));
    return buf_str(&b);
}

static void check(struct world *w, const struct case_section *s)
{
    str text = s->text, code, rest;
    struct http_headers headers = {0};
    if (w->n_checked == w->n_rounds) {
        case_fail(w->c, s, "an expectation without a request");
        return;
    }
    struct round *round = &w->rounds[w->n_checked++];
    if (!wait_for(w, &round->is_done)) {
        case_fail(w->c, s, "no answer");
        exit(1); /* the server still holds what would be freed */
    }
    str trimmed = str_trim(text);
    bool is_text = case_has_arg(s, S("text"));
    if (!is_text && trimmed.n && trimmed.p[0] != '{' && trimmed.p[0] != '[')
        headers = take_headers(w, &text);
    str_cut(s->args, ' ', &code, &rest);
    bool ok = str_eq(code, str_fmt(w->a, "%d", round->status)) && same_headers(w, headers, buf_str(&round->headers)) &&
              (is_text ? match_text(&w->match, trimmed, str_trim(buf_str(&round->body)))
                       : match_body(&w->match, text, buf_str(&round->body), case_has_arg(s, S("part"))));
    case_expect(w->c, s, ok ? s->text : show(w, round));
}

/* ---- Watches. ---- */

static void begin_watch(struct world *w, const struct case_section *s)
{
    if (w->n_watches == WATCHES) {
        case_fail(w->c, s, "more than %d watches", WATCHES);
        return;
    }
    struct round *watch = &w->watches[w->n_watches++];
    str who;
    str_cut(str_trim(s->args), ' ', &watch->name, &who);
    send(w, s, watch, true);
}

static struct round *find_watch(struct world *w, const struct case_section *s)
{
    str name, rest;
    str_cut(s->args, ' ', &name, &rest);
    for (size_t i = 0; i < w->n_watches; i++)
        if (str_eq(w->watches[i].name, name))
            return &w->watches[i];
    case_fail(w->c, s, "nobody watches by the name of %.*s", STR(name));
    return NULL;
}

/* The next line, waited for; empty when none comes. */
static str next_line(struct world *w, struct round *watch)
{
    str line, rest;
    for (int i = 0; i < TURNS; i++) {
        str unread = str_from(buf_str(&watch->body), watch->n_read);
        if (str_cut(unread, '\n', &line, &rest)) {
            watch->n_read += line.n + 1;
            return str_dup(w->a, line); /* what is behind it may move when more comes */
        }
        if (watch->is_done)
            break;
        loop_turn(w->loop, TURN_NS);
    }
    return (str){0};
}

/* One event of those expected, which may be several lines. */
static str take_event(str *text)
{
    str all = *text, line;
    do
        str_cut(*text, '\n', &line, text);
    while (text->n && text->p[0] == ' ');
    return str_trim(str_upto(all, all.n - text->n));
}

static void check_events(struct world *w, const struct case_section *s)
{
    struct round *watch = find_watch(w, s);
    struct buf seen = {.arena = w->a};
    bool ok = watch != NULL, is_last = case_has_arg(s, S("end"));
    for (str text = s->text; ok && text.n;) {
        str want = take_event(&text);
        if (want.n == 0)
            continue;
        str got = next_line(w, watch);
        buf_fmt(&seen, "%.*s\n", STR(got));
        ok = got.n && match_body(&w->match, want, got, true);
    }
    if (ok && is_last) {
        str more = next_line(w, watch);
        buf_fmt(&seen, "%.*s%s\n", STR(more), watch->is_done ? "" : "(goes on)");
        ok = more.n == 0 && watch->is_done;
    }
    case_expect(w->c, s, ok ? s->text : str_fmt(w->a, "(differs)\n%.*s", STR(buf_str(&seen))));
}

static void step(struct world *w, const struct case_section *s)
{
    int64_t seconds;
    struct round *watch;
    if (str_eq(s->name, S("request")))
        send_request(w, s);
    else if (str_eq(s->name, S("expect")))
        check(w, s);
    else if (str_eq(s->name, S("watch")))
        begin_watch(w, s);
    else if (str_eq(s->name, S("events")))
        check_events(w, s);
    else if (str_eq(s->name, S("hangup")) && (watch = find_watch(w, s)) != NULL)
        hang_up(watch);
    else if (str_eq(s->name, S("stored")))
        put_stored(w, s);
    else if (str_eq(s->name, S("restart")))
        restart(w, s);
    else if (str_eq(s->name, S("clock")) && str_to_int64(str_trim(s->args), &seconds))
        clock_fake_advance(&w->time, seconds * 1000000000);
    else if (!str_eq(s->name, S("note")) && !str_eq(s->name, S("server")))
        case_fail(w->c, s, "what is \"%.*s\"?", STR(s->name));
}

static void run(struct case_file *c)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->c = c;
    w->a = w->match.arena = c->arena;
    bool is_open = open_world(w);
    for (size_t i = 0; is_open && i < c->sections.n; i++)
        step(w, &c->sections.p[i]);
    if (w->n_checked != w->n_rounds)
        case_fail(c, NULL, "a request without an expectation");
    close_world(w);
    free(w);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
