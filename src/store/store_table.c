/* SPDX-License-Identifier: Apache-2.0 */
/* Tables are numbers in keys and names in people's heads. A new one gets its number at once, from the loop; the file learns
 * of it in the first commit that follows, so no record ever has a number without a name. */
#include "store/store_internal.h"

#include <assert.h>

static uint32_t add(struct store_tables *t, str name)
{
    str own = intern_str(&t->names, name);
    *vec_push(&t->arena, &t->list) = own;
    map_set(&t->ids, own, (void *)(uintptr_t)t->list.n);
    return (uint32_t)t->list.n;
}

int store_tables_load(struct store_tables *t, const struct store_view *v, struct err *err)
{
    for (;;) {
        struct store_table_key key = store_table_key((uint32_t)t->list.n + 1);
        MDB_val value;
        uint64_t count;
        str name;
        int rc = store_file_get(v->txn, v->file->meta, key.p, sizeof key.p, &value);
        if (rc == MDB_NOTFOUND)
            return 0;
        if (rc)
            return store_file_error(v->file, rc, err);
        int code = store_table_read(value, &count, &name, err);
        if (code < 0)
            return code;
        add(t, name);
    }
}

void store_tables_done(struct store_tables *t)
{
    map_done(&t->ids);
    intern_done(&t->names);
    arena_done(&t->arena);
}

uint32_t store_table(struct store *s, str name)
{
    uint32_t table = (uint32_t)(uintptr_t)map_get(&s->tables.ids, name);
    if (table == 0) {
        table = add(&s->tables, name);
        store_writer_table(&s->writer, (struct store_new_table){table, s->tables.list.p[table - 1]});
    }
    return table;
}

str store_table_name(const struct store *s, uint32_t table)
{
    assert(table > 0 && table <= s->tables.list.n);
    return s->tables.list.p[table - 1];
}

uint64_t store_count(const struct store *s, uint32_t table)
{
    struct store_table_key key = store_table_key(table);
    MDB_val value;
    uint64_t count;
    str name;
    if (store_file_get(s->view.txn, s->file.meta, key.p, sizeof key.p, &value) != 0 ||
        store_table_read(value, &count, &name, NULL) < 0)
        return 0; /* nothing was written to it yet */
    return count;
}
