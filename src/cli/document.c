/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/document.h"

struct json document_new(struct arena *a, const char *kind)
{
    struct json document = json_obj();
    json_add(a, &document, S("apiVersion"), json_str(S("cli.reeve.dev/v1")));
    json_add(a, &document, S("kind"), json_str(str_of(kind)));
    return document;
}

struct json document_list(struct arena *a, struct json items)
{
    struct json list = json_obj(), metadata = json_obj();
    json_add(a, &metadata, S("resourceVersion"), json_str(S("")));
    json_add(a, &list, S("apiVersion"), json_str(S("v1")));
    json_add(a, &list, S("items"), items);
    json_add(a, &list, S("kind"), json_str(S("List")));
    json_add(a, &list, S("metadata"), metadata);
    return list;
}

void document_trim(struct json *object)
{
    struct json *meta = json_get_mut(object, S("metadata"));
    if (meta)
        json_remove(meta, S("managedFields"));
}

void document_add_text(struct arena *a, struct json *object, const char *key, str text)
{
    if (text.n)
        json_add(a, object, str_of(key), json_str(text));
}

struct json document_texts(struct arena *a, struct strs texts)
{
    struct json list = json_arr_sized(a, texts.n);
    strs_each(texts, text)
    {
        json_push(a, &list, json_str(*text));
    }
    return list;
}

struct json document_ref(struct arena *a, str kind, str namespace, str name)
{
    struct json ref = json_obj();
    document_add_text(a, &ref, "kind", kind);
    document_add_text(a, &ref, "namespace", namespace);
    document_add_text(a, &ref, "name", name);
    return ref;
}

struct json document_subject(struct arena *a, const struct authz_subject *subject)
{
    return document_ref(a, authz_subject_kind_name(subject->kind), subject->namespace, subject->name);
}
