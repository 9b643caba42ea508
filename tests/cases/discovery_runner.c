/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: a CustomResourceDefinition; it counts as established unless it says otherwise itself.
 * when GET PATH: the old document.
 * when GET PATH as=v2 [group=G]: the aggregated one; with group, only what it says of that group.
 * expect: the document, byte by byte but for blanks between its parts. "404" when there is no such document.
 */
#include "api/discovery_render.h"
#include "cases/established.h"

static void render_old(struct buf *b, struct discovery_groups groups, str path)
{
    str rest, group, version;
    if (str_eq(path, S("/api"))) {
        discovery_render_core(b, groups, S("127.0.0.1:6443"));
        return;
    }
    if (str_eq(path, S("/apis"))) {
        discovery_render_groups(b, groups);
        return;
    }
    bool is_core = str_has_prefix(path, S("/api/"));
    rest = str_from(path, is_core ? 4 : 6);
    str_cut(rest, '/', &group, &version);
    const struct registry_group *g = discovery_find_group(groups, group);
    const struct registry_version *v = discovery_find_version(g, version);
    if (v)
        discovery_render_resources(b, g, v);
    else if (g && version.n == 0)
        discovery_render_group(b, g);
    else
        buf_add_str(b, S("404"));
}

static void render(struct case_file *c, const struct case_section *s, struct registry *r, struct buf *out)
{
    struct discovery_groups groups = {0};
    str path = str_trim(str_from(s->args, 4)), rest, as = case_arg(s, S("as")), only = case_arg(s, S("group"));
    str_cut(path, ' ', &path, &rest);
    groups.p = registry_groups(c->arena, r, &groups.n);
    if (as.n == 0) {
        render_old(out, groups, path);
        return;
    }
    if (only.n) {
        groups.p = discovery_find_group(groups, only);
        groups.n = groups.p ? 1 : 0;
    }
    discovery_render_aggregated(out, groups, str_eq(path, S("/api")), as);
}

/* Blanks are for those who read the case. */
static str without_blanks(struct case_file *c, const struct case_section *s)
{
    struct json v;
    struct err err;
    struct buf b = {.arena = c->arena};
    if (json_decode(c->arena, s->text, NULL, NULL, &v, &err) < 0)
        case_fail(c, s, "%s", err.msg);
    else
        json_encode(&b, &v, 0);
    return buf_str(&b);
}

static void run(struct case_file *c)
{
    struct registry *r = registry_new();
    struct buf out = {.arena = c->arena};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("given"))) {
            established(c, s, r);
        } else if (str_eq(s->name, S("when"))) {
            out = (struct buf){.arena = c->arena};
            render(c, s, r, &out);
        } else {
            struct case_section want = *s;
            want.text = str_eq(s->text, S("404")) ? s->text : without_blanks(c, s);
            case_expect(c, &want, buf_str(&out));
        }
    }
    registry_free(r);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
