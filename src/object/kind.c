/* SPDX-License-Identifier: Apache-2.0 */
#include "object/kind.h"

const char *verb_name(unsigned verb)
{
    switch (verb) {
    case VERB_CREATE:
        return "create";
    case VERB_DELETE:
        return "delete";
    case VERB_DELETECOLLECTION:
        return "deletecollection";
    case VERB_GET:
        return "get";
    case VERB_LIST:
        return "list";
    case VERB_PATCH:
        return "patch";
    case VERB_UPDATE:
        return "update";
    case VERB_WATCH:
        return "watch";
    default:
        return "";
    }
}

/* v1, v2beta3: stage 3 is stable, 2 beta, 1 alpha; 0 is none of these. */
struct release {
    int stage;
    int64_t major, minor;
};

static bool take_number(str *s, int64_t *ret)
{
    size_t n = 0;
    while (n < s->n && char_is_digit(s->p[n]))
        n++;
    bool ok = str_to_int64(str_upto(*s, n), ret);
    *s = str_from(*s, n);
    return ok;
}

static struct release release_of(str version)
{
    struct release r = {0};
    str rest = str_from(version, 1);
    if (version.n < 2 || version.p[0] != 'v' || !take_number(&rest, &r.major))
        return (struct release){0};
    if (rest.n == 0) {
        r.stage = 3;
        return r;
    }
    r.stage = str_has_prefix(rest, S("beta")) ? 2 : str_has_prefix(rest, S("alpha")) ? 1 : 0;
    rest = str_from(rest, r.stage == 2 ? 4 : 5);
    if (r.stage == 0 || !take_number(&rest, &r.minor) || rest.n)
        return (struct release){0};
    return r;
}

int kind_version_order(str l, str r)
{
    struct release a = release_of(l), b = release_of(r);
    if (a.stage != b.stage)
        return b.stage - a.stage;
    if (a.stage == 0)
        return str_cmp(l, r);
    if (a.major != b.major)
        return a.major > b.major ? -1 : 1;
    return a.minor == b.minor ? 0 : a.minor > b.minor ? -1 : 1;
}

bool kind_split_api_version(str api_version, str *ret_group, str *ret_version)
{
    str group, version;
    if (!str_cut(api_version, '/', &group, &version)) {
        group = (str){0};
        version = api_version;
    }
    if (str_find_char(version, '/') >= 0)
        return false;
    *ret_group = group;
    *ret_version = version;
    return true;
}

const struct kind_subresource *kind_subresource(const struct kind *k, str name)
{
    for (size_t i = 0; i < k->n_subresources; i++)
        if (str_eq(name, str_of(k->subresources[i].name)))
            return &k->subresources[i];
    return NULL;
}
