/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strict.h"

#include "kinds/strict_value.h"

#include <stdio.h>

static void note(struct arena *a, struct strict_notes *notes, const char *what, str path)
{
    if (!notes || notes->list.n >= STRICT_MAX_NOTES)
        return;
    struct buf b = {.arena = a};
    buf_add_str(&b, str_of(what));
    buf_add_char(&b, ' ');
    buf_add_quoted(&b, path);
    *vec_push(a, &notes->list) = buf_str(&b);
}

void strict_note_unknown(struct arena *a, struct strict_notes *notes, str path)
{
    note(a, notes, "unknown field", str_clip(a, path));
}

void strict_note_duplicate(struct arena *a, struct strict_notes *notes, str path)
{
    note(a, notes, "duplicate field", str_clip(a, path));
}

void strict_notes_format(struct buf *b, const struct strict_notes *notes)
{
    buf_add_str(b, S("strict decoding error: "));
    for (size_t i = 0; i < notes->list.n; i++) {
        if (i)
            buf_add_str(b, S(", "));
        buf_add_str(b, notes->list.p[i]);
    }
}

static void note_unknown(struct strict_walk *w, struct strict_spot at, str key)
{
    if (!w->notes || at.sealed || w->notes->list.n >= STRICT_MAX_NOTES)
        return;
    struct arena scratch ARENA_SCOPE = {0};
    struct json_path step = {at.path, key, 0};
    struct buf path = {.arena = &scratch};
    json_path_format(&path, &step);
    strict_note_unknown(w->arena, w->notes, buf_str(&path));
}

/* ---- Duplicates. ---- */

/* FNV-1a, which can go on where a shorter path ended: a path may be a megabyte long and have 100,000 members. */
static uint64_t hash_on(uint64_t hash, str text)
{
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static const uint64_t hash_of_nothing = UINT64_C(0xcbf29ce484222325);

static str hash_key(const uint64_t *hash)
{
    return (str){(const char *)hash, sizeof *hash};
}

/* The hash of the path one step further, as json_path_format writes it. */
static uint64_t hash_step(const struct strict_walk *w, struct strict_spot at, const struct json_path *step)
{
    if (w->duplicates.n == 0 || at.sealed)
        return 0;
    if (step->key.p)
        return hash_on(at.path ? hash_on(at.hash, S(".")) : at.hash, step->key);
    char index[32];
    int n = snprintf(index, sizeof index, "[%zu]", step->index);
    return hash_on(at.hash, (str){index, (size_t)n});
}

static void expect_duplicates(struct strict_walk *w, const struct json_notes *found)
{
    vec_each(&found->duplicates, path)
    {
        uint64_t *hash = ARENA_NEW(w->arena, uint64_t);
        *hash = hash_on(hash_of_nothing, *path);
        map_set(&w->duplicates, *path, w);
        map_set(&w->hashes, hash_key(hash), w);
    }
}

/* Called behind a member that has been looked through: Go notices a double when it meets it again. */
static void note_duplicate(struct strict_walk *w, struct strict_spot at, str key)
{
    struct json_path step = {at.path, key, 0};
    if (!w->notes || w->duplicates.n == 0 || at.sealed)
        return;
    uint64_t hash = hash_step(w, at, &step);
    if (!map_get(&w->hashes, hash_key(&hash)))
        return;
    struct arena scratch ARENA_SCOPE = {0};
    struct buf path = {.arena = &scratch};
    json_path_format(&path, &step);
    if (map_del(&w->duplicates, buf_str(&path)))
        strict_note_duplicate(w->arena, w->notes, buf_str(&path));
}

/* ---- The walk. ---- */

static int list(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at)
{
    if (v->type != JSON_ARR)
        return strict_wrong_whole(w, at, v, row);
    for (size_t i = 0; i < v->n; i++) {
        struct json_path step = {.up = at.path, .index = i};
        struct strict_spot inside = {at.owner, at.names, &step, at.sealed, hash_step(w, at, &step)};
        if (v->items[i].type == JSON_NULL)
            v->items[i] = strict_zero(row);
        else if (strict_value(w, row, &v->items[i], inside) < 0)
            return ERR_BAD_REQUEST;
    }
    return 0;
}

static int entries(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at)
{
    if (v->type != JSON_OBJ)
        return strict_wrong_whole(w, at, v, row);
    for (size_t i = 0; i < v->n; i++) {
        struct json_member *m = &v->members[i];
        struct json_path step = {at.path, json_key(m), 0};
        struct strict_spot inside = {at.owner, at.names, &step, at.sealed, hash_step(w, at, &step)};
        if (m->val.type == JSON_NULL)
            m->val = strict_zero(row);
        else if (strict_value(w, row, &m->val, inside) < 0)
            return ERR_BAD_REQUEST;
        note_duplicate(w, at, json_key(m));
    }
    return 0;
}

static int field(struct strict_walk *w, const struct shape *s, const struct shape_field *row, struct json *v,
                 struct strict_spot at)
{
    struct strict_names names = {at.names, row->name};
    struct json_path step = {at.path, str_of(row->name), 0};
    struct strict_spot inside = {s->name, &names, &step, at.sealed, hash_step(w, at, &step)};
    if (at.sealed) {
        inside.owner = at.owner;
        inside.names = at.names;
    }
    switch (row->card) {
    case SHAPE_LIST:
        return list(w, row, v, inside);
    case SHAPE_MAP:
        return entries(w, row, v, inside);
    default:
        return strict_value(w, row, v, inside);
    }
}

int strict_record(struct strict_walk *w, const struct shape *s, struct json *v, struct strict_spot at)
{
    if (v->type == JSON_NULL)
        return 0;
    if (v->type != JSON_OBJ) {
        struct arena scratch ARENA_SCOPE = {0};
        return strict_wrong_type(w, at, v,
                                 str_cstr(&scratch, str_fmt(&scratch, "%.*s.%s", STR(shape_version(s)), s->name)));
    }
    uint32_t kept = 0; /* members that stay move up */
    for (uint32_t i = 0; i < v->n; i++) {
        struct json_member m = v->members[i];
        const struct shape_field *row = shape_find(s, json_key(&m));
        if (!row) {
            note_unknown(w, at, json_key(&m));
            continue;
        }
        if (m.val.type != JSON_NULL && field(w, s, row, &m.val, at) < 0)
            return ERR_BAD_REQUEST;
        note_duplicate(w, at, json_key(&m));
        if (m.val.type != JSON_NULL)
            v->members[kept++] = m;
    }
    v->n = kept;
    return 0;
}

int strict_decode(struct arena *a, const struct shape *shape, struct json *obj, const struct json_notes *duplicates,
                  struct strict_notes *notes, struct err *err)
{
    struct err own = {0};
    struct strict_walk w = {.arena = a, .notes = notes, .err = err ? err : &own};
    w.err->code = ERR_NONE;
    if (duplicates && notes)
        expect_duplicates(&w, duplicates);
    int rc = strict_record(&w, shape, obj, (struct strict_spot){.hash = hash_of_nothing});
    map_done(&w.duplicates);
    map_done(&w.hashes);
    return rc < 0 ? rc : w.err->code;
}
