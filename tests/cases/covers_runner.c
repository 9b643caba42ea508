/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner:   the rules somebody holds, as YAML.
 * servant: rules to be granted, as YAML.
 * expect:  "yes" when the owner's rules cover the servant's; else "no" and the lines of the escalation error.
 * expect added:   what the servant's rules would add to the owner's, one rule per line, in normal form.
 * expect compact: the servant's rules as Kubernetes compacts them before printing.
 * expect normal:  the servant's rules in normal form.
 * An owner or servant stays until the next one.
 */
#include "authz/rule.h"
#include "cases/case.h"
#include "json/yaml.h"

static struct rules read_rules(struct case_file *c, const struct case_section *at)
{
    struct err err = {0};
    struct json v;
    struct rules rules = {0};
    if (yaml_decode(c->arena, at->text, NULL, NULL, &v, &err) < 0 || rules_from_json(c->arena, &v, &rules, &err) < 0)
        case_fail(c, at, "%s", err.msg);
    return rules;
}

static void print_rules(struct buf *b, struct rules rules)
{
    rules_each(rules, rule)
    {
        rule_format(b, rule);
        buf_add_char(b, '\n');
    }
}

static void expect(struct case_file *c, const struct case_section *at, struct rules owner, struct rules servant)
{
    struct buf b = {.arena = c->arena};
    struct covers_missing missing;
    if (case_has_arg(at, S("added"))) {
        print_rules(&b, rules_added(c->arena, owner, servant, NULL));
    } else if (case_has_arg(at, S("compact"))) {
        print_rules(&b, rules_compact(c->arena, servant));
    } else if (case_has_arg(at, S("normal"))) {
        print_rules(&b, rules_normal(c->arena, servant));
    } else if (rules_cover(c->arena, owner, servant, &missing)) {
        buf_fmt(&b, "yes");
    } else {
        buf_fmt(&b, "no\n");
        covers_format(&b, &missing);
    }
    case_expect(c, at, buf_str(&b));
}

static void run(struct case_file *c)
{
    struct rules owner = {0}, servant = {0};
    vec_each(&c->sections, at)
    {
        if (str_eq(at->name, S("owner")))
            owner = read_rules(c, at);
        else if (str_eq(at->name, S("servant")))
            servant = read_rules(c, at);
        else if (str_eq(at->name, S("expect")))
            expect(c, at, owner, servant);
        else
            case_fail(c, at, "unknown section");
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
