/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests: which format they have, whether they are of the kind that the path speaks of. */
#include "api/api_decode.h"

#include "base/rune.h"
#include "kinds/builtin.h"
#include "kinds/strategy.h"
#include "object/object.h"
#include "object/status.h"
#include "json/proto.h"
#include "json/yaml.h"

/* What a missing or unreadable kind is answered with, Go's name of the anonymous struct included. */
#define TYPE_META \
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }"

static const str protobuf = S_INIT("application/vnd.kubernetes.protobuf");
static const str yaml = S_INIT("application/yaml");
static const str json = S_INIT("application/json");

enum strictness strictness_of(const struct query *q)
{
    str asked = query_get(q, S("fieldValidation"));
    return str_eq(asked, S("Strict"))   ? STRICTNESS_STRICT
           : str_eq(asked, S("Ignore")) ? STRICTNESS_IGNORE
                                        : STRICTNESS_WARN;
}

str decode_media_type(struct api_request *r)
{
    str header = http_header(r->x, S("Content-Type")), type, rest;
    str_cut(header, ';', &type, &rest);
    return str_lower(r->arena, str_trim(type));
}

str decode_api_version(struct arena *a, const struct kind *kind)
{
    return kind->group[0] ? str_fmt(a, "%s/%s", kind->group, kind->version) : str_of(kind->version);
}

str decode_show(struct arena *a, str bytes)
{
    struct buf b = {.arena = a};
    if (str_is_utf8(bytes))
        return bytes;
    while (bytes.n) {
        str before = bytes;
        if (rune_next(&bytes) == RUNE_BAD)
            buf_add_str(&b, S("\xef\xbf\xbd"));
        else
            buf_add(&b, before.p, before.n - bytes.n);
    }
    return buf_str(&b);
}

/* The beginning of a body, to recognise it by: as text when it looks like JSON, else in hexadecimal digits. */
static str summary(struct arena *a, str body)
{
    enum { SHOWN = 30 };
    struct buf b = {.arena = a};
    str start = str_upto(body, SHOWN);
    if (body.n == 0)
        return S("<empty>");
    for (size_t i = 0; i < start.n && body.p[0] != '{'; i++)
        buf_fmt(&b, "%02x", (unsigned char)start.p[i]);
    if (body.p[0] == '{')
        buf_add_str(&b, decode_show(a, start));
    if (body.n > SHOWN)
        buf_add_str(&b, S(" ..."));
    return buf_str(&b);
}

/* ---- Which kind it is. ---- */

/* What a body says of itself, completed by what the path says. */
struct type_meta {
    str api_version, kind; /* as they are taken to be */
    str version;
};

/* Says what is wrong with one that is neither text nor absent. */
static int check_type_text(const struct json *value, const char *name, struct err *err)
{
    static const char *const names[] = {"null", "bool", "number", "number", "number", "string", "array", "object"};
    if (json_is_null(value) || json_is_str(value))
        return 0;
    return err_set(err, ERR_BAD_REQUEST,
                   "couldn't get version/kind; json parse error: json: cannot unmarshal %s into Go struct field .%s of "
                   "type string",
                   names[json_type(value)], name);
}

/* raw: the text of the tree, if that is JSON. */
static int read_type(struct arena *a, const struct kind *kind, const struct json *tree, str raw, struct type_meta *ret,
                     struct err *err)
{
    static const char *const names[] = {"null", "bool", "number", "number", "number", "string", "array", "object"};
    str group;
    if (!json_is_obj(tree) && !json_is_null(tree))
        return err_set(
            err, ERR_BAD_REQUEST,
            "couldn't get version/kind; json parse error: json: cannot unmarshal %s into Go value of type " TYPE_META,
            names[json_type(tree)]);
    if (check_type_text(json_get(tree, S("kind")), "kind", err) < 0 ||
        check_type_text(json_get(tree, S("apiVersion")), "apiVersion", err) < 0)
        return err ? (int)err->code : ERR_BAD_REQUEST;
    bool is_custom = kind->flags & KIND_CUSTOM;
    ret->kind = object_kind(tree);
    ret->api_version = object_api_version(tree);
    if (!kind_split_api_version(ret->api_version, &group, &ret->version))
        return err_set(err, ERR_BAD_REQUEST, "unexpected GroupVersion string: %.*s", STR(ret->api_version));
    if (ret->kind.n == 0 && is_custom) {
        struct buf text = {.arena = a};
        if (raw.n == 0)
            json_encode(&text, tree, 0);
        return err_set(err, ERR_BAD_REQUEST, "Object 'Kind' is missing in '%.*s'", STR(raw.n ? raw : buf_str(&text)));
    }
    if (ret->kind.n == 0)
        ret->kind = str_of(kind->kind);
    if (ret->api_version.n == 0 && !is_custom) {
        ret->api_version = decode_api_version(a, kind);
        ret->version = str_of(kind->version);
    }
    return 0;
}

