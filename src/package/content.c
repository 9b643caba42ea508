/* SPDX-License-Identifier: Apache-2.0 */
#include "package/content.h"

#include "oci/fetch.h"

#include <pthread.h>
#include <stdlib.h>

struct content {
    struct fetch_entry *entry; /* NULL: text */
    pthread_mutex_t lock;      /* an entry is read by one thread at a time */
    str text;
    uint64_t at;
};

static struct content *make(void)
{
    struct content *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

struct content *content_of_entry(struct fetch_entry *entry)
{
    struct content *c = make();
    c->entry = entry;
    return c;
}

struct content *content_of_text(str lines)
{
    struct content *c = make();
    c->text = lines;
    return c;
}

void content_close(struct content *c)
{
    if (!c)
        return;
    fetch_entry_close(c->entry);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static str line_at(const struct content *c, uint64_t offset)
{
    str rest = str_from(c->text, offset), line;
    return str_cut(rest, '\n', &line, &rest) ? line : rest;
}

static int next_of_text(struct content *c, str *ret, uint64_t *ret_offset)
{
    if (c->at >= c->text.n)
        return 0;
    *ret_offset = c->at;
    *ret = line_at(c, c->at);
    c->at += ret->n + 1;
    return 1;
}

static int decode(struct arena *a, str line, struct json *ret, struct err *err)
{
    static const struct json_limits limits = {.bytes = FETCH_MAX_LINE};
    if (json_decode(a, line, &limits, NULL, ret, err) < 0 || !json_is_obj(ret))
        return err_set(err, ERR_IO, "a line of the package makes no sense");
    return 0;
}

int content_next(struct content *c, struct arena *a, struct content_line *ret, struct err *err)
{
    str line;
    int code =
        c->entry ? fetch_entry_next(c->entry, a, &line, &ret->offset, err) : next_of_text(c, &line, &ret->offset);
    if (code <= 0)
        return code;
    code = decode(a, line, &ret->json, err);
    return code < 0 ? code : 1;
}

int content_document(struct content *c, struct arena *a, uint64_t offset, struct json *ret, struct err *err)
{
    str line = {0};
    int code = 0;
    if (c->entry) {
        pthread_mutex_lock(&c->lock);
        code = fetch_entry_read(c->entry, a, offset, &line, err);
        pthread_mutex_unlock(&c->lock);
    } else {
        line = line_at(c, offset);
    }
    struct json whole;
    if (code < 0 || (code = decode(a, line, &whole, err)) < 0)
        return code;
    const struct json *document = json_get(&whole, S("document"));
    if (!document)
        return err_set(err, ERR_IO, "a line of the package has no document");
    *ret = *document;
    return 0;
}
