/* SPDX-License-Identifier: Apache-2.0 */
#include "object/object.h"
#include "oci/digest.h"
#include "oci/reference.h"
#include "package/load.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    MAX_PATH = 1024,
    MAX_VERSION = 128, /* as a tag */
};

/* A package with what it owns. */
struct block {
    struct package package;
    struct arena arena;
    struct content *content;
    atomic_size_t refs;
};

/* ---- Format A: files of .registry/. ---- */

static const struct field_rule group_rules[] = {
    {"title", FIELD_TEXT, FIELDS_LINE, NULL, 0},         {"category", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"overviewShort", FIELD_TEXT, FIELDS_TEXT, NULL, 0}, {"overview", FIELD_TEXT, FIELDS_TEXT, NULL, 0},
    {"readme", FIELD_TEXT, FIELDS_TEXT, NULL, 0},        {"apiVersion", FIELD_IGNORED, 0, NULL, 0},
};

static const struct field_rule resource_rules[] = {
    {"id", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"title", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"titlePlural", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"category", FIELD_TEXT, FIELDS_LINE, NULL, 0},
    {"overviewShort", FIELD_TEXT, FIELDS_TEXT, NULL, 0},
    {"overview", FIELD_TEXT, FIELDS_TEXT, NULL, 0},
    {"readme", FIELD_TEXT, FIELDS_TEXT, NULL, 0},
    {"apiVersion", FIELD_IGNORED, 0, NULL, 0},
};

static void read_group(struct load *l, const struct load_document *d)
{
    struct fields_reader reader = load_fields(l, d->path, l->line);
    struct json fields = fields_read(&reader, d->json, group_rules, COUNT(group_rules));
    describe_group(&l->describe, d->path, &fields);
}

static void read_resource(struct load *l, const struct load_document *d)
{
    struct fields_reader reader = load_fields(l, d->path, l->line);
    struct json fields = fields_read(&reader, d->json, resource_rules, COUNT(resource_rules));
    describe_resource(&l->describe, d->path, &fields);
}

static void read_document(struct load *l, enum package_role role, const struct load_document *d)
{
    switch (role) {
    case PACKAGE_ROLE_STREAM:
        load_xpkg(l, d);
        break;
    case PACKAGE_ROLE_APP:
        load_app(l, d);
        break;
    case PACKAGE_ROLE_INSTALL:
        load_install(l, d);
        break;
    case PACKAGE_ROLE_GROUP:
        read_group(l, d);
        break;
    case PACKAGE_ROLE_RESOURCE:
        read_resource(l, d);
        break;
    case PACKAGE_ROLE_CRD:
        load_crd(l, d);
        break;
    case PACKAGE_ROLE_BEHAVIOR:
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: must not be there: templating packages are not supported",
                     STR(d->path));
        break;
    case PACKAGE_ROLE_RBAC:
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: must not be there: what a package may do follows from its CRDs and dependsOn",
                     STR(d->path));
        break;
    case PACKAGE_ROLE_NONE:
    case PACKAGE_ROLE_UI_SCHEMA:
    case PACKAGE_ROLE_ICON:
        break;
    }
}

/* ---- Lines. ---- */

static int senseless(struct err *err, const char *what)
{
    return err_set(err, ERR_IO, "a line of the package %s", what);
}

static bool is_path_fine(struct load *l, str path)
{
    size_t depth = 0;
    for (size_t i = 0; i < path.n; i++)
        depth += path.p[i] == '/';
    if (path.n <= MAX_PATH && depth <= DESCRIBE_MAX_FOLDERS)
        return true;
    findings_add(l->findings, INVALID_PACKAGE, "%.*s: lies too deep: at most %d folders and %d bytes",
                 STR(fields_shown(l->line, path)), DESCRIBE_MAX_FOLDERS, MAX_PATH);
    return false;
}

