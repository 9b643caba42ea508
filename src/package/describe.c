/* SPDX-License-Identifier: Apache-2.0 */
#include "package/describe.h"

#include "package/dialect.h"

#include <stdlib.h>

/* Icons by preference. */
static const struct {
    str ending, media;
} medias[] = {
    {S_INIT(".svg"), S_INIT("image/svg+xml")}, {S_INIT(".png"), S_INIT("image/png")},
    {S_INIT(".jpg"), S_INIT("image/jpeg")},    {S_INIT(".jpeg"), S_INIT("image/jpeg")},
    {S_INIT(".gif"), S_INIT("image/gif")},
};
enum {
    MEDIAS = COUNT(medias),
    MAX_UI = 64, /* ui-schemas of one kind in one folder */
};

/* What one folder says of all kinds, or of one. */
struct notes {
    struct json group, resource;
    str icons[MEDIAS]; /* "data:…" */
    VEC(str) ui;
};

struct describe_folder {
    struct describe_folder *up; /* NULL: the outermost */
    struct notes of_all;
    struct map of_kind; /* kind in small letters → struct notes */
    str ui;             /* of all kinds, from the outside in */
    bool has_ui;        /* ui is known */
};

/* ---- Folders. ---- */

str describe_base(str path)
{
    size_t i = path.n;
    while (i > 0 && path.p[i - 1] != '/')
        i--;
    return str_from(path, i);
}

str describe_folder_of(str path)
{
    size_t n = path.n - describe_base(path).n;
    return str_upto(path, n ? n - 1 : 0);
}

void describe_init(struct describe *d, struct arena *keep, struct arena *scratch, struct findings *warnings)
{
    *d = (struct describe){.keep = keep, .scratch = scratch, .warnings = warnings};
}

void describe_done(struct describe *d)
{
    vec_each(&d->all, f) map_done(&(*f)->of_kind);
    map_done(&d->folders);
}

/* With all those around it. Not deep: package_load has seen to that. */
static struct describe_folder *folder_at(struct describe *d, str path)
{
    struct describe_folder *f = map_get(&d->folders, path);
    if (f)
        return f;
    f = ARENA_NEW(d->scratch, struct describe_folder);
    if (path.n)
        f->up = folder_at(d, describe_folder_of(path));
    *vec_push(d->scratch, &d->all) = f;
    map_set(&d->folders, str_dup(d->scratch, path), f);
    return f;
}

static struct notes *notes_of_kind(struct describe *d, struct describe_folder *f, str kind)
{
    str key = str_lower(d->scratch, kind);
    struct notes *n = map_get(&f->of_kind, key);
    if (!n) {
        n = ARENA_NEW(d->scratch, struct notes);
        map_set(&f->of_kind, key, n);
    }
    return n;
}

/* Files named plainly ("icon.svg") speak of all kinds, others of the kind their name begins with ("mysql.icon.svg"). */
static struct notes *notes_of_file(struct describe *d, str path)
{
    struct describe_folder *f = folder_at(d, describe_folder_of(path));
    str kind = {0}, rest = {0};
    str_cut(describe_base(path), '.', &kind, &rest);
    bool is_plain = (str_eq(kind, S("icon")) || str_eq(kind, S("ui-schema"))) && str_find_char(rest, '.') < 0;
    return is_plain ? &f->of_all : notes_of_kind(d, f, kind);
}

/* ---- What is said. ---- */

/* Whether there is room for so many bytes more. */
static bool take_room(struct describe *d, str path, const char *what, size_t bytes)
{
    if (bytes > DESCRIBE_MAX_ALL - d->bytes) {
        findings_add(d->warnings, (str){0}, "%.*s:%s is left out: descriptions come to more than %d bytes", STR(path),
                     what, DESCRIBE_MAX_ALL);
        return false;
    }
    d->bytes += bytes;
    return true;
}

/* The same for something that is shown as one text. */
static bool take_item(struct describe *d, str path, const char *what, size_t bytes)
{
    if (bytes <= DESCRIBE_MAX_ITEM)
        return take_room(d, path, what, bytes);
    findings_add(d->warnings, (str){0}, "%.*s:%s is larger than %d bytes and left out", STR(path), what,
                 DESCRIBE_MAX_ITEM);
    return false;
}

