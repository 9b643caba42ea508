/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of Status answers. Each round:
 *
 *     --- when BUILDER      what it is about, as a JSON object (may be left out)
 *     --- expect            the Status, as the server writes it
 *
 * and, for Statuses that a client got:
 *
 *     --- when read         a Status
 *     --- expect            HTTP code, name of our error code, Retry-After, message */
#include "cases/case.h"
#include "object/status.h"

struct input {
    struct arena *arena;
    struct json v;
    struct status_subject about;
    str message;
    int64_t number;
    struct status_cause causes[8];
    size_t n_causes;
    struct field_errors errs;
};

static str text(const struct input *in, str key)
{
    return json_get_text(&in->v, key);
}

static struct json build_invalid(struct input *in)
{
    static const struct {
        const char *name;
        enum field_error_type type;
    } types[] = {
        {"required", FIELD_REQUIRED},         {"invalid", FIELD_INVALID},     {"type", FIELD_TYPE_INVALID},
        {"unsupported", FIELD_NOT_SUPPORTED}, {"forbidden", FIELD_FORBIDDEN}, {"too-long", FIELD_TOO_LONG},
        {"too-many", FIELD_TOO_MANY},         {"duplicate", FIELD_DUPLICATE}, {"not-found", FIELD_NOT_FOUND},
        {"internal", FIELD_INTERNAL},
    };
    const struct json *list = json_get(&in->v, S("errors"));
    json_each_item(list, e)
    {
        for (size_t i = 0; i < COUNT(types); i++) {
            if (!str_eq(json_get_text(e, S("type")), str_of(types[i].name)))
                continue;
            const struct json *value = json_get(e, S("value"));
            field_error_add(&in->errs, types[i].type, json_get_text(e, S("field")),
                            value ? field_value(in->arena, value) : (str){0}, "%.*s",
                            STR(json_get_text(e, S("detail"))));
        }
    }
    return status_invalid(in->arena, in->about, &in->errs);
}

static struct json build_attempt(struct input *in)
{
    struct status_attempt t = {
        .user = text(in, S("user")),
        .verb = text(in, S("verb")),
        .path = text(in, S("path")),
        .group = text(in, S("group")),
        .resource = text(in, S("resource")),
        .subresource = text(in, S("subresource")),
        .namespace = text(in, S("namespace")),
        .name = text(in, S("name")),
    };
    return status_forbidden_attempt(in->arena, &t, text(in, S("reason")));
}

static struct json build(struct case_file *c, const struct case_section *when, struct input *in)
{
    struct arena *a = in->arena;
    str b = when->args;
    int n = (int)in->number;
    if (str_eq(b, S("not-found")))
        return status_not_found(a, in->about);
    if (str_eq(b, S("no-such-resource")))
        return status_no_such_resource(a);
    if (str_eq(b, S("already-exists")))
        return status_already_exists(a, in->about);
    if (str_eq(b, S("generate-name-conflict")))
        return status_generate_name_conflict(a, in->about);
    if (str_eq(b, S("conflict")))
        return status_conflict(a, in->about, in->message);
    if (str_eq(b, S("modified")))
        return status_modified(a, in->about);
    if (str_eq(b, S("apply-conflict")))
        return status_apply_conflict(a, in->message, in->causes, in->n_causes);
    if (str_eq(b, S("invalid")))
        return build_invalid(in);
    if (str_eq(b, S("bad-patch")))
        return status_bad_patch(a);
    if (str_eq(b, S("bad-request")))
        return status_bad_request(a, in->message);
    if (str_eq(b, S("unauthorized")))
        return status_unauthorized(a);
    if (str_eq(b, S("forbidden-attempt")))
        return build_attempt(in);
    if (str_eq(b, S("forbidden")))
        return status_forbidden(a, in->about, in->message);
    if (str_eq(b, S("namespace-terminating")))
        return status_namespace_terminating(a, in->about, text(in, S("namespace")));
    if (str_eq(b, S("expired")))
        return status_expired(a, in->message);
    if (str_eq(b, S("gone")))
        return status_gone(a, in->message);
    if (str_eq(b, S("too-large")))
        return status_too_large(a, (size_t)n);
    if (str_eq(b, S("method-not-allowed")))
        return status_method_not_allowed(a);
    if (str_eq(b, S("not-acceptable")))
        return status_not_acceptable(a, in->message);
    if (str_eq(b, S("unsupported-media-type")))
        return status_unsupported_media_type(a, in->message);
    if (str_eq(b, S("unsupported-patch")))
        return status_unsupported_patch(a);
    if (str_eq(b, S("timeout")))
        return status_timeout(a, in->message, n);
    if (str_eq(b, S("version-too-large")))
        return status_version_too_large(a, (uint64_t)n, 466);
    if (str_eq(b, S("server-timeout")))
        return status_server_timeout(a, in->about, in->message, n);
    if (str_eq(b, S("too-many-requests")))
        return status_too_many_requests(a, in->message, n);
    if (str_eq(b, S("unavailable")))
        return status_unavailable(a, in->message);
    if (str_eq(b, S("internal")))
        return status_internal(a, in->message);
    if (str_eq(b, S("unknown")))
        return status_unknown(a, in->message);
    if (str_eq(b, S("deleted")))
        return status_deleted(a, in->about, text(in, S("uid")));
    case_fail(c, when, "no such builder");
    return json_null();
}

static void read_status(struct case_file *c, const struct json *status, struct buf *got)
{
    struct err err = {0};
    int rc = status_to_err(status, &err);
    (void)c;
    buf_fmt(got, "%d %s retry after %d: %s", status_get_http(status), rc ? err_name(err.code) : "Success",
            status_get_retry_after(status), err.msg);
}

static void run_when(struct case_file *c, const struct case_section *when, struct buf *got)
{
    struct input in = {.arena = c->arena, .errs.arena = c->arena};
    struct err err;
    if (str_trim(when->text).n && json_decode(c->arena, when->text, NULL, NULL, &in.v, &err) < 0)
        case_fail(c, when, "%s", err.msg);
    if (str_eq(when->args, S("read"))) {
        read_status(c, &in.v, got);
        return;
    }
    in.about = (struct status_subject){text(&in, S("group")), text(&in, S("kind")), text(&in, S("name"))};
    in.message = text(&in, S("message"));
    (void)json_to_int(json_get(&in.v, S("number")), &in.number);
    const struct json *causes = json_get(&in.v, S("causes"));
    json_each_item(causes, e)
    {
        if (in.n_causes < 8)
            in.causes[in.n_causes++] = (struct status_cause){
                json_get_text(e, S("reason")), json_get_text(e, S("message")), json_get_text(e, S("field"))};
    }
    struct json status = build(c, when, &in);
    json_encode(got, &status, 0);
}

static void run(struct case_file *c)
{
    struct buf got = {.arena = c->arena};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("when"))) {
            got = (struct buf){.arena = c->arena};
            run_when(c, s, &got);
        } else {
            case_expect(c, s, buf_str(&got));
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