/* What the line must have for a file of this kind; NULL if it has not. */
static const struct json *payload(const struct json *line, enum package_file kind)
{
    static const char *const names[] = {
        [PACKAGE_FILE_YAML] = "document", [PACKAGE_FILE_TEXT] = "text", [PACKAGE_FILE_BINARY] = "base64"};
    const struct json *v = json_get(line, str_of(names[kind]));
    return kind == PACKAGE_FILE_YAML || json_is_str(v) ? v : NULL;
}

/* Documents of one file follow each other. */
static size_t number_of(struct load *l, str file)
{
    if (!str_eq(l->file, file)) {
        l->file = str_dup(l->while_loading, file);
        l->n_documents = 0;
    }
    return ++l->n_documents;
}

static int read_file(struct load *l, const struct content_line *line, str path, struct err *err)
{
    enum package_file kind = package_file_kind(path);
    enum package_role role = package_file_role(path);
    if (kind == PACKAGE_FILE_NONE)
        return 0;
    const struct json *v = payload(&line->json, kind);
    if (v == NULL)
        return senseless(err, "does not say what its file holds");
    if (role == PACKAGE_ROLE_STREAM)
        l->has_xpkg = true;
    else
        l->has_registry = true;
    str file = json_get_text(&line->json, S("file")); /* where the author has it */
    file = role == PACKAGE_ROLE_STREAM && file.n ? file : path;
    if (!is_path_fine(l, path) || !is_path_fine(l, file))
        return 0;
    struct load_document d = {file, number_of(l, file), v, line->offset, line->bytes};
    if (role == PACKAGE_ROLE_ICON)
        describe_icon(&l->describe, path, json_text(v));
    else if (role == PACKAGE_ROLE_UI_SCHEMA)
        describe_ui(&l->describe, path, json_text(v));
    else
        read_document(l, role, &d);
    return 0;
}

static int read_manifest(struct load *l, const struct json *manifest, struct err *err)
{
    struct oci_digest digest;
    str text = json_get_text(manifest, S("digest"));
    if (l->package->digest.n || !oci_digest_parse(text, &digest))
        return senseless(err, "does not say which image it is of");
    l->package->digest = str_dup(l->keep, text);
    return 0;
}

static int read_line(struct load *l, const struct content_line *line, struct err *err)
{
    const struct json *manifest = json_get(&line->json, S("manifest")), *path = json_get(&line->json, S("path"));
    if (manifest || l->package->digest.n == 0)
        return read_manifest(l, manifest, err);
    if (json_is_str(path))
        return read_file(l, line, json_text(path), err);
    return json_get(&line->json, S("end")) ? 0 : senseless(err, "is none of those there can be");
}

/* ---- The whole. ---- */

static void check_format(struct load *l)
{
    struct package *p = l->package;
    p->format = l->has_xpkg && !l->has_registry ? PACKAGE_FORMAT_XPKG : PACKAGE_FORMAT_REGISTRY;
    if (l->has_xpkg && l->has_registry)
        findings_add(l->findings, INVALID_PACKAGE,
                     "the image must be either a .registry folder or a package.yaml, but has both");
    else if (l->has_xpkg)
        load_xpkg_end(l);
    else if (l->app.n == 0)
        findings_add(l->findings, INVALID_PACKAGE, "Package does not contain an app.yaml file");
}

static bool is_version(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = char_is_alnum(c);
        if (!is_alnum && c != '.' && c != '-' && c != '_' && c != '+')
            return false;
    }
    return s.n <= MAX_VERSION;
}

/* The version becomes a part of names, between colons. */
static void set_identity(struct load *l, const struct oci_reference *reference)
{
    struct package *p = l->package;
    struct oci_digest digest;
    oci_digest_parse(p->digest, &digest);
    if (!is_version(l->version)) {
        findings_add(
            l->findings, INVALID_PACKAGE,
            "%.*s: version: must be at most %d letters, digits, dots, dashes, underscores and plus signs, but is %.*s",
            STR(l->app), MAX_VERSION, STR(fields_shown(l->line, l->version)));
        l->version = (str){0};
    }
    struct oci_identity id = oci_reference_identity(l->line, reference, l->version, &digest);
    p->repo = str_dup(l->keep, id.repo);
    p->name = str_dup(l->keep, id.name);
    p->version = str_dup(l->keep, id.version);
    p->family = str_fmt(l->keep, "%.*s:%.*s", STR(id.repo), STR(id.name));
    p->source = str_dup(l->keep, oci_reference_source(l->line, reference));
}

