/* SPDX-License-Identifier: Apache-2.0 */
/* With the agent's own words: only what became of the manifests is made up. */
#include "report.h"

#include "base/clock.h"
#include "base/vec.h"
#include "controllers/works/works_report.h"
#include "object/object.h"

static str plural_of(void *ctx, str group, str version, str kind)
{
    (void)ctx;
    (void)group;
    (void)version;
    return str_eq(kind, S("ClusterRole"))          ? S("clusterroles")
           : str_eq(kind, S("ClusterRoleBinding")) ? S("clusterrolebindings")
           : str_eq(kind, S("Role"))               ? S("roles")
                                                   : S("rolebindings");
}

static struct json facts_of(struct arena *a, const struct json *work)
{
    VEC(struct report_entry) entries = {0};
    const struct manifest *manifests;
    size_t n = manifests_read(a, work, &(struct manifest_resources){.plural = plural_of}, &manifests);
    for (size_t i = 0; i < n; i++) {
        const struct manifest *m = &manifests[i];
        struct report_entry entry = {.manifest = m,
                                     .plural = plural_of(NULL, m->group, m->version, m->kind),
                                     .namespace = m->namespace,
                                     .presence = REPORT_THERE};
        for (size_t j = 0; j < (m->selector ? REPORT_SELECTED : 1); j++) {
            if (m->selector)
                entry.namespace = str_fmt(a, "selected-%zu", j);
            *vec_push(a, &entries) = entry;
        }
    }
    return report_facts(a, work, entries.p, entries.n);
}

str report_of(struct arena *a, const struct json *work)
{
    struct json facts = facts_of(a, work), body = json_obj(), meta = json_obj(), status = json_obj();
    struct json next = report_status(a, work, &facts, &clock_system);
    const struct json *was = json_get(work, S("status"));
    struct buf text = {.arena = a};
    json_each_member(&next, m)
    {
        if (!json_equal(json_get(was, json_key(m)), &m->val))
            json_add(a, &status, json_key(m), m->val);
    }
    json_add(a, &meta, S("uid"), json_str(object_uid(work)));
    json_add(a, &body, S("metadata"), meta);
    json_add(a, &body, S("status"), status);
    json_encode(&text, &body, 0);
    return buf_str(&text);
}
