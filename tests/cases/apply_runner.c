/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the cases of tests/cases/apply: who manages which field, write by write.
 *
 *     --- schema                            openAPIV3Schema of the kind, when it is a custom one
 *     --- given v1 ConfigMap                apiVersion and kind; the object there is, or nothing
 *     --- when apply manager=m              server-side apply; also: force subresource=status reset=status,metadata.labels
 *     --- when create manager=m             the object as it is sent
 *     --- when update manager=m             the whole new object
 *     --- when patch manager=m              a merge patch; "when json-patch": a JSON patch
 *     --- expect                            the object, its managedFields aside
 *     --- expect managers                   one line for each entry: manager operation version, /subresource if there is
 *                                           one, the number of the "when" that gave it its time, and its fields
 *     --- expect unchanged                  the write changed nothing at all
 *     --- expect error                      "Reason: text"
 *     --- expect conflicts                  one line for each: field, then message
 *
 * The first "when" happens at second 1, the next at second 2, and so on. */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "patch/apply.h"
#include "patch/json_patch.h"
#include "schema/schema.h"
#include "json/json.h"
#include "json/yaml.h"

struct state {
    struct case_file *c;
    struct schema *schema;
    str api_version, kind;
    struct json live; /* null: there is none */
    bool changed;
    unsigned step;
    struct apply_result result;
    int rc;
    struct err err;
};

static struct json read_yaml(struct case_file *c, const struct case_section *s, str text)
{
    struct json v = json_null();
    struct err err;
    if (yaml_decode(c->arena, text, NULL, NULL, &v, &err) < 0)
        case_fail(c, s, "cannot read this: %s", err.msg);
    return v;
}

static str time_of(struct arena *a, unsigned step)
{
    return str_fmt(a, "2026-01-01T00:%02u:%02uZ", step / 60, step % 60);
}

/* What the server adds when it stores an object: here only the uid, by which an update is told from a create. */
static struct json stored(struct state *st, struct json object)
{
    struct arena *a = st->c->arena;
    struct json meta =
        json_is_obj(json_get(&object, S("metadata"))) ? json_dup_top(a, json_get(&object, S("metadata"))) : json_obj();
    json_set(a, &meta, S("uid"), json_str(S("u")));
    object = json_dup_top(a, &object);
    json_set(a, &object, S("metadata"), meta);
    return object;
}

static struct json defaulted(struct state *st, struct json object)
{
    object = json_dup(st->c->arena, &object);
    if (st->schema)
        schema_default(schema_root(st->schema), st->c->arena, &object);
    return object;
}

static struct managed_write write_of(struct state *st, const struct case_section *s)
{
    struct managed_write w = {.api_version = st->api_version, .kind = st->kind};
    const struct kind *k = kind_builtin_by_body(st->api_version, st->kind);
    w.type = k ? typed_of_shape(k->shape) : typed_of_schema(st->schema);
    w.manager = case_arg(s, S("manager"));
    w.subresource = case_arg(s, S("subresource"));
    w.time = time_of(st->c->arena, st->step);
    str rest = case_arg(s, S("reset"));
    str *reset = ARENA_ARRAY(st->c->arena, str, rest.n + 1);
    while (rest.n)
        str_cut(rest, ',', &reset[w.n_reset++], &rest);
    w.reset = reset;
    str versions = case_arg(s, S("versions"));
    str *known = ARENA_ARRAY(st->c->arena, str, versions.n + 1);
    while (versions.n)
        str_cut(versions, ',', &known[w.n_versions++], &versions);
    w.versions = known;
    if (case_arg(s, S("as")).n)
        w.api_version = case_arg(s, S("as"));
    return w;
}

static void do_apply(struct state *st, const struct case_section *s, const struct json *config)
{
    struct apply_args args = {
        .write = write_of(st, s),
        .live = json_is_null(&st->live) ? NULL : &st->live,
        .config = config,
        .force = case_has_arg(s, S("force")),
    };
    st->rc = apply_patch(st->c->arena, &args, &st->result, &st->err);
    st->changed = st->rc == 0 && st->result.changed;
    if (st->changed)
        st->live = stored(st, defaulted(st, st->result.object));
}

static void do_write(struct state *st, const struct case_section *s, struct json body)
{
    struct managed_args args = {.write = write_of(st, s), .old = json_is_null(&st->live) ? NULL : &st->live};
    struct json next = body;
    st->rc = 0;
    if (case_has_arg(s, S("patch")))
        next = json_merge_patch(st->c->arena, &st->live, &body);
    else if (case_has_arg(s, S("json-patch")))
        st->rc = json_patch(st->c->arena, &st->live, &body, &next, &st->err);
    next = defaulted(st, next);
    if (args.old)
        next = stored(st, next);
    args.next = &next;
    struct json object = stored(st, managed_update(st->c->arena, &args));
    st->changed = !args.old || !managed_is_same(&st->live, &object);
    if (st->changed)
        st->live = object;
}

