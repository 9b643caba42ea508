/* SPDX-License-Identifier: Apache-2.0 */
#include "package/crd_convert.h"

#include "schema/schema_keyword.h"

enum { NAME_MAX_SHOWN = 300 };

struct convert {
    struct arena *arena;
    const struct json *spec; /* as it came */
    str title;
    struct findings *reasons;
    size_t n_reasons;
};

static void refuse(struct convert *c, const char *text)
{
    c->n_reasons++;
    findings_add(c->reasons, S("InvalidPackage"), "%.*s: apiextensions.k8s.io/v1beta1 cannot become v1: %s",
                 STR(c->title), text);
}

str crd_title(struct arena *a, const struct json *doc)
{
    str name = json_get_text(json_get(doc, S("metadata")), S("name"));
    return name.n ? str_fmt(a, "CRD %.*s", STR(finding_shown(a, name, NAME_MAX_SHOWN))) : S("CRD without a name");
}

/* ---- Schemas that keep what they do not know ---- */

static struct json keep(struct convert *c, const struct json *schema, bool is_root);

static struct json keep_named(struct convert *c, const struct json *named)
{
    struct json all = json_obj_sized(c->arena, json_len(named));
    json_each_member(named, m)
        json_add(c->arena, &all, json_key(m), json_is_obj(&m->val) ? keep(c, &m->val, false) : m->val);
    return all;
}

/* Says at every place that would prune its fields that they are kept. Inside of anyOf and the like nothing is pruned. */
static struct json keep(struct convert *c, const struct json *schema, bool is_root)
{
    struct json all = json_dup_top(c->arena, schema);
    struct keywords kw;
    keywords_read(schema, &kw);
    str type = keyword_text(&kw, KW_TYPE);
    const struct json *properties = kw.at[KW_PROPERTIES], *items = kw.at[KW_ITEMS];
    const struct json *entries = kw.at[KW_ADDITIONAL_PROPERTIES];
    bool prunes = (type.n == 0 || str_eq(type, S("object"))) && !keyword_true(&kw, KW_X_INT_OR_STRING) && !entries;
    if (json_is_obj(properties))
        json_set(c->arena, &all, S("properties"), keep_named(c, properties));
    if (json_is_obj(items))
        json_set(c->arena, &all, S("items"), keep(c, items, false));
    if (json_is_obj(entries))
        json_set(c->arena, &all, S("additionalProperties"), keep(c, entries, false));
    if (is_root && type.n == 0)
        json_set(c->arena, &all, S("type"), json_str(S("object")));
    if (prunes)
        json_set(c->arena, &all, str_of(keyword_name(KW_X_PRESERVE)), json_bool(true));
    return all;
}

/* At the root, metadata is implicit and may not say such a thing. */
static void forget_metadata(struct arena *a, struct json *schema)
{
    struct json *properties = json_get_mut(schema, S("properties"));
    struct json *metadata = json_get_mut(properties, S("metadata"));
    if (!json_is_obj(metadata))
        return;
    json_remove(metadata, str_of(keyword_name(KW_X_PRESERVE)));
    if (json_get_text(metadata, S("type")).n == 0)
        json_set(a, metadata, S("type"), json_str(S("object")));
}

static struct json convert_schema(struct convert *c, const struct json *validation)
{
    const struct json *kept = json_get(c->spec, S("preserveUnknownFields"));
    const struct json *given = json_get(validation, S("openAPIV3Schema"));
    bool prunes = json_type(kept) == JSON_BOOL && !kept->b;
    struct json all = json_is_null(validation) ? json_obj() : json_dup_top(c->arena, validation);
    struct json none = json_obj(), schema;
    if (json_is_null(given))
        given = &none;
    if (!json_is_obj(given))
        return all; /* the check of its form says so */
    schema = prunes ? json_dup_top(c->arena, given) : keep(c, given, true);
    if (prunes && json_is_null(json_get(given, S("type"))))
        json_set(c->arena, &schema, S("type"), json_str(S("object")));
    if (!prunes)
        forget_metadata(c->arena, &schema);
    json_set(c->arena, &all, S("openAPIV3Schema"), schema);
    return all;
}

/* ---- Versions ---- */

static struct json convert_column(struct convert *c, const struct json *column)
{
    struct json all;
    bool has_both = json_find(column, S("jsonPath")); /* then JSONPath stays, as a field nobody knows */
    if (!json_is_obj(column))
        return *column;
    all = json_obj_sized(c->arena, column->n);
    json_each_member(column, m)
    {
        bool is_path = str_eq(json_key(m), S("JSONPath")) && !has_both;
        json_add(c->arena, &all, is_path ? S("jsonPath") : json_key(m), m->val);
    }
    return all;
}

static struct json convert_columns(struct convert *c, const struct json *columns)
{
    struct json all = json_arr();
    if (!json_is_arr(columns))
        return *columns;
    json_each_item(columns, it) json_push(c->arena, &all, convert_column(c, it));
    return all;
}

