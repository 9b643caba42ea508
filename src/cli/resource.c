/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/resource.h"

int resource_all(struct command *c, const struct client_discovery **ret, struct err *err)
{
    if (!c->discovery) {
        struct client_discovery *found = ARENA_NEW(&c->arena, struct client_discovery);
        int code = client_discover(c->session.client, &c->arena, found, err);
        if (code < 0) {
            (void)err_wrap(err, "ask which resources there are");
            return code;
        }
        c->discovery = found;
    }
    *ret = c->discovery;
    return 0;
}

/* ---- What somebody may have meant. ---- */

typedef VEC(const char *) words;

static void add_word(struct arena *a, words *list, str word)
{
    if (word.n)
        *vec_push(a, list) = str_cstr(a, word);
}

/* Of those in the group, if there is one. */
static const char *nearest(struct arena *a, const struct client_discovery *d, str type, const str *group)
{
    words list = {0};
    for (size_t i = 0; i < d->n; i++) {
        const struct client_discovered *x = &d->p[i];
        if (group && !str_eq(x->resource.group, *group))
            continue;
        add_word(a, &list, x->resource.plural);
        add_word(a, &list, x->singular);
        for (size_t k = 0; k < x->n_short_names; k++)
            add_word(a, &list, x->short_names[k]);
    }
    *vec_push(a, &list) = NULL;
    return flags_nearest(str_cstr(a, str_lower(a, type)), list.p);
}

/* "deployments.apps" for deployments.batch: the same in another group. */
static str elsewhere(struct arena *a, const struct client_discovery *d, str name)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct client_resource *r = &d->p[i].resource;
        if (str_eq(r->plural, name))
            return str_fmt(a, "%.*s%s%.*s", STR(name), r->group.n ? "." : "", STR(r->group));
    }
    return (str){0};
}

static str guess(struct arena *a, const struct client_discovery *d, str name, const str *group)
{
    str other = group ? elsewhere(a, d, name) : (str){0};
    const char *meant = other.n ? NULL : nearest(a, d, name, group);
    if (!meant || str_eq(str_of(meant), name))
        return other;
    return group ? str_fmt(a, "%s.%.*s", meant, STR(*group)) : str_of(meant);
}

/* ERR_NOT_FOUND, and what else there is to say about it. */
static int unknown(struct command *c, const struct client_discovery *d, str type, struct err *err)
{
    str name, group;
    bool has_group = str_cut(type, '.', &name, &group);
    str meant = guess(&c->arena, d, name, has_group ? &group : NULL);
    struct buf b = {.arena = &c->arena};
    buf_fmt(&b, "the server has no resource \"%.*s\"", STR(name));
    if (has_group)
        buf_fmt(&b, " in the group \"%.*s\"", STR(group));
    if (meant.n)
        buf_fmt(&b, ", did you mean \"%.*s\"?", STR(meant));
    if (d->text.n)
        buf_fmt(&b, " (%.*s)", STR(d->text));
    return err_set(err, ERR_NOT_FOUND, "%.*s", STR(buf_str(&b)));
}

/* ---- Words. ---- */

/* What is not known is taken at its word: "widgets.example.com/x". */
static void take_word(str type, struct resource_named *ret)
{
    if (!str_cut(type, '.', &ret->resource, &ret->group))
        ret->resource = type;
    ret->is_namespaced = true;
}

int resource_find(struct command *c, str text, struct resource_named *ret, struct err *err)
{
    const struct client_discovery *d = NULL;
    struct resource_named r = {0};
    str type;
    *ret = r;
    if (str_has_prefix(text, S("/"))) {
        ret->path = text;
        return 0;
    }
    bool has_name = str_cut(text, '/', &type, &r.name);
    if (type.n == 0 || (has_name && r.name.n == 0))
        return err_set(err, ERR_BAD_REQUEST, "\"%.*s\" is not TYPE, TYPE/NAME or a path that begins with /", STR(text));
    take_word(type, &r);
    *ret = r;
    if (str_eq(type, S("*"))) {
        ret->group = type;
        return 0;
    }
    int code = resource_all(c, &d, err);
    if (code < 0)
        return code;
    const struct client_discovered *found = client_discovery_named(d, type);
    if (!found)
        return unknown(c, d, type, err);
    ret->group = found->resource.group;
    ret->resource = found->resource.plural;
    ret->is_namespaced = found->resource.namespaced;
    ret->what = found;
    return 0;
}
