/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_protocol.h"
#include "oci/reference.h"
#include "json/json.h"

static const char *const ops[] = {[OCI_PULL] = "pull", [OCI_RESOLVE] = "resolve", [OCI_COPY] = "copy",
                                  [OCI_PUSH] = "push", [OCI_BUILD] = "build",     [OCI_OPEN] = "open"};
static const char *const policies[] = {
    [FETCH_IF_NOT_PRESENT] = "IfNotPresent", [FETCH_ALWAYS] = "Always", [FETCH_NEVER] = "Never"};

enum { OPS = COUNT(ops), POLICIES = COUNT(policies) };

/* ---- Out. ---- */

static void add_text(struct buf *b, const char *key, str value)
{
    if (value.n == 0)
        return;
    buf_fmt(b, ",\"%s\":", key);
    json_encode_str(b, value);
}

static void add_texts(struct buf *b, const char *key, const str *values, size_t n)
{
    if (n == 0)
        return;
    buf_fmt(b, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(b, ',');
        json_encode_str(b, values[i]);
    }
    buf_add_char(b, ']');
}

static void add_mirrors(struct buf *b, const struct oci_request *r)
{
    buf_add_str(b, S(",\"mirrors\":["));
    for (size_t i = 0; i < r->mirrors.n; i++) {
        buf_add_str(b, i ? S(",{\"prefix\":") : S("{\"prefix\":"));
        json_encode_str(b, r->mirrors.p[i].prefix);
        add_text(b, "location", r->mirrors.p[i].location);
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

void oci_request_encode(struct buf *b, const struct oci_request *r)
{
    buf_fmt(b, "{\"op\":\"%s\",\"policy\":\"%s\",\"timeoutNanoseconds\":%lld", ops[r->op], policies[r->policy],
            (long long)r->timeout_ns);
    add_text(b, "reference", r->reference);
    add_text(b, "store", r->store);
    add_text(b, "directory", r->directory);
    add_text(b, "caFile", r->ca_file);
    add_texts(b, "auths", r->auths.p, r->auths.n);
    add_mirrors(b, r);
    add_texts(b, "have", r->have.p, r->have.n);
    if (r->tells)
        buf_add_str(b, S(",\"progress\":true"));
    if (r->is_quick)
        buf_add_str(b, S(",\"quick\":true"));
    buf_add_str(b, S(",\"ports\":["));
    for (size_t i = 0; i < r->ports.n; i++)
        buf_fmt(b, i ? ",%u" : "%u", r->ports.p[i]);
    buf_add_str(b, S("]}\n"));
}

/* ---- In. A request is made by our own code, so it is whole or there is a mistake: no member is guessed. ---- */

/* The position of a word in a table, or -1. */
static int word_at(const char *const *table, int n, str word)
{
    for (int i = 0; i < n; i++) {
        if (str_eq(word, str_of(table[i])))
            return i;
    }
    return -1;
}

/* Paths and the like end up in C strings. */
static bool take_text(const struct json *o, str key, str *ret)
{
    const struct json *v = json_get(o, key);
    *ret = json_text(v);
    return v == NULL || (json_is_str(v) && (v->n == 0 || memchr(v->s, 0, v->n) == NULL));
}

static bool take_lists(struct arena *a, const struct json *o, struct oci_request *r)
{
    const struct json *auths = json_get(o, S("auths")), *mirrors = json_get(o, S("mirrors"));
    const struct json *have = json_get(o, S("have")), *ports = json_get(o, S("ports"));
    json_each_item(auths, it) * vec_push(a, &r->auths) = json_text(it);
    json_each_item(have, it) * vec_push(a, &r->have) = json_text(it);
    json_each_item(mirrors, it)
    {
        struct fetch_mirror m;
        if (!take_text(it, S("prefix"), &m.prefix) || !take_text(it, S("location"), &m.location))
            return false;
        *vec_push(a, &r->mirrors) = m;
    }
    json_each_item(ports, it)
    {
        int64_t port;
        if (!json_to_int(it, &port) || port < 1 || port > UINT16_MAX)
            return false;
        *vec_push(a, &r->ports) = (uint16_t)port;
    }
    return true;
}

int oci_request_decode(struct arena *a, str text, struct oci_request *ret, struct err *err)
{
    struct oci_request r = {0};
    struct json o;
    const struct json_limits limits = {.bytes = OCI_REQUEST_MAX, .depth = 8};
    if (json_decode(a, text, &limits, NULL, &o, err) < 0)
        return err_wrap(err, "read request");
    int op = word_at(ops, OPS, json_get_text(&o, S("op")));
    int policy = word_at(policies, POLICIES, json_get_text(&o, S("policy")));
    if (op < 0 || policy < 0 || !json_to_int(json_get(&o, S("timeoutNanoseconds")), &r.timeout_ns) ||
        r.timeout_ns <= 0 || !take_text(&o, S("reference"), &r.reference) || !take_text(&o, S("store"), &r.store) ||
        !take_text(&o, S("directory"), &r.directory) || !take_text(&o, S("caFile"), &r.ca_file) ||
        !take_lists(a, &o, &r))
        return err_set(err, ERR_BAD_REQUEST, "read request: it makes no sense");
    r.tells = json_true(json_get(&o, S("progress")));
    r.is_quick = json_true(json_get(&o, S("quick")));
    r.op = (enum oci_op)op;
    r.policy = (enum fetch_policy)policy;
    *ret = r;
    return 0;
}

/* ---- Progress. ---- */

static const char *const steps[] = {[OCI_STEP_FILES] = "files", [OCI_STEP_LAYERS] = "layers"};

enum { STEPS = COUNT(steps) };

void oci_progress_encode(struct buf *b, const struct oci_progress *p)
{
    buf_fmt(b, "{\"progress\":{\"step\":\"%s\",\"at\":%llu,\"of\":%llu,\"bytes\":%llu,\"bytesOf\":%llu}}",
            steps[p->step], (unsigned long long)p->at, (unsigned long long)p->of, (unsigned long long)p->bytes,
            (unsigned long long)p->bytes_of);
}

/* o: the value of "progress". False: it makes no sense. */
static bool oci_progress_decode(const struct json *o, struct oci_progress *ret)
{
    int64_t at, of, bytes, bytes_of;
    int step = word_at(steps, STEPS, json_get_text(o, S("step")));
    if (step < 0 || !json_to_int(json_get(o, S("at")), &at) || !json_to_int(json_get(o, S("of")), &of) ||
        !json_to_int(json_get(o, S("bytes")), &bytes) || !json_to_int(json_get(o, S("bytesOf")), &bytes_of) || at < 0 ||
        of < at || bytes < 0 || bytes_of < 0)
        return false;
    *ret = (struct oci_progress){(enum oci_step)step, (uint64_t)at, (uint64_t)of, (uint64_t)bytes, (uint64_t)bytes_of};
    return true;
}

/* ---- Mirrors. ---- */

/* "registry/path" begins with prefix, which ends where a component does. */
static bool is_below(str name, str prefix)
{
    return prefix.n && str_has_prefix(name, prefix) && (name.n == prefix.n || name.p[prefix.n] == '/');
}

static str without_slashes(str s)
{
    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    return s;
}

/* The name with the longest prefix replaced, once. */
static str mirrored(struct arena *a, const struct oci_request *request, str name)
{
    const struct fetch_mirror *best = NULL;
    for (size_t i = 0; i < request->mirrors.n; i++) {
        const struct fetch_mirror *m = &request->mirrors.p[i];
        if (is_below(name, without_slashes(m->prefix)) && (best == NULL || m->prefix.n > best->prefix.n))
            best = m;
    }
    if (best == NULL)
        return name;
    return str_fmt(a, "%.*s%.*s", STR(without_slashes(best->location)),
                   STR(str_from(name, without_slashes(best->prefix).n)));
}

/* A mirror may say it. No object can: what is written there are references, which have no scheme. */
static bool take_https(str *name)
{
    bool has = str_has_prefix(*name, S("https://"));
    *name = str_from(*name, has ? S("https://").n : 0);
    return has;
}

int oci_request_name(struct arena *a, const struct oci_request *request, const struct oci_reference *ref,
                     struct oci_reference *ret, bool *ret_wants_https, struct err *err)
{
    struct oci_reference full = oci_reference_normalize(a, ref), moved;
    str name = mirrored(a, request, str_fmt(a, "%.*s/%.*s", STR(full.registry), STR(full.path)));
    *ret_wants_https = take_https(&name);
    if (oci_reference_parse(name, &moved, err) < 0 || moved.tag.n || moved.digest.n)
        return err_set(err, ERR_BAD_REQUEST, "mirror of %.*s: \"%.*s\" is no place for an image", STR(full.text),
                       STR(name));
    *ret = oci_reference_normalize(a, &moved);
    return 0;
}

enum { PATH_MAX_BYTES = 4096 };

void lines_init(struct lines *l, int (*take)(void *ctx, str line, struct err *err), void *ctx)
{
    *l = (struct lines){.take = take, .ctx = ctx};
}

void lines_done(struct lines *l)
{
    buf_done(&l->rest);
    arena_done(&l->scratch);
}

static int nonsense(struct err *err, const char *what)
{
    return err_set(err, ERR_BAD_REQUEST, "reeve-fetch printed %s", what);
}

/* Texts of the child end up in conditions and logs. */
static void add_printable(struct buf *b, str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool c1 = c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0;
        i += c1;
        buf_add_char(b, c < ' ' || c == 0x7f || c1 ? ' ' : (char)c);
    }
}

static int take_manifest(struct lines *l, const struct json *o, struct err *err)
{
    const struct json *manifest = json_get(o, S("manifest"));
    if (!oci_digest_parse(json_get_text(manifest, S("digest")), &l->digest))
        return nonsense(err, "no digest in its first line");
    int64_t size;
    if (json_to_int(json_get(manifest, S("size")), &size) && size > 0)
        l->size = (uint64_t)size;
    l->is_from_store = str_eq(json_get_text(manifest, S("from")), S("store"));
    l->state = LINES_BODY;
    return 0;
}

static int take_progress(struct lines *l, const struct json *o, struct err *err)
{
    struct oci_progress progress;
    if (l->progress == NULL || !oci_progress_decode(o, &progress))
        return nonsense(err, "progress that makes no sense");
    l->progress(l->ctx, &progress);
    return 0;
}

static int take_end(struct lines *l, const struct json *end, struct err *err)
{
    int64_t files;
    if (!json_to_int(json_get(end, S("files")), &files) || files < 0 || (uint64_t)files != l->files)
        return nonsense(err, "an end that does not fit what came before");
    l->is_known = json_true(json_get(end, S("known")));
    if (l->is_known && l->files)
        return nonsense(err, "files of what it says is known");
    l->state = LINES_END;
    return 0;
}

static enum err_code refusal_of(str name)
{
    static const enum err_code codes[] = {ERR_UNAUTHORIZED, ERR_FORBIDDEN};
    for (size_t i = 0; i < COUNT(codes); i++) {
        if (str_eq(name, str_of(err_name(codes[i]))))
            return codes[i];
    }
    return 0;
}

static int take_error(struct lines *l, const struct json *error, struct err *err)
{
    struct buf text = {.arena = &l->scratch};
    str reason = json_get_text(error, S("reason")), message = json_get_text(error, S("message"));
    bool is_invalid = str_eq(reason, S("InvalidPackage"));
    if ((!is_invalid && !str_eq(reason, S("PullFailed"))) || message.n == 0)
        return nonsense(err, "an error that makes no sense");
    add_printable(&text, str_upto(message, sizeof l->error.msg));
    l->failure.reason = is_invalid ? FETCH_INVALID_PACKAGE : FETCH_PULL_FAILED;
    l->failure.may_pass = json_true(json_get(error, S("retry")));
    err_set(&l->error, is_invalid ? ERR_INVALID : ERR_UNAVAILABLE, "%.*s", STR(buf_str(&text)));
    l->failure.refusal = refusal_of(json_get_text(error, S("code")));
    l->state = LINES_ERROR;
    return 0;
}

/* {"path":"…", "index":0, "document":{…}} or with "text" or "base64" */
static int take_file(struct lines *l, const struct json *o, str line, struct err *err)
{
    str path = json_get_text(o, S("path"));
    int64_t index = 0;
    const struct json *document = json_get(o, S("document")), *at = json_get(o, S("index"));
    bool is_text = json_is_str(json_get(o, S("text"))) || json_is_str(json_get(o, S("base64")));
    if (path.n == 0 || path.n > PATH_MAX_BYTES || (document != NULL) == is_text ||
        (document && (!json_to_int(at, &index) || index < 0)))
        return nonsense(err, "a line that makes no sense");
    if (l->lines == FETCH_MAX_LINES || l->bytes + line.n > FETCH_MAX_BYTES)
        return err_set(err, ERR_TOO_LARGE, "reeve-fetch printed too much");
    l->files += index == 0;
    l->lines++;
    l->bytes += line.n;
    l->object = o;
    int code = l->take(l->ctx, line, err);
    l->object = NULL;
    return code;
}

static int take_line(struct lines *l, str line, struct err *err)
{
    static const struct json_limits limits = {.bytes = FETCH_MAX_LINE};
    const struct json *end, *error, *progress;
    struct json o;
    arena_reset(&l->scratch);
    if (l->state == LINES_END || l->state == LINES_ERROR)
        return nonsense(err, "more after its end");
    if (json_decode(&l->scratch, line, &limits, NULL, &o, NULL) < 0 || !json_is_obj(&o))
        return nonsense(err, "a line that is no JSON object");
    if ((error = json_get(&o, S("error"))))
        return take_error(l, error, err);
    if (l->state == LINES_BEGIN && (progress = json_get(&o, S("progress"))))
        return take_progress(l, progress, err);
    if (l->state == LINES_BEGIN)
        return take_manifest(l, &o, err);
    if ((end = json_get(&o, S("end"))))
        return take_end(l, end, err);
    return take_file(l, &o, line, err);
}

int lines_add(struct lines *l, str piece, struct err *err)
{
    while (piece.n) {
        ptrdiff_t end = str_find_char(piece, '\n');
        size_t n = end < 0 ? piece.n : (size_t)end + 1;
        if (l->rest.n + n > FETCH_MAX_LINE)
            return err_set(err, ERR_TOO_LARGE, "reeve-fetch printed a line that is too long");
        int code = 0;
        if (end >= 0 && l->rest.n == 0) {
            code = take_line(l, str_upto(piece, n), err);
        } else {
            buf_add_str(&l->rest, str_upto(piece, n));
            if (end >= 0) {
                code = take_line(l, buf_str(&l->rest), err);
                l->rest.n = 0;
            }
        }
        if (code < 0)
            return code;
        piece = str_from(piece, n);
    }
    return 0;
}

int lines_finish(struct lines *l, struct err *err)
{
    if (l->rest.n || (l->state != LINES_END && l->state != LINES_ERROR))
        return nonsense(err, "no end");
    return 0;
}
