/* SPDX-License-Identifier: Apache-2.0 */
/* Each package is in memory once, however many namespaces use it: by reference, which gives its identity, and digest. The last
 * that were let go stay for a while. */
#include "controllers/installs/installs_internal.h"

#include <stdlib.h>

enum { KEPT_MAX = 256 };

struct loaded {
    struct arena arena;
    str key;
    const struct package *package;
};

static str key_of(struct arena *a, str reference, str digest)
{
    return str_fmt(a, "%.*s %.*s", STR(reference), STR(digest));
}

static void loaded_free(struct loaded *l)
{
    package_unref(l->package);
    arena_done(&l->arena);
    free(l);
}

const struct package *packages_find(struct installs *s, str reference, str digest)
{
    struct arena scratch ARENA_SCOPE = {0};
    installs_lock(s);
    const struct loaded *l = map_get(&s->packages, key_of(&scratch, reference, digest));
    const struct package *p = l ? package_ref(l->package) : NULL;
    installs_unlock(s);
    return p;
}

/* Under the lock: any will do, those in use are only read again when somebody new asks. */
static void make_room(struct installs *s)
{
    size_t at = 0;
    str key;
    void *value;
    if (s->packages.n < KEPT_MAX || !map_next(&s->packages, &at, &key, &value))
        return;
    map_del(&s->packages, key);
    loaded_free(value);
}

static void keep(struct installs *s, str reference, const struct package *p)
{
    struct loaded *l = xcalloc(1, sizeof *l);
    arena_begin(&l->arena, 256);
    l->key = key_of(&l->arena, reference, p->digest);
    l->package = package_ref(p);
    installs_lock(s);
    struct loaded *before = map_del(&s->packages, l->key);
    make_room(s);
    map_set(&s->packages, l->key, l);
    installs_unlock(s);
    if (before)
        loaded_free(before);
}

int packages_load(struct installs *s, struct fetch_entry *entry, str reference, str digest, const struct package **ret,
                  struct err *err)
{
    const struct package *known = packages_find(s, reference, digest);
    if (known) {
        fetch_entry_close(entry);
        *ret = known;
        return 0;
    }
    struct package *p;
    int code = package_load(content_of_entry(entry), reference, &p, err);
    if (code < 0)
        return err_wrap(err, "read the package %.*s", STR(reference));
    if (!str_eq(p->digest, digest)) {
        package_unref(p);
        return err_set(err, ERR_IO, "%.*s: what was kept is another image than %.*s", STR(reference), STR(digest));
    }
    keep(s, reference, p);
    *ret = p;
    return 0;
}

void packages_free_all(struct installs *s)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&s->packages, &at, &key, &value))
        loaded_free(value);
    map_done(&s->packages);
}
