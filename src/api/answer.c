/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gzip.h"
#include "api/server.h"

#include "api/task.h"
#include "object/status.h"
#include "json/yaml.h"

enum {
    HEADERS_MAX = 128,               /* in one answer, warnings included */
    WARNINGS_MAX = 100,              /* as many as strict decoding notes */
    WARNING_TEXT_MAX = 8 * 1024,     /* of all warnings of one answer: clients have limits for heads too */
    INDENTED_MAX = 32 * 1024 * 1024, /* deep trees grow when they are indented */
};

/* ---- Headers. ---- */

struct head {
    struct http_header p[HEADERS_MAX];
    size_t n;
};

static void head_add(struct head *h, str name, str value)
{
    if (h->n < HEADERS_MAX)
        h->p[h->n++] = (struct http_header){name, value};
}

static bool headers_have(struct http_headers headers, str name)
{
    for (size_t i = 0; i < headers.n; i++)
        if (http_name_eq(headers.p[i].name, name))
            return true;
    return false;
}

str api_date(struct arena *a, int64_t second)
{
    static const char days[] = "ThuFriSatSunMonTueWed", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct buf b = {.arena = a};
    time_format(&b, second, 0, 0);
    ptrdiff_t month = (b.p[5] - '0') * 10 + b.p[6] - '0';
    return str_fmt(a, "%.3s, %.2s %.3s %.4s %.8s GMT", days + second / 86400 % 7 * 3, b.p + 8, months + (month - 1) * 3,
                   b.p, b.p + 11);
}

/* 299 - "text", with quotes and backslashes escaped and nothing that could end the header. */
static str warning_value(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("299 - \""));
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"' || c == '\\')
            buf_add_char(&b, '\\');
        buf_add_char(&b, (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c);
    }
    buf_add_char(&b, '"');
    return buf_str(&b);
}

void api_warn(struct api_request *r, str text)
{
    size_t sum = text.n;
    vec_each(&r->warnings, known)
    {
        if (str_eq(*known, text))
            return;
        sum += known->n;
    }
    if (r->warnings.n < WARNINGS_MAX && sum <= WARNING_TEXT_MAX)
        *vec_push(r->arena, &r->warnings) = str_dup(r->arena, str_clip(r->arena, text));
}

static void head_make(struct api_request *r, struct head *h, str content_type, struct http_headers own)
{
    h->n = 0;
    head_add(h, S("Audit-Id"), r->id);
    if (!headers_have(own, S("Cache-Control")))
        head_add(h, S("Cache-Control"), S("no-cache, private"));
    if (content_type.n && !headers_have(own, S("Content-Type")))
        head_add(h, S("Content-Type"), content_type);
    for (size_t i = 0; i < own.n; i++)
        head_add(h, own.p[i].name, own.p[i].value);
    vec_each(&r->warnings, text) head_add(h, S("Warning"), warning_value(r->arena, *text));
}

/* ---- Answers. ---- */

/* What was computed past the budget never leaves: the request is refused instead. */
static bool refuse_over_budget(struct api_request *r)
{
    if (!task_is_exhausted(r) || r->is_over_budget)
        return false;
    r->is_over_budget = true;
    struct budget *own = budget_swap(NULL);
    struct json status = task_refusal(r, r->arena);
    api_refuse(r, &status);
    budget_swap(own);
    return true;
}

/* The receiver of the answer may start other work: that is not charged to this request, and cannot suspend it. */
static void send(struct api_request *r, int status, str content_type, struct http_headers own, str body)
{
    struct head h;
    if (refuse_over_budget(r))
        return;
    head_make(r, &h, content_type, own);
    r->status = status;
    struct budget *mine = budget_swap(NULL);
    http_answer(r->x, status, (struct http_headers){h.p, h.n}, body);
    budget_swap(mine);
}

void api_answer_with(struct api_request *r, int status, struct http_headers headers, str body)
{
    send(r, status, (str){0}, headers, body);
}

void api_answer_text(struct api_request *r, int status, str content_type, str body)
{
    if (status == 200 && body.n > GZIP_LEAST && gzip_is_accepted(r) && gzip_answer_text(r, content_type, body))
        return;
    send(r, status, content_type, (struct http_headers){0}, body);
}

void api_answer_json(struct api_request *r, int status, str json)
{
    struct buf b = {.arena = r->arena};
    buf_grow(&b, json.n + 1);
    buf_add_str(&b, json);
    buf_add_char(&b, '\n');
    api_answer_text(r, status, S("application/json"), buf_str(&b));
}