/* The package of the internal types: "core", "apps", "rbac". */
static str internal_package(const struct kind *kind)
{
    str first, rest, group = str_of(kind->group);
    str_cut(group, '.', &first, &rest);
    return group.n ? first : S("core");
}

static str wrong_version(struct arena *a, const struct kind *kind, str got)
{
    got = str_clip(a, got);
    return str_fmt(a, "the API version in the data (%.*s) does not match the expected API version (%.*s)", STR(got),
                   STR(decode_api_version(a, kind)));
}

const char *decode_scheme(const struct kind *kind)
{
    bool is_extension = strcmp(kind->group, "apiextensions.k8s.io") == 0;
    return is_extension ? "pkg/apiserver/apiserver.go:53" : "pkg/api/legacyscheme/scheme.go:30";
}

static str cannot_be_handled(struct arena *a, const struct kind *kind, const struct type_meta *type, str why)
{
    str named = str_clip(a, type->kind), version = str_clip(a, type->version);
    return str_fmt(a, "%.*s in version \"%.*s\" cannot be handled as a %s: %.*s", STR(named), STR(version), kind->kind,
                   STR(why));
}

/* A body of another kind than the path: NULL when it is the same, else what to say about it. */
static const struct json *refuse_other(struct arena *a, const struct kind *kind, const struct type_meta *type,
                                       struct json *ret_status)
{
    str why, named = str_clip(a, type->kind), api_version = str_clip(a, type->api_version);
    if (kind->flags & KIND_CUSTOM) {
        if (str_eq(type->api_version, decode_api_version(a, kind)))
            return NULL; /* another Kind is found by validation */
        *ret_status = status_bad_request(a, wrong_version(a, kind, type->api_version));
        return ret_status;
    }
    const struct kind *other = kind_builtin_by_body(type->api_version, type->kind);
    if (other == kind)
        return NULL;
    if (other && strategy_storage_kind(other) == strategy_storage_kind(kind)) {
        *ret_status = status_bad_request(a, wrong_version(a, kind, type->api_version));
        return ret_status;
    }
    if (other)
        why = str_fmt(a, "converting (%s.%s) to (%.*s.%s): unknown conversion", other->version, other->kind,
                      STR(internal_package(kind)), kind->kind);
    else
        why = str_fmt(a,
                      "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                      "\"%s\"",
                      STR(named), STR(api_version), decode_scheme(kind));
    *ret_status = status_bad_request(a, cannot_be_handled(a, kind, type, why));
    return ret_status;
}

/* ---- From bytes. ---- */

static int decode_text(struct api_request *r, struct arena *a, bool is_yaml, struct json_notes *notes, struct json *ret,
                       struct err *err)
{
    if (is_yaml)
        return yaml_decode(a, r->x->body, NULL, notes, ret, err);
    if (json_decode(a, r->x->body, NULL, notes, ret, err) == 0)
        return 0;
    return err->code == ERR_TOO_LARGE ? (int)err->code : err_wrap(err, "couldn't get version/kind; json parse error");
}

static str raw_json(struct api_request *r)
{
    str media = decode_media_type(r);
    return str_eq(media, yaml) || str_eq(media, protobuf) ? (str){0} : r->x->body;
}

int decode_tree(struct api_request *r, struct arena *a, struct json_notes *notes, struct json *ret, struct err *err)
{
    return decode_text(r, a, str_eq(decode_media_type(r), yaml), notes, ret, err);
}

static int decode_protobuf(struct api_request *r, struct arena *a, const struct kind *kind, struct json *ret,
                           struct err *err)
{
    struct proto_envelope envelope;
    int rc = proto_open(r->x->body, NULL, &envelope, err);
    if (rc < 0)
        return rc;
    *ret = json_obj();
    /* The message of another kind would be read by the wrong table; its name is enough to refuse it. */
    bool is_same = envelope.kind.n == 0 || str_eq(envelope.kind, str_of(kind->kind));
    if (is_same && (rc = proto_decode(a, kind->shape, envelope.raw, NULL, ret, err)) < 0)
        return rc;
    if (envelope.api_version.n)
        json_set(a, ret, S("apiVersion"), json_str(decode_show(a, envelope.api_version)));
    if (envelope.kind.n)
        json_set(a, ret, S("kind"), json_str(decode_show(a, envelope.kind)));
    return 0;
}

static int unrecognized(struct api_request *r, struct arena *a, const struct kind *kind, const struct err *err,
                        struct json *ret_status)
{
    if (err->code == ERR_TOO_LARGE) {
        *ret_status = status_of_err(a, err);
        return ERR_TOO_LARGE;
    }
    *ret_status =
        status_bad_request(a, str_fmt(a, "the object provided is unrecognized (must be of type %s): %.*s (%.*s)",
                                      kind->kind, STR(decode_show(a, str_of(err->msg))), STR(summary(a, r->x->body))));
    return ERR_BAD_REQUEST;
}

