/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given:       Roles, ClusterRoles and bindings as YAML documents; they are added to what is there, or replace it.
 * given rules: rules as YAML; they become the ClusterRole "rules", which the ClusterRoleBinding "rules" gives to User bob.
 * delete:      what to remove, one per line: "Role shop/reader", "ClusterRoleBinding everybody".
 * when:        questions, one per line, "#" starts a comment:
 *                  bob get pods                        who, verb, resource
 *                  bob (devs, ops) list pods in shop   with groups, in a namespace
 *                  - (devs) get deployments.apps/scale named web in shop      no user; group, subresource and name
 *                  bob get /healthz                    a path
 *              Texts with blanks, or empty ones, stand in double quotes.
 * expect:      "yes" or "no" for each question. "expect reasons": followed by the reason, if there is one.
 */
#include "authz/authz.h"
#include "cases/case.h"
#include "json/yaml.h"

static void put(struct case_file *c, const struct case_section *at, struct authz_index *ix, const struct json *object)
{
    struct err err = {0};
    if (authz_index_put(ix, object, &err) < 0)
        case_fail(c, at, "%s", err.msg);
}

static void put_text(struct case_file *c, const struct case_section *at, struct authz_index *ix, str text)
{
    struct err err = {0};
    json_vec objects = {0};
    if (yaml_decode_all(c->arena, text, NULL, &objects, &err) < 0)
        case_fail(c, at, "%s", err.msg);
    vec_each(&objects, object)
    {
        put(c, at, ix, object);
    }
}

static void put_rules(struct case_file *c, const struct case_section *at, struct authz_index *ix)
{
    struct err err = {0};
    struct json rules, role = json_obj(), meta = json_obj();
    if (yaml_decode(c->arena, at->text, NULL, NULL, &rules, &err) < 0)
        case_fail(c, at, "%s", err.msg);
    json_set(c->arena, &meta, S("name"), json_str(S("rules")));
    json_set(c->arena, &role, S("kind"), json_str(S("ClusterRole")));
    json_set(c->arena, &role, S("metadata"), meta);
    json_set(c->arena, &role, S("rules"), rules);
    put(c, at, ix, &role);
    put_text(c, at, ix,
             S("{kind: ClusterRoleBinding, metadata: {name: rules}, roleRef: {kind: ClusterRole, name: rules}, "
               "subjects: [{kind: User, name: bob}]}"));
}

static void delete_line(struct case_file *c, const struct case_section *at, struct authz_index *ix, str line)
{
    str kind, key, namespace, name;
    str_cut(line, ' ', &kind, &key);
    if (!str_cut(key, '/', &namespace, &name)) {
        name = key;
        namespace = (str){0};
    }
    if (!authz_index_delete(ix, authz_kind_of(kind), namespace, name))
        case_fail(c, at, "no %.*s", STR(line));
}

/* Takes the next word off the line; "…" is one word, without its quotes. */
static bool next_word(str *line, str *ret)
{
    *line = str_trim(*line);
    if (line->n == 0)
        return false;
    if (line->p[0] == '"') {
        str_cut(str_from(*line, 1), '"', ret, line);
        return true;
    }
    str_cut(*line, ' ', ret, line);
    return true;
}

static void read_groups(struct arena *a, str *line, struct strs *ret)
{
    VEC(str) groups = {0};
    str list, group;
    *line = str_trim(*line);
    if (line->n == 0 || line->p[0] != '(')
        return;
    str_cut(str_from(*line, 1), ')', &list, line);
    while (list.n) {
        str_cut(list, ',', &group, &list);
        next_word(&group, vec_push(a, &groups));
    }
    *ret = (struct strs){groups.p, groups.n};
}

/* "deployments.apps/scale" */
static void read_target(str target, struct authz_attributes *what)
{
    str resource;
    if (target.n && target.p[0] == '/') {
        what->path = target;
        return;
    }
    what->is_resource = true;
    str_cut(target, '/', &resource, &what->subresource);
    str_cut(resource, '.', &what->resource, &what->group);
}

static void ask(struct case_file *c, const struct case_section *at, const struct authz_index *ix, str line,
                bool reasons, struct buf *out)
{
    struct authz_identity who = {0};
    struct authz_attributes what = {0};
    str word, target = {0}, value;
    next_word(&line, &who.user);
    read_groups(c->arena, &line, &who.groups);
    who.user = str_eq(who.user, S("-")) ? (str){0} : who.user;
    if (!next_word(&line, &what.verb) || !next_word(&line, &target))
        case_fail(c, at, "a question needs a verb and a resource or path");
    read_target(target, &what);
    while (next_word(&line, &word)) {
        if (!next_word(&line, &value))
            case_fail(c, at, "nothing behind %.*s", STR(word));
        else if (str_eq(word, S("in")))
            what.namespace = value;
        else if (str_eq(word, S("named")))
            what.name = value;
        else
            case_fail(c, at, "do not understand %.*s", STR(word));
    }
    struct authz_decision d = authz_check(ix, &who, &what, c->arena);
    if (d.allowed != authz_check(ix, &who, &what, NULL).allowed)
        case_fail(c, at, "the answer depends on whether a reason is wanted");
    buf_fmt(out, "%s%s%.*s\n", d.allowed ? "yes" : "no", reasons && d.reason.n ? " " : "",
            STR(reasons ? d.reason : (str){0}));
}

static void each_line(struct case_file *c, const struct case_section *at, struct authz_index *ix, bool reasons,
                      struct buf *answers)
{
    str text = at->text, line;
    while (text.n) {
        str_cut(text, '\n', &line, &text);
        ptrdiff_t comment = str_find_char(line, '#');
        line = str_trim(comment >= 0 ? str_upto(line, (size_t)comment) : line);
        if (line.n && answers)
            ask(c, at, ix, line, reasons, answers);
        else if (line.n)
            delete_line(c, at, ix, line);
    }
}

static void run(struct case_file *c)
{
    struct authz_index *ix = authz_index_new();
    const struct case_section *when = NULL;
    vec_each(&c->sections, at)
    {
        struct buf answers = {.arena = c->arena};
        if (str_eq(at->name, S("given")) && case_has_arg(at, S("rules"))) {
            put_rules(c, at, ix);
        } else if (str_eq(at->name, S("given"))) {
            put_text(c, at, ix, at->text);
        } else if (str_eq(at->name, S("delete"))) {
            each_line(c, at, ix, false, NULL);
        } else if (str_eq(at->name, S("when"))) {
            when = at;
        } else if (when && str_eq(at->name, S("expect"))) {
            each_line(c, when, ix, case_has_arg(at, S("reasons")), &answers);
            case_expect(c, at, buf_str(&answers));
        } else {
            case_fail(c, at, "unknown section, or no question before it");
        }
    }
    authz_index_free(ix);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
