/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given KIND in API-VERSION [without=A,B]: a built-in kind; shapes named by without are left to another file.
 * expect: what discovery says of it, how it is written, selected and named, then each shape with its fields: name, number on the wire (and the message it is
 *         in), Go type, and what is special. Lists that say nothing are atomic.
 */
#include "cases/case.h"
#include "kinds/builtin.h"

struct dump {
    struct buf out;
    str without;
    VEC(const struct shape *) shapes; /* printed, or waiting for it */
};

static bool is_in(str list, str name)
{
    for (str one; list.n;) {
        str_cut(list, ',', &one, &list);
        if (str_eq(one, name))
            return true;
    }
    return false;
}

static void visit(struct dump *d, const struct shape *s)
{
    if (!s || is_in(d->without, str_of(s->name)))
        return;
    vec_each(&d->shapes, seen)
    {
        if (*seen == s)
            return;
    }
    *vec_push(d->out.arena, &d->shapes) = s;
}

static void add_type(struct buf *b, const struct shape_field *f)
{
    static const char *const plain[] = {
        [SHAPE_STRING] = "string",
        [SHAPE_BOOL] = "bool",
        [SHAPE_INT32] = "int32",
        [SHAPE_INT64] = "int64",
        [SHAPE_DOUBLE] = "float64",
        [SHAPE_BYTES] = "[]uint8",
        [SHAPE_TIME] = "v1.Time",
        [SHAPE_MICRO_TIME] = "v1.MicroTime",
        [SHAPE_QUANTITY] = "resource.Quantity",
        [SHAPE_INT_OR_STRING] = "intstr.IntOrString",
        [SHAPE_RAW] = "any",
        [SHAPE_STRINGS] = "v1.ExtraValue",
        [SHAPE_JSON_OR_BOOL] = "v1.JSONSchemaPropsOrBool",
        [SHAPE_JSON_OR_ARRAY] = "v1.JSONSchemaPropsOrArray",
        [SHAPE_JSON_OR_STRINGS] = "v1.JSONSchemaPropsOrStringArray",
    };
    bool whole_named = f->go_type && (f->card == SHAPE_MAP || (f->card == SHAPE_LIST && f->type == SHAPE_RECORD));
    if (f->pointer)
        buf_add_char(b, '*');
    if (!whole_named && f->card != SHAPE_ONE)
        buf_add_str(b, f->card == SHAPE_MAP ? S("map[string]") : S("[]"));
    if (f->go_type)
        buf_add_str(b, str_of(f->go_type));
    else if (f->type == SHAPE_RECORD)
        buf_fmt(b, "%.*s.%s", STR(shape_version(f->record)), f->record->name);
    else
        buf_add_str(b, str_of(plain[f->type]));
}

static void add_field(struct buf *b, const struct shape_field *f)
{
    buf_fmt(b, "  %s %u", f->name, (unsigned)f->number);
    if (f->within)
        buf_fmt(b, " in %u", (unsigned)f->within);
    buf_add_char(b, ' ');
    add_type(b, f);
    if (f->required)
        buf_add_str(b, S(", required"));
    if (f->merge == SHAPE_ATOMIC && f->card != SHAPE_LIST)
        buf_add_str(b, S(", atomic"));
    if (f->merge == SHAPE_SET)
        buf_add_str(b, S(", set"));
    if (f->merge == SHAPE_KEYED)
        buf_fmt(b, ", keyed by %s", f->keys);
    if (f->smp & SHAPE_SMP_MERGE)
        buf_fmt(b, ", merge%s%s", f->smp_key ? " by " : "", f->smp_key ? f->smp_key : "");
    if (f->smp & SHAPE_SMP_RETAIN_KEYS)
        buf_add_str(b, S(", retain keys"));
    if (f->smp & SHAPE_SMP_REPLACE)
        buf_add_str(b, S(", replace"));
    buf_add_char(b, '\n');
}

static void add_texts(struct buf *b, const char *title, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        buf_fmt(b, "%s%s", i ? " " : title, list[i]);
}

static void add_verbs(struct buf *b, unsigned verbs)
{
    for (unsigned v = 1; v <= VERBS_ALL; v <<= 1)
        if (verbs & v)
            buf_fmt(b, " %s", verb_name(v));
    buf_add_char(b, '\n');
}

static void add_discovery(struct buf *b, const struct kind *k)
{
    buf_fmt(b, "%s %s", k->plural, k->singular);
    add_texts(b, ", short ", k->short_names);
    add_texts(b, ", categories ", k->categories);
    buf_fmt(b, ", %s:", k->namespaced ? "namespaced" : "cluster");
    add_verbs(b, k->verbs);
    for (size_t i = 0; i < k->n_subresources; i++) {
        const struct kind_subresource *s = &k->subresources[i];
        buf_fmt(b, "/%s", s->name);
        if (s->kind)
            buf_fmt(b, " %s/%s %s", s->group, s->version, s->kind);
        buf_add_char(b, ':');
        add_verbs(b, s->verbs);
    }
}

/* How writes go, how its objects may be called, and which fields selectors may name. */
static void add_rules(struct buf *b, const struct kind *k)
{
    static const char *const names[] = {
        [NAME_DNS_SUBDOMAIN] = "DNS subdomain",
        [NAME_DNS_LABEL] = "DNS label",
        [NAME_DNS1035_LABEL] = "DNS label with a letter first",
        [NAME_PATH_SEGMENT] = "path segment",
    };
    static const struct {
        unsigned flag;
        const char *text;
    } flags[] = {
        {KIND_GENERATION, "generation counts"}, {KIND_UNCONDITIONAL, "PUT needs no resourceVersion"},
        {KIND_CREATE_ON_PUT, "PUT creates"},    {KIND_DELETE_OBJECT, "DELETE answers with the object"},
        {KIND_NOT_STORED, "not stored"},        {KIND_GENERATION_LABELS, "generation counts labels"},
    };
    buf_fmt(b, "name: %s\n", names[k->name_rule]);
    for (size_t i = 0; i < COUNT(flags); i++)
        if (k->flags & flags[i].flag)
            buf_fmt(b, "%s\n", flags[i].text);
    for (size_t i = 0; k->selectable && k->selectable[i]; i++)
        buf_fmt(b, "selectable: %s\n", k->selectable[i]);
}

static void run(struct case_file *c)
{
    const struct case_section *at = NULL;
    while ((at = case_find(c, at, S("given")))) {
        const struct case_section *expect = case_find(c, at, S("expect"));
        struct dump d = {.out.arena = c->arena, .without = case_arg(at, S("without"))};
        str kind, rest, in, version;
        str_cut(at->args, ' ', &kind, &rest);
        str_cut(rest, ' ', &in, &rest);
        str_cut(rest, ' ', &version, &rest);
        const struct kind *k = kind_builtin_by_body(str_trim(version), kind);
        if (!k || !expect) {
            case_fail(c, at, "no such kind, or nothing is expected");
            return;
        }
        if (!(k->flags & KIND_NO_PATH)) {
            add_discovery(&d.out, k);
            add_rules(&d.out, k);
        }
        visit(&d, k->shape);
        for (size_t i = 0; i < d.shapes.n; i++) {
            const struct shape *s = d.shapes.p[i];
            buf_fmt(&d.out, "%s%s\n", s->name, s->atomic ? ", atomic" : "");
            for (size_t f = 0; f < s->n; f++) {
                add_field(&d.out, &s->fields[f]);
                visit(&d, s->fields[f].record);
            }
        }
        case_expect(c, expect, buf_str(&d.out));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