/* ---- What came out. ---- */

static void print_managers(struct buf *b, const struct json *object)
{
    json_each_item(json_dig(object, "metadata.managedFields"), e)
    {
        str subresource = json_get_text(e, S("subresource")), time = json_get_text(e, S("time"));
        buf_fmt(b, "%.*s %.*s %.*s", STR(json_get_text(e, S("manager"))), STR(json_get_text(e, S("operation"))),
                STR(json_get_text(e, S("apiVersion"))));
        if (subresource.n)
            buf_fmt(b, " /%.*s", STR(subresource));
        uint64_t minutes = 0, seconds = 0;
        if (time.n == 20 && str_to_uint64((str){time.p + 14, 2}, &minutes) &&
            str_to_uint64((str){time.p + 17, 2}, &seconds))
            buf_fmt(b, " @%u ", (unsigned)(minutes * 60 + seconds));
        else
            buf_add_str(b, time.n ? S(" @? ") : S(" - "));
        json_encode(b, json_get(e, S("fieldsV1")), 0);
        buf_add_char(b, '\n');
    }
}

static struct json without_record(struct arena *a, const struct json *object)
{
    struct json out = json_dup(a, object), *meta = json_get_mut(&out, S("metadata"));
    if (meta) {
        json_remove(meta, S("managedFields"));
        json_remove(meta, S("uid"));
    }
    return out;
}

static void expect_object(struct state *st, const struct case_section *s)
{
    struct json want = read_yaml(st->c, s, s->text), got = without_record(st->c->arena, &st->live);
    struct buf w = {.arena = st->c->arena}, g = {.arena = st->c->arena};
    json_encode(&w, &want, JSON_SORTED | JSON_PRETTY);
    json_encode(&g, &got, JSON_SORTED | JSON_PRETTY);
    struct case_section plain = *s;
    plain.text = buf_str(&w);
    if (st->rc < 0)
        case_fail(st->c, s, "unexpected error: %s", st->err.msg);
    case_expect(st->c, &plain, buf_str(&g));
}

static void expect(struct state *st, const struct case_section *s)
{
    struct buf b = {.arena = st->c->arena};
    if (case_has_arg(s, S("managers"))) {
        print_managers(&b, &st->live);
    } else if (case_has_arg(s, S("unchanged"))) {
        struct case_section plain = *s;
        plain.text = S("unchanged");
        case_expect(st->c, &plain, st->changed || st->rc < 0 ? S("changed") : S("unchanged"));
        return;
    } else if (case_has_arg(s, S("error"))) {
        str text = st->rc == ERR_CONFLICT ? st->result.message : str_of(st->err.msg);
        buf_fmt(&b, "%s: %.*s", err_name((enum err_code)st->rc), STR(text));
    } else if (case_has_arg(s, S("conflicts"))) {
        vec_each(&st->result.conflicts, x) buf_fmt(&b, "%.*s %.*s\n", STR(x->field), STR(x->message));
    } else {
        expect_object(st, s);
        return;
    }
    case_expect(st->c, s, buf_str(&b));
}

static void step(struct state *st, const struct case_section *s)
{
    struct case_file *c = st->c;
    if (str_eq(s->name, S("schema"))) {
        struct json openapi = read_yaml(c, s, s->text);
        if (schema_compile(&openapi, &st->schema, &st->err) < 0)
            case_fail(c, s, "%s", st->err.msg);
    } else if (str_eq(s->name, S("given"))) {
        str_cut(s->args, ' ', &st->api_version, &st->kind);
        st->live = read_yaml(c, s, s->text);
        if (!json_is_null(&st->live))
            st->live = stored(st, st->live);
    } else if (str_eq(s->name, S("when"))) {
        struct json body = read_yaml(c, s, s->text);
        st->step++;
        if (case_has_arg(s, S("apply")))
            do_apply(st, s, &body);
        else
            do_write(st, s, body);
    } else if (str_eq(s->name, S("expect"))) {
        expect(st, s);
    } else {
        case_fail(c, s, "unknown section");
    }
}

static void run(struct case_file *c)
{
    struct state st = {.c = c};
    vec_each(&c->sections, s) step(&st, s);
    schema_free(st.schema);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
