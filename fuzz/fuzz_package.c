/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines as reeve-fetch brings them, one JSON value each, behind the line that names the image.
 * Whatever they are, a package is loaded or refused as unreadable, and twice the same. CRDs are sorted, each there once, and
 * can be read again; annotations stay below their limit; nothing that reaches the node passes the check of pods.
 */
#include "package/describe.h"
#include "package/files.h"
#include "package/package.h"
#include "package/pod.h"
#include "package/semver.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const str manifest =
    S_INIT("{\"manifest\":{\"digest\":\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"}}\n");

static struct package *load(str lines)
{
    struct package *p = NULL;
    struct err err;
    int code = package_load(content_of_text(lines), S("acme/app:1.0"), &p, &err);
    assert(code == 0 || code == ERR_IO);
    assert((code == 0) == (p != NULL));
    return p;
}

static void check_findings(const struct findings *f)
{
    assert(f->list.n <= FINDINGS_MAX && (f->more == 0 || f->list.n == FINDINGS_MAX));
    vec_each(&f->list, it) assert(it->message.n && it->message.n <= FINDING_MAX_BYTES + sizeof "…");
}

static void check_crds(const struct package *p)
{
    assert(p->n_crds <= PACKAGE_MAX_CRDS);
    for (size_t i = 0; i < p->n_crds; i++) {
        struct arena a ARENA_SCOPE = {0};
        struct json body;
        struct err err;
        const struct package_crd *crd = &p->crds[i];
        size_t bytes = 0;
        assert(i == 0 || str_cmp(p->crds[i - 1].info.name, crd->info.name) < 0);
        assert(package_find_crd(p, crd->info.name) == crd);
        assert(!crd_group_is_protected(crd->info.group));
        assert(package_crd_body(p, crd, &a, &body, &err) == 0);
        json_each_member(&crd->annotations, m) bytes += m->key_n + m->val.n;
        assert(bytes <= DESCRIBE_MAX_ANNOTATIONS);
    }
}

static bool is_set(const struct json *v)
{
    return json_true(v);
}

static void check_pod(const struct package *p)
{
    struct arena a ARENA_SCOPE = {0};
    struct findings f = {.arena = &a};
    const struct json *pod = json_dig(&p->deployment, "spec.template.spec");
    package_check_pod(&p->deployment, S("app"), S("team"), &f);
    check_findings(&f);
    if (is_set(json_get(pod, S("hostNetwork"))) || is_set(json_get(pod, S("hostPID"))) ||
        is_set(json_get(pod, S("hostIPC"))))
        assert(f.list.n);
}

static void check_identity(const struct package *p)
{
    assert(p->version.n && p->version.n <= 128 && str_find_char(p->version, ':') < 0);
    assert(str_eq(p->family, S("acme:app")));
    for (size_t i = 0; i < p->n_dependencies; i++)
        assert(p->dependencies[i].group.n && !crd_group_is_protected(p->dependencies[i].group));
    for (size_t i = 0; i < p->n_requirements; i++) {
        assert(semver_is_constraint(p->requirements[i].constraint));
        semver_is_met(p->requirements[i].constraint, S("1.2.3"), p->digest);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    buf_add_str(&b, manifest);
    buf_add(&b, data, size);
    struct package *p = load(buf_str(&b)), *again = load(buf_str(&b));
    assert((p == NULL) == (again == NULL));
    if (p) {
        check_findings(&p->findings);
        check_findings(&p->warnings);
        assert(str_eq(findings_text(&a, &p->findings), findings_text(&a, &again->findings)));
        check_crds(p);
        check_pod(p);
        check_identity(p);
    }
    package_unref(p);
    package_unref(again);
    return 0;
}
