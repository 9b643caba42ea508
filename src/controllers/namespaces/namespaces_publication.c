/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/namespaces/namespaces_publication.h"

#include "object/meta.h"
#include "object/object.h"

#define ANNOTATION S("kubernetes.io/description")
#define DESCRIPTION                                                                                       \
    S("Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints " \
      "such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "   \
      "distributions of Kubernetes clusters.")

static struct json data_of(struct arena *a, str pem)
{
    struct json data = json_obj();
    json_add(a, &data, S("ca.crt"), json_str(pem));
    return data;
}

static struct json new_map(struct arena *a)
{
    struct json metadata = json_obj(), map = json_obj();
    json_add(a, &metadata, S("name"), json_str(PUBLICATION_NAME));
    json_add(a, &map, S("apiVersion"), json_str(S("v1")));
    json_add(a, &map, S("kind"), json_str(S("ConfigMap")));
    json_add(a, &map, S("metadata"), metadata);
    return map;
}

bool publication_render(struct arena *a, const struct json *have, str pem, struct json *ret)
{
    struct json data = data_of(a, pem);
    if (have && json_equal(json_get(have, S("data")), &data) && object_annotation(have, ANNOTATION).n)
        return false;
    *ret = have ? json_dup(a, have) : new_map(a);
    json_set(a, ret, S("data"), data);
    struct json *metadata = meta_of(a, ret), *annotations = json_get_mut(metadata, S("annotations"));
    if (!json_is_obj(annotations))
        annotations = json_set(a, metadata, S("annotations"), json_obj());
    json_set(a, annotations, ANNOTATION, json_str(DESCRIPTION));
    return true;
}