static void set_fields(struct describe *d, str path, struct json *to, const struct json *fields)
{
    size_t bytes = 0;
    json_each_member(fields, m) bytes += m->key_n + json_text(&m->val).n;
    if (json_is_null(to) && take_room(d, path, "", bytes))
        *to = json_dup(d->keep, fields);
}

void describe_group(struct describe *d, str path, const struct json *fields)
{
    set_fields(d, path, &folder_at(d, describe_folder_of(path))->of_all.group, fields);
}

void describe_resource(struct describe *d, str path, const struct json *fields)
{
    str id = json_get_text(fields, S("id"));
    if (id.n == 0) {
        findings_add(d->warnings, (str){0}, "%.*s: has no id, so it describes nothing", STR(path));
        return;
    }
    struct notes *n = notes_of_kind(d, folder_at(d, describe_folder_of(path)), id);
    set_fields(d, path, &n->resource, fields);
}

void describe_icon(struct describe *d, str path, str base64)
{
    struct notes *n = notes_of_file(d, path);
    size_t i = 0;
    while (i < MEDIAS && !str_has_suffix(path, medias[i].ending))
        i++;
    if (i == MEDIAS || base64.n == 0 || n->icons[i].n || !take_item(d, path, "", base64.n))
        return;
    n->icons[i] = str_fmt(d->keep, "data:%.*s;base64,%.*s", STR(medias[i].media), STR(base64));
}

