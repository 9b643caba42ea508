/* SPDX-License-Identifier: Apache-2.0 */
/* app.yaml: what a package of format A says of itself. */
#include "package/dependency.h"
#include "package/load.h"

static const struct field_rule icon_rules[] = {
    {"base64Data", FIELD_TEXT, FIELDS_TEXT, NULL, 0},
    {"mediatype", FIELD_TEXT, FIELDS_LINE, NULL, 0},
};

static const struct field_rule person_rules[] = {
    {"name", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"email", FIELD_TEXT, FIELDS_LINE, NULL, 0},
};

/* Once the spec of an install each, of which only the CRD meant anything. */
static const struct field_rule depends_rules[] = {
    {"crd", FIELD_WORD, FIELDS_LINE, NULL, 0},
    {"package", FIELD_IGNORED, 0, NULL, 0},
    {"source", FIELD_IGNORED, 0, NULL, 0},
};

#define INNER(rules) rules, COUNT(rules)

static const struct field_rule app_rules[] = {
    {"apiVersion", FIELD_IGNORED, 0, NULL, 0}, /* of the format; there was only ever one */
    {"title", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"overviewShort", FIELD_TEXT, FIELDS_TEXT, NULL, 0},
    {"overview", FIELD_TEXT, FIELDS_TEXT, NULL, 0},
    {"readme", FIELD_TEXT, FIELDS_TEXT, NULL, 0},
    {"version", FIELD_WORD, FIELDS_LINE, NULL, 0},
    {"company", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"category", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"website", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"source", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"license", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"keywords", FIELD_TEXTS, FIELDS_LINE, NULL, 0},
    {"maintainers", FIELD_RECORDS, 0, INNER(person_rules)},
    {"owners", FIELD_RECORDS, 0, INNER(person_rules)},
    {"icons", FIELD_RECORDS, 0, INNER(icon_rules)},
    {"packageType", FIELD_WORD, FIELDS_LINE, NULL, 0},
    {"permissionScope", FIELD_WORD, FIELDS_LINE, NULL, 0},
    {"dependsOn", FIELD_RECORDS, 0, INNER(depends_rules)},
    {"permissions", FIELD_IGNORED, 0, NULL, 0},
};

static void read_scope(struct load *l, str file, const struct json *app)
{
    str scope = json_get_text(app, S("permissionScope"));
    l->package->states_scope = scope.n > 0;
    if (scope.n == 0 || str_eq(scope, S("Namespaced")))
        l->package->scope = PACKAGE_NAMESPACED;
    else if (str_eq(scope, S("Cluster")))
        l->package->scope = PACKAGE_CLUSTER;
    else
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: permissionScope: must be Cluster or Namespaced, but is %.*s",
                     STR(file), STR(fields_shown(l->line, scope)));
}

static void check_type(struct load *l, str file, const struct json *app)
{
    static const str types[] = {S_INIT(""), S_INIT("Provider"), S_INIT("Stack"), S_INIT("Application"),
                                S_INIT("Addon")};
    str type = json_get_text(app, S("packageType"));
    for (size_t i = 0; i < COUNT(types); i++)
        if (str_eq(type, types[i]))
            return;
    findings_add(l->findings, INVALID_PACKAGE,
                 "%.*s: packageType: must be Provider, Stack, Application or Addon, but is %.*s", STR(file),
                 STR(fields_shown(l->line, type)));
}

static bool has_dependency(const struct load *l, str text)
{
    vec_each(&l->dependencies, d) if (str_eq(d->text, text)) return true;
    return false;
}

static void read_dependencies(struct load *l, str file, const struct json *list)
{
    json_each_item(list, item)
    {
        size_t i = (size_t)(item - list->items);
        str text = str_dup(l->keep, json_get_text(item, S("crd")));
        struct package_dependency d;
        const char *why = text.n ? dependency_parse(text, &d) : "must say which CRD";
        if (why)
            findings_add(l->findings, INVALID_PACKAGE, "%.*s: dependsOn[%zu].crd: %.*s: %s", STR(file), i,
                         STR(fields_shown(l->line, text)), why);
        else if (!has_dependency(l, text))
            *vec_push(l->keep, &l->dependencies) = d;
    }
}

void load_app(struct load *l, const struct load_document *d)
{
    if (l->app.n) {
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: there must be one app.yaml with one document, but there is %.*s, too", STR(d->path),
                     STR(l->app));
        return;
    }
    l->app = str_dup(l->while_loading, d->path);
    struct fields_reader reader = load_fields(l, l->app, l->while_loading);
    struct json app = fields_read(&reader, d->json, INNER(app_rules));
    if (!json_is_null(json_get(d->json, S("permissions"))))
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: permissions: must not be there: what a package may do follows from its CRDs and dependsOn",
                     STR(l->app));
    read_scope(l, l->app, &app);
    check_type(l, l->app, &app);
    read_dependencies(l, l->app, json_get(&app, S("dependsOn")));
    l->version = json_get_text(&app, S("version"));
    json_remove(&app, S("dependsOn"));
    l->package->metadata = app;
}