/* What stands at the top belongs to all versions; standing in both places it would be two truths. */
static const struct json *shared(struct convert *c, const struct json *version, const char *top, const char *own)
{
    const struct json *above = json_get(c->spec, str_of(top)), *mine = json_get(version, str_of(own));
    if (!json_is_null(above) && !json_is_null(mine)) {
        str text = str_fmt(c->arena, "spec.%s and %s of version %.*s are both given", top, own,
                           STR(json_get_text(version, S("name"))));
        refuse(c, str_cstr(c->arena, text));
    }
    return json_is_null(mine) ? above : mine;
}

static struct json convert_version(struct convert *c, const struct json *version)
{
    struct arena *a = c->arena;
    struct json all = json_dup_top(a, version);
    const struct json *schema = shared(c, version, "validation", "schema");
    const struct json *subresources = shared(c, version, "subresources", "subresources");
    const struct json *columns = shared(c, version, "additionalPrinterColumns", "additionalPrinterColumns");
    if (json_is_null(schema) || json_is_obj(schema))
        json_set(a, &all, S("schema"), convert_schema(c, schema));
    else
        json_set(a, &all, S("schema"), *schema);
    if (!json_is_null(subresources))
        json_set(a, &all, S("subresources"), *subresources);
    if (!json_is_null(columns))
        json_set(a, &all, S("additionalPrinterColumns"), convert_columns(c, columns));
    return all;
}

static struct json convert_versions(struct convert *c)
{
    struct arena *a = c->arena;
    const struct json *versions = json_get(c->spec, S("versions")), *version = json_get(c->spec, S("version"));
    struct json all = json_arr(), only = json_obj();
    if (json_len(versions) == 0) {
        if (json_is_null(version)) {
            refuse(c, "it has neither spec.version nor spec.versions");
            return all;
        }
        json_add(a, &only, S("name"), *version);
        json_add(a, &only, S("served"), json_bool(true));
        json_add(a, &only, S("storage"), json_bool(true));
        json_push(a, &all, convert_version(c, &only));
        return all;
    }
    if (!json_is_arr(versions))
        return *versions;
    if (!json_is_null(version) && !json_equal(version, json_get(&versions->items[0], S("name"))))
        refuse(c, "spec.version is not the first of spec.versions");
    json_each_item(versions, it) json_push(a, &all, json_is_obj(it) ? convert_version(c, it) : *it);
    return all;
}

/* ---- The rest ---- */

static struct json convert_conversion(struct convert *c, const struct json *conversion)
{
    struct arena *a = c->arena;
    struct json all = json_obj(), webhook = json_obj(), reviews = json_arr();
    if (!json_is_obj(conversion))
        return *conversion;
    json_each_member(conversion, m)
    {
        if (str_eq(json_key(m), S("webhookClientConfig")))
            json_set(a, &webhook, S("clientConfig"), m->val);
        else if (str_eq(json_key(m), S("conversionReviewVersions")))
            json_set(a, &webhook, S("conversionReviewVersions"), m->val);
        else
            json_add(a, &all, json_key(m), m->val);
    }
    bool calls = str_eq(json_get_text(conversion, S("strategy")), S("Webhook"));
    if (calls && json_is_null(json_get(&webhook, S("conversionReviewVersions")))) {
        json_push(a, &reviews, json_str(S("v1beta1")));
        json_set(a, &webhook, S("conversionReviewVersions"), reviews);
    }
    if (webhook.n)
        json_set(a, &all, S("webhook"), webhook);
    return all;
}

static bool is_moved(str field)
{
    static const char *const moved[] = {
        "version",   "versions", "validation", "preserveUnknownFields", "subresources", "additionalPrinterColumns",
        "conversion"};
    for (size_t i = 0; i < COUNT(moved); i++)
        if (str_eq(field, str_of(moved[i])))
            return true;
    return false;
}

static struct json convert_spec(struct convert *c)
{
    struct arena *a = c->arena;
    const struct json *conversion = json_get(c->spec, S("conversion")), *scope = json_get(c->spec, S("scope"));
    struct json all = json_obj();
    json_each_member(c->spec, m)
    {
        if (!is_moved(json_key(m)))
            json_add(a, &all, json_key(m), m->val);
    }
    if (json_is_null(scope) || (json_is_str(scope) && scope->n == 0))
        json_set(a, &all, S("scope"), json_str(S("Namespaced")));
    if (!json_is_null(conversion))
        json_add(a, &all, S("conversion"), convert_conversion(c, conversion));
    json_add(a, &all, S("versions"), convert_versions(c));
    return all;
}

bool crd_convert(struct arena *a, const struct json *v1beta1, struct json *ret, struct findings *reasons)
{
    struct convert c = {
        .arena = a,
        .spec = json_get(v1beta1, S("spec")),
        .title = crd_title(a, v1beta1),
        .reasons = reasons,
    };
    struct json all = json_dup_top(a, v1beta1);
    json_remove(&all, S("status"));
    json_set(a, &all, S("apiVersion"), json_str(S("apiextensions.k8s.io/v1")));
    if (json_is_obj(c.spec))
        json_set(a, &all, S("spec"), convert_spec(&c));
    else
        refuse(&c, "it has no spec");
    if (c.n_reasons)
        return false;
    *ret = all;
    return true;
}
