/* SPDX-License-Identifier: Apache-2.0 */
/* How manifests are distributed over works.
 *
 *   layer 0   most permissions have but this: all manifests whose name is theirs alone
 *     part 0, 1 … n-1      by a hash of kind, namespace and name; n = 1 as long as all of them fit into one work
 *   layer 1   second templates of a name, as two objects of one name may not stand in one work
 *     part n …
 *
 * The hash is a consistent one: when n grows by one, manifests move to the new part or stay where they are, and while n stays a
 * manifest that is added or removed moves no other. So does the rule to begin another part when the others are full by four
 * fifths: what does not fit where its hash says goes to the next part with room, which seldom happens then. What a permission
 * comes to depends on it alone, not on what was built before. */
#include "controllers/permissions/permissions_draft.h"

#include "object/fleet.h"
#include "object/object.h"

#include <assert.h>

/* Where another part is begun. */
enum {
    FULL_BYTES = FLEET_WORK_BYTES / 5 * 4,
    FULL_MANIFESTS = PERMISSION_PART_MANIFESTS / 5 * 4,
};

struct part {
    size_t bytes, n;
};

struct split {
    struct permission_draft *d;
    const uint64_t *hashes; /* of the manifests */
    size_t *targets;        /* part of each manifest */
    struct part parts[PERMISSION_PARTS];
    size_t n; /* parts of the layers so far */
};

static uint64_t mix(uint64_t h, str text)
{
    for (size_t i = 0; i < text.n; i++)
        h = (h ^ (unsigned char)text.p[i]) * 0x100000001b3ULL;
    return (h ^ 0xff) * 0x100000001b3ULL; /* parts the texts: no text has this byte */
}

