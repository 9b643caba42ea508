/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences about conflicts. Everything in them that a package chose is cut to a length that can be read. */
#include "package/crd_union_parts.h"

enum { SHOWN_MAX = 80, PLACE_MAX = 300 };

str crd_shown(struct crd_union *u, const struct json *v)
{
    struct buf b = {.arena = &u->scratch};
    if (json_is_str(v))
        buf_add_quoted(&b, json_text(v));
    else
        json_encode(&b, v ? v : &(struct json){0}, JSON_SORTED);
    return finding_shown(&u->scratch, buf_str(&b), SHOWN_MAX);
}

static bool is_plain_name(str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = char_is_alnum(c);
        if (!letter && c != '-' && c != '_' && c != '$')
            return false;
    }
    return name.n > 0;
}

static void format_place(struct buf *b, const struct crd_place *at)
{
    if (at == NULL)
        return;
    format_place(b, at->up);
    switch (at->step) {
    case CRD_ITEM:
        buf_add_str(b, S("[]"));
        return;
    case CRD_ENTRY:
        buf_add_str(b, S("[*]"));
        return;
    case CRD_FIELD:
        break;
    }
    if (!is_plain_name(at->field)) {
        buf_add_char(b, '[');
        buf_add_quoted(b, at->field);
        buf_add_char(b, ']');
        return;
    }
    if (b->n)
        buf_add_char(b, '.');
    buf_add_str(b, at->field);
}

/* "CRD things.example.org: v1: spec.size: " */
static void format_head(struct crd_union *u, struct buf *b, const struct crd_place *at)
{
    buf_fmt(b, "CRD %.*s: ", STR(u->name));
    if (u->version.n)
        buf_fmt(b, "%.*s: ", STR(u->version));
    if (at) {
        struct buf place = {.arena = &u->scratch};
        format_place(&place, at);
        buf_fmt(b, "%.*s: ", STR(finding_shown(&u->scratch, buf_str(&place), PLACE_MAX)));
    }
}

void crd_tell_change(struct crd_union *u, str reason, const struct crd_place *at, str text)
{
    struct buf b = {.arena = &u->scratch};
    format_head(u, &b, at);
    u->n_conflicts++;
    findings_add(u->conflicts, reason, "%.*s%.*s", STR(buf_str(&b)), STR(text));
}

void crd_tell(struct crd_union *u, const struct crd_place *at, const char *what, size_t older, str was, size_t newer,
              str now)
{
    const struct crd_source *l = u->sources[older], *r = u->sources[newer];
    bool is_one = str_eq(l->package, r->package);
    u->n_conflicts++;
    struct buf b = {.arena = &u->scratch};
    format_head(u, &b, at);
    if (what)
        buf_fmt(&b, "%s: ", what);
    buf_fmt(&b, "%.*s in %.*s %.*s, %.*s in ", STR(was), STR(l->package), STR(l->version), STR(now));
    if (!is_one)
        buf_fmt(&b, "%.*s ", STR(r->package));
    buf_add_str(&b, r->version);
    findings_add(u->conflicts, S("CRDConflict"), "%.*s", STR(buf_str(&b)));
}
