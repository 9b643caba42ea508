/* SPDX-License-Identifier: Apache-2.0 */
/* Whether writing a definition would change anything. */
#include "kinds/builtin.h"
#include "kinds/canonical.h"
#include "kinds/strict.h"
#include "oci/digest.h"
#include "package/crd_union_parts.h"
#include "schema/crd.h"

#include <assert.h>
#include <stdlib.h>

static int by_name(const void *l, const void *r)
{
    return str_cmp(json_get_text(l, S("name")), json_get_text(r, S("name")));
}

bool crd_one_form(struct arena *a, const struct json *crd, struct json *ret)
{
    const struct kind *kind = kind_builtin_by_body(S("apiextensions.k8s.io/v1"), S("CustomResourceDefinition"));
    const struct json *spec = json_get(crd, S("spec"));
    assert(kind && kind->shape);
    *ret = json_obj();
    json_add(a, ret, S("spec"), spec ? json_dup(a, spec) : json_null());
    if (strict_decode(a, kind->shape, ret, NULL, NULL, NULL) < 0)
        return false;
    crd_default(a, ret);
    canonical_form(a, kind->shape, ret, 0);
    struct json *versions = json_get_mut(json_get_mut(ret, S("spec")), S("versions"));
    if (json_is_arr(versions) && versions->n)
        qsort(versions->items, versions->n, sizeof *versions->items, by_name);
    return true;
}

bool crd_is_same(const struct json *l, const struct json *r)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json left, right;
    str name = json_get_text(json_get(l, S("metadata")), S("name"));
    if (!str_eq(name, json_get_text(json_get(r, S("metadata")), S("name"))))
        return false;
    return crd_one_form(&scratch, l, &left) && crd_one_form(&scratch, r, &right) && json_equal(&left, &right);
}

str crd_spec_digest(struct arena *a, const struct json *crd)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf text = {.arena = &scratch};
    struct json form;
    if (!crd_one_form(&scratch, crd, &form))
        return (str){0};
    buf_fmt(&text, "%.*s ", STR(json_get_text(json_get(crd, S("metadata")), S("name"))));
    json_encode(&text, &form, JSON_SORTED);
    struct oci_digest digest = oci_digest_of(OCI_SHA256, buf_str(&text));
    return oci_digest_hex(a, &digest);
}
