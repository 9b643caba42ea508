/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/reference.h"

#include "oci/shown.h"

#include <assert.h>

#define DEFAULT_REGISTRY "docker.io"
#define LEGACY_REGISTRY "index.docker.io"
#define DEFAULT_REPO "library"
#define DEFAULT_TAG "latest"

enum {
    PORT_DIGITS = 5,
    IDENTITY_DIGITS = 12,
    DIGEST_TEXT_MAX = 7 + 128,
    TEXT_MAX = OCI_REGISTRY_MAX + 1 + OCI_PATH_MAX + 1 + OCI_TAG_MAX + 1 + DIGEST_TEXT_MAX,
};

/* ---- Registry: name(.name)*[:port] or [ipv6][:port] ---- */

static bool is_port(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.p[i]))
            return false;
    return s.n > 0 && s.n <= PORT_DIGITS;
}

/* A part of a host name: letters, digits and, between them, hyphens. */
static bool is_host_label(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_alnum(s.p[i]) && s.p[i] != '-')
            return false;
    return s.n > 0 && s.p[0] != '-' && s.p[s.n - 1] != '-';
}

static bool is_host_name(str s)
{
    str label;
    while (str_cut(s, '.', &label, &s))
        if (!is_host_label(label))
            return false;
    return is_host_label(label);
}

/* Between the brackets: what can be an address. Whether it is one is seen when somebody connects. */
static bool is_ipv6(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.p[i]) && s.p[i] != ':' && !(s.p[i] >= 'a' && s.p[i] <= 'f') &&
            !(s.p[i] >= 'A' && s.p[i] <= 'F'))
            return false;
    return s.n > 0;
}

static bool is_registry(str s)
{
    str host, port;
    if (s.n > OCI_REGISTRY_MAX)
        return false;
    if (s.n && s.p[0] == '[') {
        if (!str_cut(str_from(s, 1), ']', &host, &port) || !is_ipv6(host))
            return false;
        return port.n == 0 || (port.p[0] == ':' && is_port(str_from(port, 1)));
    }
    bool has_port = str_cut(s, ':', &host, &port);
    return is_host_name(host) && (!has_port || is_port(port));
}

/* As docker tells a registry from the first part of a path. */
static bool looks_like_registry(str first)
{
    for (size_t i = 0; i < first.n; i++)
        if (first.p[i] == '.' || first.p[i] == ':' || char_is_upper(first.p[i]))
            return true;
    return str_eq(first, S("localhost"));
}

/* ---- Path: component(/component)*, of small letters and digits with one of . _ __ - -- … between them ---- */

/* How many bytes of a separator s begins with. */
static size_t separator(str s)
{
    size_t n = 0;
    if (s.n == 0)
        return 0;
    if (s.p[0] == '-') {
        while (n < s.n && s.p[n] == '-')
            n++;
        return n;
    }
    if (s.p[0] == '.')
        return 1;
    return s.p[0] != '_' ? 0 : s.n > 1 && s.p[1] == '_' ? 2 : 1;
}

static bool is_component(str s)
{
    bool wants_word = true; /* at the start and behind a separator */
    while (s.n) {
        if (char_is_digit(s.p[0]) || char_is_lower(s.p[0])) {
            wants_word = false;
            s = str_from(s, 1);
            continue;
        }
        size_t n = separator(s);
        if (n == 0 || wants_word)
            return false;
        wants_word = true;
        s = str_from(s, n);
    }
    return !wants_word;
}

static const char *path_fault(str path)
{
    str component, rest = path;
    if (path.n == 0)
        return "it names no image";
    for (size_t i = 0; i < path.n; i++)
        if (char_is_upper(path.p[i]))
            return "the name of an image has no capital letters";
    bool is_more = true;
    while (is_more) {
        is_more = str_cut(rest, '/', &component, &rest);
        if (!is_component(component))
            return "the name of an image consists of parts with small letters and digits, parted by '/', with single '.' or '_', '__' or "
                   "'-' inside";
    }
    return NULL;
}

static bool is_hex64(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.p[i]) && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
            return false;
    return s.n == 64;
}

/* Will a normal form have "library/" in front of the path? */
static bool lacks_repo(str registry, str path)
{
    return str_find_char(path, '/') < 0 &&
           (registry.n == 0 || str_eq(registry, S(DEFAULT_REGISTRY)) || str_eq(registry, S(LEGACY_REGISTRY)));
}

/* What is wrong with the path, seen with its registry. */
static const char *name_fault(const struct oci_reference *r)
{
    if (r->registry.n && !is_registry(r->registry))
        return "its registry is not a host name or address, with or without a port";
    const char *fault = path_fault(r->path);
    if (fault)
        return fault;
    if (is_hex64(r->text))
        return "64 hex digits are an image's id, not a name";
    if (r->path.n + (lacks_repo(r->registry, r->path) ? sizeof(DEFAULT_REPO) : 0) > OCI_PATH_MAX)
        return "its name is longer than 255 bytes";
    return NULL;
}

static bool is_tag(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_alnum(s.p[i]) && s.p[i] != '_' && (i == 0 || (s.p[i] != '.' && s.p[i] != '-')))
            return false;
    return s.n > 0 && s.n <= OCI_TAG_MAX;
}