void describe_ui(struct describe *d, str path, str text)
{
    while (text.n && (text.p[0] == '\n' || text.p[0] == '\r'))
        text = str_from(text, 1);
    while (text.n && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
        text.n--;
    struct notes *n = notes_of_file(d, path);
    if (text.n && n->ui.n < MAX_UI && take_item(d, path, "", text.n))
        *vec_push(d->scratch, &n->ui) = str_dup(d->keep, text);
}

/* ---- What that means for a CRD. ---- */

static str best_icon(const struct notes *n)
{
    for (size_t i = 0; n && i < MEDIAS; i++)
        if (n->icons[i].n)
            return n->icons[i];
    return (str){0};
}

static void add_ui(struct buf *b, const struct notes *n)
{
    for (size_t i = 0; n && i < n->ui.n; i++) {
        if (b->n)
            buf_add_str(b, S("\n---\n"));
        buf_add_str(b, n->ui.p[i]);
    }
}

static void join_ui(struct buf *b, const struct describe_folder *f, str kind)
{
    if (f->up)
        join_ui(b, f->up, kind);
    add_ui(b, &f->of_all);
    add_ui(b, map_get(&f->of_kind, kind));
}

static bool has_ui_of_kind(const struct describe_folder *f, str kind)
{
    for (; f; f = f->up) {
        const struct notes *n = map_get(&f->of_kind, kind);
        if (n && n->ui.n)
            return true;
    }
    return false;
}

static size_t ui_size(const struct describe_folder *f, str kind)
{
    size_t n = 0;
    for (; f; f = f->up) {
        const struct notes *sources[] = {&f->of_all, map_get(&f->of_kind, kind)};
        for (size_t s = 0; s < 2; s++)
            for (size_t i = 0; sources[s] && i < sources[s]->ui.n; i++)
                n += sources[s]->ui.p[i].n + sizeof "\n---\n" - 1;
    }
    return n;
}

/* One text for all CRDs of a folder that have no ui-schema of their own. */
static str ui_of(struct describe *d, struct describe_folder *f, str path, str kind)
{
    bool is_own = has_ui_of_kind(f, kind);
    if (!is_own && f->has_ui)
        return f->ui;
    struct buf b = {.arena = d->keep};
    size_t size = ui_size(f, kind);
    if (size && take_item(d, path, " ui-schema:", size)) {
        buf_grow(&b, size);
        join_ui(&b, f, kind);
    }
    if (!is_own) {
        f->ui = buf_str(&b);
        f->has_ui = true;
    }
    return buf_str(&b);
}

/* By key, which is the order they are told in. */
static const struct {
    str key, field;
    enum { OF_GROUP, OF_RESOURCE, ICON, UI } source;
} rows[] = {
    {S_INIT(ANNOTATION_PREFIX "group-category"), S_INIT("category"), OF_GROUP},
    {S_INIT(ANNOTATION_PREFIX "group-overview"), S_INIT("overview"), OF_GROUP},
    {S_INIT(ANNOTATION_PREFIX "group-overview-short"), S_INIT("overviewShort"), OF_GROUP},
    {S_INIT(ANNOTATION_PREFIX "group-readme"), S_INIT("readme"), OF_GROUP},
    {S_INIT(ANNOTATION_PREFIX "group-title"), S_INIT("title"), OF_GROUP},
    {S_INIT(ANNOTATION_PREFIX "icon-data-uri"), S_INIT(""), ICON},
    {S_INIT(ANNOTATION_PREFIX "resource-category"), S_INIT("category"), OF_RESOURCE},
    {S_INIT(ANNOTATION_PREFIX "resource-overview"), S_INIT("overview"), OF_RESOURCE},
    {S_INIT(ANNOTATION_PREFIX "resource-overview-short"), S_INIT("overviewShort"), OF_RESOURCE},
    {S_INIT(ANNOTATION_PREFIX "resource-readme"), S_INIT("readme"), OF_RESOURCE},
    {S_INIT(ANNOTATION_PREFIX "resource-title"), S_INIT("title"), OF_RESOURCE},
    {S_INIT(ANNOTATION_PREFIX "resource-title-plural"), S_INIT("titlePlural"), OF_RESOURCE},
    {S_INIT(ANNOTATION_PREFIX "ui-schema"), S_INIT(""), UI},
};
enum { ROWS = COUNT(rows) };

static size_t cost(size_t row, str value)
{
    return value.n ? rows[row].key.n + value.n : 0;
}

/* As many as there is room for: the smallest first, so that a large readme costs no titles. */
static void drop_largest(struct describe *d, str path, str values[ROWS], size_t own)
{
    size_t sum = own;
    for (size_t i = 0; i < ROWS; i++)
        sum += cost(i, values[i]);
    while (sum > DESCRIBE_MAX_ANNOTATIONS) {
        size_t largest = 0;
        for (size_t i = 1; i < ROWS; i++)
            if (values[i].n > values[largest].n)
                largest = i;
        if (values[largest].n == 0)
            return;
        findings_add(d->warnings, (str){0}, "%.*s: %.*s: is left out: annotations come to more than %d bytes",
                     STR(path), STR(rows[largest].key), DESCRIBE_MAX_ANNOTATIONS);
        sum -= cost(largest, values[largest]);
        values[largest] = (str){0};
    }
}

struct nearest {
    const struct json *group, *resource;
    str icon;
};

static struct nearest nearest_of(const struct describe_folder *f, str kind)
{
    struct nearest ret = {0};
    for (; f; f = f->up) {
        const struct notes *own = map_get(&f->of_kind, kind);
        if (!ret.group && !json_is_null(&f->of_all.group))
            ret.group = &f->of_all.group;
        if (!ret.resource && own && !json_is_null(&own->resource))
            ret.resource = &own->resource;
        if (ret.icon.n == 0)
            ret.icon = best_icon(own);
        if (ret.icon.n == 0)
            ret.icon = best_icon(&f->of_all);
    }
    return ret;
}

struct json describe_crd(struct describe *d, str path, str kind, size_t own)
{
    struct describe_folder *f = folder_at(d, describe_folder_of(path));
    kind = str_lower(d->scratch, kind);
    struct nearest nearest = nearest_of(f, kind);
    str values[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].source == ICON)
            values[i] = nearest.icon;
        else if (rows[i].source == UI)
            values[i] = ui_of(d, f, path, kind);
        else
            values[i] = json_get_text(rows[i].source == OF_GROUP ? nearest.group : nearest.resource, rows[i].field);
    }
    drop_largest(d, path, values, own);
    struct json ret = json_obj();
    for (size_t i = 0; i < ROWS; i++)
        if (values[i].n)
            json_add(d->keep, &ret, rows[i].key, json_str(values[i]));
    return ret;
}

struct json describe_icons(struct describe *d)
{
    struct json ret = json_arr();
    const struct describe_folder *f = map_get(&d->folders, S(".registry"));
    for (size_t i = 0; f && i < MEDIAS; i++) {
        str icon = f->of_all.icons[i];
        if (icon.n == 0)
            continue;
        struct json one = json_obj();
        json_add(d->keep, &one, S("mediatype"), json_str(medias[i].media));
        json_add(d->keep, &one, S("base64Data"), json_str(str_from(icon, (size_t)str_find_char(icon, ',') + 1)));
        json_push(d->keep, &ret, one);
    }
    return ret;
}