/* Records must fit into the store, so what is least missed goes first. */
static void shorten_metadata(struct load *l)
{
    static const str order[] = {S_INIT("icons"),       S_INIT("readme"), S_INIT("overview"), S_INIT("overviewShort"),
                                S_INIT("maintainers"), S_INIT("owners"), S_INIT("keywords")};
    for (size_t i = 0; i < COUNT(order); i++) {
        struct buf b = {0};
        json_encode(&b, &l->package->metadata, 0);
        bool is_large = b.n > PACKAGE_MAX_METADATA;
        buf_done(&b);
        if (is_large && json_remove(&l->package->metadata, order[i]))
            findings_add(l->warnings, (str){0}, "%.*s: is left out: the package says more than %d bytes of itself",
                         STR(order[i]), PACKAGE_MAX_METADATA);
    }
}

static void finish_metadata(struct load *l)
{
    struct package *p = l->package;
    if (!json_is_obj(&p->metadata))
        p->metadata = json_obj();
    struct arena *a = l->while_loading;
    struct json icons = describe_icons(&l->describe), *own = json_get_mut(&p->metadata, S("icons"));
    for (size_t i = 0; own && i < icons.n; i++)
        json_push(a, own, icons.items[i]);
    if (!own && icons.n)
        json_add(a, &p->metadata, S("icons"), icons);
    json_set(a, &p->metadata, S("version"), json_str(p->version));
    json_set(a, &p->metadata, S("permissionScope"),
             json_str(p->scope == PACKAGE_CLUSTER ? S("Cluster") : S("Namespaced")));
    shorten_metadata(l);
    p->metadata = json_dup(l->keep, &p->metadata);
}

static void hash_content(struct load *l)
{
    struct package *p = l->package;
    struct buf b = {0};
    buf_fmt(&b, "%d %d\n", p->format, p->scope);
    for (size_t i = 0; i < p->n_crds; i++)
        buf_fmt(&b, "%.*s %.*s\n", STR(p->crds[i].info.name), STR(p->crds[i].hash));
    for (size_t i = 0; i < p->n_dependencies; i++)
        buf_fmt(&b, "%.*s\n", STR(p->dependencies[i].text));
    for (size_t i = 0; i < p->n_requirements; i++)
        buf_fmt(&b, "%.*s %.*s\n", STR(p->requirements[i].package), STR(p->requirements[i].constraint));
    json_encode(&b, &p->deployment, JSON_SORTED);
    struct oci_digest digest = oci_digest_of(OCI_SHA256, buf_str(&b));
    p->content = oci_digest_hex(l->keep, &digest);
    buf_done(&b);
}

bool package_is_same(const struct package *p, const struct package *q)
{
    return str_eq(p->digest, q->digest) && str_eq(p->version, q->version) && str_eq(p->content, q->content);
}

static void conclude(struct load *l, const struct oci_reference *reference)
{
    check_format(l);
    l->package->path = str_dup(l->keep, l->has_xpkg ? l->meta : l->app);
    load_crds_end(l);
    set_identity(l, reference);
    finish_metadata(l);
    l->package->dependencies = l->dependencies.p;
    l->package->n_dependencies = l->dependencies.n;
    l->package->requirements = l->requirements.p;
    l->package->n_requirements = l->requirements.n;
    hash_content(l);
}

/* ---- Loading. ---- */

struct package_loading {
    struct load load;
    struct block *block;
    struct arena line, while_loading;
    struct oci_reference reference;
};