/* FNV-1a, stirred: every process must come to the same. */
static uint64_t hash_of(const struct permission_manifest *m)
{
    uint64_t h = mix(0xcbf29ce484222325ULL, str_of(permission_kinds[m->kind].kind));
    h = mix(mix(h, m->namespace), m->name);
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

/* Jump consistent hash (Lamping and Veach): an even one of n, and of n + 1 the same or the last. */
static size_t jump(uint64_t key, size_t n)
{
    int64_t at = 0, next = 0;
    while (next < (int64_t)n) {
        at = next;
        key = key * 2862933555777941757ULL + 1;
        next = (int64_t)((double)(at + 1) * ((double)(1LL << 31) / (double)((key >> 33) + 1)));
    }
    return (size_t)at;
}

static bool has_room(const struct part *p, const struct permission_manifest *m)
{
    return p->n < PERMISSION_PART_MANIFESTS && p->bytes + m->bytes <= FLEET_WORK_BYTES;
}

/* Puts the manifests of a layer into n parts from s->n on; false: they do not fit. */
static bool place(struct split *s, size_t layer, size_t n)
{
    struct part *parts = &s->parts[s->n];
    memset(parts, 0, n * sizeof *parts);
    for (size_t i = 0; i < s->d->manifests.n; i++) {
        const struct permission_manifest *m = &s->d->manifests.p[i];
        if (m->layer != layer)
            continue;
        size_t at = jump(s->hashes[i], n), tries = 0;
        while (tries < n && !has_room(&parts[at], m)) {
            at = (at + 1) % n;
            tries++;
        }
        if (tries == n)
            return false;
        parts[at].n++;
        parts[at].bytes += m->bytes;
        s->targets[i] = s->n + at;
    }
    return true;
}

/* How many parts to try first. */
static size_t first_guess(const struct part *sum)
{
    if (sum->bytes <= FLEET_WORK_BYTES && sum->n <= PERMISSION_PART_MANIFESTS)
        return 1;
    size_t by_bytes = sum->bytes / FULL_BYTES + 1, by_count = sum->n / FULL_MANIFESTS + 1;
    return by_bytes > by_count ? by_bytes : by_count;
}

static bool place_layer(struct split *s, size_t layer, const struct part *sum)
{
    for (size_t n = first_guess(sum); s->n + n <= PERMISSION_PARTS; n++) {
        if (place(s, layer, n)) {
            s->n += n;
            return true;
        }
    }
    return permission_fail(s->d, "too much to deliver: more than %d ManifestWorks would be needed", PERMISSION_PARTS);
}

/* Sizes of the layers. Those of one permission are at most as many as its manifests. */
static struct part *sum_layers(struct permission_draft *d, size_t *ret_n)
{
    struct part *sums = ARENA_ARRAY(d->a, struct part, d->manifests.n);
    *ret_n = 0;
    vec_each(&d->manifests, m)
    {
        sums[m->layer].bytes += m->bytes;
        sums[m->layer].n++;
        if (m->layer >= *ret_n)
            *ret_n = m->layer + 1;
    }
    return sums;
}

/* ---- Works from parts. ---- */

static struct json config_of(struct arena *a, const struct permission_manifest *m)
{
    struct json id = json_obj_sized(a, 4), strategy = json_obj_sized(a, 1), config = json_obj_sized(a, 2);
    json_add(a, &id, S("group"), json_str(S("rbac.authorization.k8s.io")));
    json_add(a, &id, S("resource"), json_str(str_of(permission_kinds[m->kind].plural)));
    json_add(a, &id, S("name"), json_str(m->name));
    if (m->namespace.n)
        json_add(a, &id, S("namespace"), json_str(m->namespace));
    json_add(a, &strategy, S("type"), json_str(S("ReadOnly")));
    json_add(a, &config, S("resourceIdentifier"), id);
    json_add(a, &config, S("updateStrategy"), strategy);
    return config;
}

static struct json spec_of(struct arena *a, struct json manifests, struct json configs)
{
    struct json spec = json_obj_sized(a, 2), workload = json_obj_sized(a, 1);
    json_add(a, &workload, S("manifests"), manifests);
    json_add(a, &spec, S("workload"), workload);
    if (json_len(&configs))
        json_add(a, &spec, S("manifestConfigs"), configs);
    return spec;
}

static size_t make_works(const struct split *s, struct permission_work *works)
{
    struct arena *a = s->d->a;
    struct json manifests[PERMISSION_PARTS], configs[PERMISSION_PARTS];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        manifests[i] = json_arr_sized(a, s->parts[i].n);
        configs[i] = json_arr();
    }
    for (size_t i = 0; i < s->d->manifests.n; i++) {
        const struct permission_manifest *m = &s->d->manifests.p[i];
        json_push(a, &manifests[s->targets[i]], m->object);
        if (m->is_stub)
            json_push(a, &configs[s->targets[i]], config_of(a, m));
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->parts[i].n)
            works[n++] = (struct permission_work){permission_work_name(a, s->d->permission, i),
                                                  spec_of(a, manifests[i], configs[i])};
    }
    return n;
}

bool permission_split(struct permission_draft *d, const struct permission_work **ret, size_t *ret_n)
{
    size_t n_layers;
    struct part *sums = sum_layers(d, &n_layers);
    uint64_t *hashes = ARENA_ARRAY(d->a, uint64_t, d->manifests.n);
    struct split s = {.d = d, .hashes = hashes, .targets = ARENA_ARRAY(d->a, size_t, d->manifests.n)};
    for (size_t i = 0; i < d->manifests.n; i++)
        hashes[i] = hash_of(&d->manifests.p[i]);
    for (size_t layer = 0; layer < n_layers; layer++) {
        if (!place_layer(&s, layer, &sums[layer]))
            return false;
    }
    struct permission_work *works = ARENA_ARRAY(d->a, struct permission_work, s.n);
    *ret_n = make_works(&s, works);
    *ret = works;
    for (size_t i = 0; i < *ret_n; i++) {
        if (works[i].name.n > FLEET_WORK_NAME)
            return permission_fail(d,
                                   "the name is too long: a ManifestWork would be called \"%.*s\", with more than %d "
                                   "characters",
                                   STR(works[i].name), FLEET_WORK_NAME);
    }
    return true;
}

str permission_work_name(struct arena *a, const struct json *permission, size_t part)
{
    str name = object_name(permission), uid = str_upto(object_uid(permission), 5);
    return part ? str_fmt(a, "%.*s-%.*s-%zu", STR(name), STR(uid), part) : str_fmt(a, "%.*s-%.*s", STR(name), STR(uid));
}