/* Position of the colon before the tag: the last one, behind the last slash. */
static ptrdiff_t tag_colon(str s)
{
    for (size_t i = s.n; i-- > 0 && s.p[i] != '/';)
        if (s.p[i] == ':')
            return (ptrdiff_t)i;
    return -1;
}

/* Splits text into its parts; what is wrong with them, or NULL. */
static const char *split(str text, struct oci_reference *r)
{
    struct oci_digest digest;
    str name = text, first, rest;
    *r = (struct oci_reference){.text = text};
    if (text.n == 0)
        return "it is empty";
    if (text.n > TEXT_MAX)
        return "it is too long";
    if (str_cut(text, '@', &name, &r->digest) && !oci_digest_parse(r->digest, &digest))
        return "behind the '@' there is no sha256 or sha512 digest";
    ptrdiff_t colon = tag_colon(name);
    if (colon >= 0) {
        r->tag = str_from(name, (size_t)colon + 1);
        name = str_upto(name, (size_t)colon);
        if (!is_tag(r->tag))
            return "a tag has 1 to 128 letters, digits, '_', '.' or '-', and begins with a letter, a digit or '_'";
    }
    r->path = name;
    if (str_cut(name, '/', &first, &rest) && looks_like_registry(first)) {
        r->registry = first;
        r->path = rest;
    }
    return name_fault(r);
}

int oci_reference_parse(str text, struct oci_reference *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct oci_reference r;
    const char *fault = split(text, &r);
    if (fault == NULL) {
        *ret = r;
        return 0;
    }
    return err_set(err, ERR_INVALID, "%.*s is not a reference to an image: %s", STR(oci_shown(&scratch, text)), fault);
}

struct oci_reference oci_reference_normalize(struct arena *a, const struct oci_reference *ref)
{
    struct oci_reference r = *ref;
    struct buf b = {.arena = a};
    assert(ref->path.n);
    if (lacks_repo(r.registry, r.path))
        r.path = str_fmt(a, DEFAULT_REPO "/%.*s", STR(r.path));
    if (r.registry.n == 0 || str_eq(r.registry, S(LEGACY_REGISTRY)))
        r.registry = S(DEFAULT_REGISTRY);
    if (r.tag.n == 0 && r.digest.n == 0)
        r.tag = S(DEFAULT_TAG);
    buf_fmt(&b, "%.*s/%.*s", STR(r.registry), STR(r.path));
    if (r.tag.n)
        buf_fmt(&b, ":%.*s", STR(r.tag));
    if (r.digest.n)
        buf_fmt(&b, "@%.*s", STR(r.digest));
    r.text = buf_str(&b);
    return r;
}

bool oci_reference_same(const struct oci_reference *a, const struct oci_reference *b)
{
    struct arena scratch ARENA_SCOPE = {0};
    return str_eq(oci_reference_normalize(&scratch, a).text, oci_reference_normalize(&scratch, b).text);
}

str oci_reference_with_source(struct arena *a, str reference, str source)
{
    struct oci_reference r = {0};
    struct err ignored;
    while (source.n && source.p[0] == '/')
        source = str_from(source, 1);
    while (source.n && source.p[source.n - 1] == '/')
        source.n--;
    if (source.n == 0 || oci_reference_parse(reference, &r, &ignored) < 0 || r.registry.n)
        return reference;
    return str_fmt(a, "%.*s/%.*s", STR(source), STR(reference));
}

str oci_reference_source(struct arena *a, const struct oci_reference *ref)
{
    if (ref->registry.n == 0)
        return ref->path;
    struct oci_reference r = oci_reference_normalize(a, ref);
    return str_fmt(a, "%.*s/%.*s", STR(r.registry), STR(r.path));
}

str oci_reference_located(struct arena *a, str reference, bool is_from_store)
{
    struct oci_reference r = {0};
    struct err ignored;
    if (oci_reference_parse(reference, &r, &ignored) < 0)
        return reference;
    str registry = r.registry.n || is_from_store ? r.registry : S(DEFAULT_REGISTRY);
    struct buf b = {.arena = a};
    if (registry.n)
        buf_fmt(&b, "%.*s/", STR(registry));
    buf_add_str(&b, r.path);
    if (r.digest.n)
        buf_fmt(&b, "@%.*s", STR(r.digest));
    else if (r.tag.n)
        buf_fmt(&b, ":%.*s", STR(r.tag));
    return buf_str(&b);
}

struct oci_identity oci_reference_identity(struct arena *a, const struct oci_reference *ref, str version,
                                           const struct oci_digest *digest)
{
    struct oci_identity id = {.repo = S(DEFAULT_REPO), .name = ref->path, .version = version};
    for (size_t i = ref->path.n; i-- > 0;) {
        if (ref->path.p[i] != '/')
            continue;
        id.name = str_from(ref->path, i + 1);
        id.repo = str_upto(ref->path, i);
        break;
    }
    for (size_t i = id.repo.n; i-- > 0;) {
        if (id.repo.p[i] == '/') {
            id.repo = str_from(id.repo, i + 1);
            break;
        }
    }
    if (id.version.n == 0)
        id.version = ref->tag;
    if (id.version.n == 0)
        id.version = str_upto(oci_digest_hex(a, digest), IDENTITY_DIGITS);
    return id;
}