static struct block *make_block(void)
{
    struct block *b = xcalloc(1, sizeof *b);
    atomic_init(&b->refs, 1);
    b->package.findings.arena = &b->arena;
    b->package.warnings.arena = &b->arena;
    return b;
}

int package_loading_new(str reference, struct package_loading **ret, struct err *err)
{
    struct package_loading *g = xcalloc(1, sizeof *g);
    int code = oci_reference_parse(str_dup(&g->while_loading, reference), &g->reference, err);
    if (code < 0) {
        arena_done(&g->while_loading);
        free(g);
        return code;
    }
    struct block *b = g->block = make_block();
    g->load = (struct load){
        .package = &b->package,
        .keep = &b->arena,
        .while_loading = &g->while_loading,
        .line = &g->line,
        .findings = &b->package.findings,
        .warnings = &b->package.warnings,
    };
    describe_init(&g->load.describe, &b->arena, &g->while_loading, g->load.warnings);
    *ret = g;
    return 0;
}

void package_loading_free(struct package_loading *g)
{
    if (!g)
        return;
    describe_done(&g->load.describe);
    package_unref(g->block ? &g->block->package : NULL);
    arena_done(&g->line);
    arena_done(&g->while_loading);
    free(g);
}

int package_loading_take(struct package_loading *g, const struct content_line *line, struct err *err)
{
    int code = read_line(&g->load, line, err);
    arena_reset(&g->line);
    return code;
}

int package_loading_end(struct package_loading *g, struct content *content, struct package **ret, struct err *err)
{
    struct block *b = g->block;
    int code = 0;
    b->content = content;
    if (b->package.digest.n == 0) {
        code = err_set(err, ERR_IO, "the package has no manifest");
    } else {
        conclude(&g->load, &g->reference);
        *ret = &b->package;
        g->block = NULL; /* the caller's now */
    }
    package_loading_free(g);
    return code;
}

int package_load(struct content *content, str reference, struct package **ret, struct err *err)
{
    struct package_loading *g = NULL;
    struct content_line line;
    int more = 1, code = package_loading_new(reference, &g, err);
    while (code == 0 && (more = content_next(content, &g->line, &line, err)) > 0)
        code = package_loading_take(g, &line, err);
    code = code == 0 && more < 0 ? more : code;
    if (code == 0)
        return package_loading_end(g, content, ret, err);
    package_loading_free(g);
    content_close(content);
    return code;
}

/* ---- Afterwards. ---- */

static struct block *block_of(const struct package *p)
{
    return (struct block *)(uintptr_t)p; /* its first member; counting is no change of the package */
}

struct package *package_ref(const struct package *p)
{
    atomic_fetch_add_explicit(&block_of(p)->refs, 1, memory_order_relaxed);
    return &block_of(p)->package;
}

void package_unref(const struct package *p)
{
    if (!p || atomic_fetch_sub_explicit(&block_of(p)->refs, 1, memory_order_acq_rel) > 1)
        return;
    struct block *b = block_of(p);
    content_close(b->content);
    arena_done(&b->arena);
    free(b);
}

int package_crd_body(const struct package *p, const struct package_crd *crd, struct arena *a, struct json *ret,
                     struct err *err)
{
    struct json document;
    int code = content_document(block_of(p)->content, a, crd->offset, &document, err);
    if (code < 0)
        return err_wrap(err, "CRD %.*s", STR(crd->info.name));
    if (!crd_read(a, &document, ret) || !str_eq(load_crd_hash(a, ret), crd->hash))
        return err_set(err, ERR_IO, "CRD %.*s: is not what it was when the package was read", STR(crd->info.name));
    return 0;
}

static int compare_name(const void *name, const void *crd)
{
    return str_cmp(*(const str *)name, ((const struct package_crd *)crd)->info.name);
}

const struct package_crd *package_find_crd(const struct package *p, str name)
{
    return p->n_crds ? bsearch(&name, p->crds, p->n_crds, sizeof *p->crds, compare_name) : NULL;
}