/* Which formats a kind can be sent in; 0, or the refusal. */
static int check_media(struct api_request *r, struct arena *a, const struct kind *kind, str media,
                       struct json *ret_status)
{
    bool has_protobuf = kind->shape != NULL;
    bool is_given = http_header(r->x, S("Content-Type")).n > 0;
    if (!is_given || str_eq(media, json) || str_eq(media, yaml) || (has_protobuf && str_eq(media, protobuf)))
        return 0;
    *ret_status =
        status_unsupported_media_type(a, S("application/json, application/yaml, application/vnd.kubernetes.protobuf"));
    return ERR_UNSUPPORTED_MEDIA_TYPE;
}

/* A tree that says the right things of itself as an object; with what strict decoding has to say. */
static int finish(struct api_request *r, struct arena *a, const struct kind *kind, const struct type_meta *type,
                  struct decoded *ret, struct json *ret_status)
{
    enum strictness strictness = strictness_of(&r->query);
    struct err err = {0};
    struct strict_notes *notes = strictness == STRICTNESS_IGNORE ? NULL : &ret->notes;
    if (json_is_null(&ret->object))
        ret->object = json_obj();
    json_set(a, &ret->object, S("kind"), json_str(type->kind));
    json_set(a, &ret->object, S("apiVersion"), json_str(type->api_version));
    if (decode_object(r->api, a, kind, &ret->object, &ret->duplicates, notes, &err) < 0) {
        str why = decode_show(a, str_of(err.msg));
        *ret_status = err.code == ERR_BAD_REQUEST ? status_bad_request(a, cannot_be_handled(a, kind, type, why))
                                                  : status_of_err(a, &err);
        return err.code;
    }
    if (strictness == STRICTNESS_STRICT && ret->notes.list.n) {
        struct buf why = {.arena = a};
        strict_notes_format(&why, &ret->notes);
        *ret_status = status_bad_request(a, cannot_be_handled(a, kind, type, buf_str(&why)));
        return ERR_BAD_REQUEST;
    }
    return 0;
}

int decode_body(struct api_request *r, struct arena *a, const struct kind *kind, struct decoded *ret,
                struct json *ret_status)
{
    str media = decode_media_type(r);
    struct type_meta type = {0};
    struct err err = {0};
    int rc = check_media(r, a, kind, media, ret_status);
    if (rc < 0)
        return rc;
    *ret = (struct decoded){.was_protobuf = str_eq(media, protobuf)};
    rc = ret->was_protobuf ? decode_protobuf(r, a, kind, &ret->object, &err)
                           : decode_text(r, a, str_eq(media, yaml), &ret->duplicates, &ret->object, &err);
    if (rc < 0 || read_type(a, kind, &ret->object, raw_json(r), &type, &err) < 0)
        return unrecognized(r, a, kind, &err, ret_status);
    if (refuse_other(a, kind, &type, ret_status))
        return ERR_BAD_REQUEST;
    return finish(r, a, kind, &type, ret, ret_status);
}

int decode_delete_options(struct api_request *r, struct arena *a, struct json *ret, struct err *err)
{
    const struct kind *kind = kind_builtin_by_body(S("v1"), S("DeleteOptions"));
    struct type_meta type = {0};
    struct json status;
    str media = decode_media_type(r);
    if (check_media(r, a, kind, media, &status) < 0)
        return err_set(err, ERR_UNSUPPORTED_MEDIA_TYPE, "unknown format");
    int rc = str_eq(media, protobuf) ? decode_protobuf(r, a, kind, ret, err)
                                     : decode_text(r, a, str_eq(media, yaml), NULL, ret, err);
    if (rc < 0 || (rc = read_type(a, kind, ret, raw_json(r), &type, err)) < 0)
        return rc;
    if (!str_eq(type.kind, str_of(kind->kind)))
        return err_set(err, ERR_INTERNAL,
                       "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                       "\"pkg/apis/meta/internalversion/scheme/register.go:27\"",
                       STR(type.kind), STR(type.api_version));
    if (json_is_null(ret))
        *ret = json_obj();
    return strict_decode(a, kind->shape, ret, NULL, NULL, err);
}

bool body_decode(struct api_request *r, const struct kind *kind, struct body *ret)
{
    struct decoded decoded;
    struct json status;
    if (decode_body(r, r->arena, kind, &decoded, &status) < 0) {
        api_refuse(r, &status);
        return false;
    }
    vec_each(&decoded.notes.list, note) api_warn(r, *note);
    *ret = (struct body){.object = decoded.object, .was_protobuf = decoded.was_protobuf};
    return true;
}