/* A stream that is filled in the turns of its user; in the arena of the request. */
struct turn_source {
    struct api_request *r;
    struct http_source inner;
};

static void resume_stream(struct flow_entry *e)
{
    http_resume(((struct api_request *)((char *)e - offsetof(struct api_request, flow)))->x);
}

enum http_fill api_fill_in_turn(struct api_request *r, struct http_source source, struct buf *out, size_t room)
{
    const struct clock *clock = &r->api->options.clock;
    if (!flow_has_time(&r->flow)) {
        flow_later(&r->flow);
        return HTTP_WAIT;
    }
    int64_t before = clock_mono_ns(clock);
    enum http_fill fill = source.fill(source.ctx, r->x, out, room);
    flow_charge(&r->flow, clock_mono_ns(clock) - before);
    return fill;
}

static enum http_fill fill_in_turn(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    (void)x;
    struct turn_source *s = ctx;
    return api_fill_in_turn(s->r, s->inner, out, room);
}

void api_answer_stream_with(struct api_request *r, struct http_headers headers, struct http_source source)
{
    struct head h;
    if (refuse_over_budget(r))
        return;
    head_make(r, &h, (str){0}, headers);
    r->status = 200;
    r->flow.run = resume_stream;
    if (r->route.verb != VERB_WATCH) { /* watches know themselves when they have much to send */
        struct turn_source *s = ARENA_NEW(r->arena, struct turn_source);
        *s = (struct turn_source){r, source};
        source = (struct http_source){fill_in_turn, s};
    }
    struct budget *mine = budget_swap(NULL);
    http_stream(r->x, 200, (struct http_headers){h.p, h.n}, source);
    budget_swap(mine);
}

void api_answer_stream(struct api_request *r, str content_type, struct http_source source)
{
    struct http_header own = {S("Content-Type"), content_type};
    api_answer_stream_with(r, (struct http_headers){&own, 1}, source);
}

/* About the bytes that indentation adds: deep trees of many small values grow by orders of magnitude. */
static size_t indent_size(const struct json *v, size_t depth)
{
    size_t sum = 0;
    json_each_item(v, item) sum += 2 * depth + indent_size(item, depth + 1);
    json_each_member(v, m) sum += 2 * depth + indent_size(&m->val, depth + 1);
    return sum;
}

bool api_can_indent(const struct json *v)
{
    return indent_size(v, 1) <= INDENTED_MAX;
}

static void print(struct api_request *r, int status, const struct json *object, unsigned flags)
{
    struct buf b = {.arena = r->arena};
    json_encode(&b, object, flags);
    buf_add_char(&b, '\n');
    api_answer_text(r, status, S("application/json"), buf_str(&b));
}

void api_answer(struct api_request *r, int status, const struct json *object)
{
    bool is_yaml = r->media == MEDIA_YAML, is_pretty = negotiate_is_pretty(r);
    bool fits = !(is_yaml || is_pretty) || api_can_indent(object);
    if (is_yaml && fits) {
        struct buf b = {.arena = r->arena};
        yaml_encode(&b, object);
        api_answer_text(r, status, S("application/yaml"), buf_str(&b));
    } else {
        print(r, status, object, is_pretty && fits ? JSON_PRETTY : 0);
    }
}

/* ---- Refusals. ---- */

void api_refuse(struct api_request *r, const struct json *status)
{
    int code = status_get_http(status), retry = status_get_retry_after(status);
    struct head own = {0};
    if (retry)
        head_add(&own, S("Retry-After"), str_fmt(r->arena, "%d", retry));
    if (code == 403)
        head_add(&own, S("X-Content-Type-Options"), S("nosniff"));
    if (code == 401)
        head_add(&own, S("WWW-Authenticate"), S("Bearer"));
    enum media media;
    bool is_wanted = negotiate_refusal(r, &media);
    bool is_pretty = (code == 406 && !is_wanted) || negotiate_is_pretty(r);
    struct buf b = {.arena = r->arena};
    if (media == MEDIA_YAML) {
        yaml_encode(&b, status);
    } else {
        json_encode(&b, status, is_pretty ? JSON_PRETTY : 0);
        buf_add_char(&b, '\n');
    }
    str type = media == MEDIA_YAML ? S("application/yaml") : S("application/json");
    send(r, code, type, (struct http_headers){own.p, own.n}, buf_str(&b));
}

void api_refuse_err(struct api_request *r, const struct err *err)
{
    struct json status = status_of_err(r->arena, err);
    api_refuse(r, &status);
}