/* The CRDs of a package: each is checked and hashed where it lies, and only what the plan needs of it stays. */

enum { HASH_DIGITS = 32 };

/* What is wrong with a document, told with its file; definitions without a name are hard to find even then. */
static void tell(struct findings *to, const struct load_document *d, const struct findings *from)
{
    bool has_name = object_name(d->json).n > 0;
    vec_each(&from->list, f)
    {
        if (has_name)
            findings_add(to, f->reason, "%.*s: %.*s", STR(d->path), STR(f->message));
        else
            findings_add(to, f->reason, "%.*s: document %zu: %.*s", STR(d->path), d->number, STR(f->message));
    }
    to->more += from->more;
}

str load_crd_hash(struct arena *a, const struct json *crd)
{
    struct buf text = {0};
    json_encode(&text, crd, JSON_SORTED);
    struct oci_digest digest = oci_digest_of(OCI_SHA256, buf_str(&text));
    buf_done(&text);
    return str_upto(oci_digest_hex(a, &digest), HASH_DIGITS);
}

static size_t annotations_size(const struct json *crd)
{
    size_t n = 0;
    const struct json *annotations = object_annotations(crd);
    json_each_member(annotations, m) n += m->key_n + json_text(&m->val).n;
    return n;
}

void load_crd(struct load *l, const struct load_document *d)
{
    struct findings findings = {.arena = l->line}, warnings = {.arena = l->line};
    struct crd_checked checked;
    if (l->crds.n == PACKAGE_MAX_CRDS) {
        if (!l->has_too_many_crds)
            findings_add(l->findings, INVALID_PACKAGE, "%.*s: a package must not have more than %d CRDs", STR(d->path),
                         PACKAGE_MAX_CRDS);
        l->has_too_many_crds = true;
        return;
    }
    bool ok = crd_check(l->line, d->json, &checked, &findings, &warnings);
    tell(l->findings, d, &findings);
    tell(l->warnings, d, &warnings);
    if (!ok)
        return;
    *vec_push(l->while_loading, &l->crds) = (struct load_crd){
        .crd = {.info = crd_info_dup(l->keep, &checked.info),
                .offset = d->offset,
                .hash = str_dup(l->keep, load_crd_hash(l->line, &checked.crd))},
        .path = str_dup(l->while_loading, d->path),
        .own = annotations_size(&checked.crd),
    };
}

static int by_name(const void *l, const void *r)
{
    const struct load_crd *a = l, *b = r;
    int order = str_cmp(a->crd.info.name, b->crd.info.name);
    if (order == 0)
        order = str_cmp(a->path, b->path);
    return order ? order : (a->crd.offset > b->crd.offset) - (a->crd.offset < b->crd.offset);
}

static void check_scope(struct load *l, const struct load_crd *c)
{
    if (l->package->scope == PACKAGE_NAMESPACED && !c->crd.info.is_namespaced)
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: CRD %.*s: must be of namespace scope: the package's permissionScope is Namespaced",
                     STR(c->path), STR(c->crd.info.name));
}

void load_crds_end(struct load *l)
{
    if (l->crds.n == 0)
        return;
    qsort(l->crds.p, l->crds.n, sizeof *l->crds.p, by_name);
    struct package_crd *crds = ARENA_ARRAY(l->keep, struct package_crd, l->crds.n);
    size_t n = 0;
    vec_each(&l->crds, c)
    {
        if (n && str_eq(crds[n - 1].info.name, c->crd.info.name)) {
            findings_add(l->findings, INVALID_PACKAGE, "%.*s: CRD %.*s: is there twice, also in %.*s", STR(c->path),
                         STR(c->crd.info.name), STR((c - 1)->path));
            continue;
        }
        check_scope(l, c);
        c->crd.path = str_dup(l->keep, c->path);
        c->crd.annotations = describe_crd(&l->describe, c->path, c->crd.info.kind, c->own);
        crds[n++] = c->crd;
    }
    l->package->crds = crds;
    l->package->n_crds = n;
}
