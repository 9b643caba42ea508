/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_record.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <xxhash.h>

struct head {
    uint64_t created, prior;
    int64_t time;
    uint64_t value_sum;
    uint32_t table;
    uint16_t namespace_n, name_n;
    uint32_t op;
    uint32_t head_sum; /* of all the others, the revision and the names */
};

static_assert(sizeof(struct head) == 48, "no padding: the bytes are hashed");
static_assert(sizeof(struct store_entry) == 32, "no padding: the bytes are hashed");
static_assert(sizeof(struct store_state) == 32, "no padding: the bytes are hashed");
static_assert(4 + STORE_KEY_MAX + 1 <= 511, "LMDB takes no longer keys");

/* memcpy, but the source of nothing may be NULL. */
static char *put(char *to, const void *p, size_t n)
{
    if (n)
        memcpy(to, p, n);
    return to + n;
}

struct store_rev_key store_rev_key(rev revision)
{
    struct store_rev_key key;
    uint64_t big = htobe64(revision);
    memcpy(key.p, &big, sizeof key.p);
    return key;
}

void store_key_prefix(struct store_key *key, uint32_t table, const str *namespace)
{
    uint32_t big = htobe32(table);
    char *at = put((char *)key->p, &big, sizeof big);
    if (namespace) {
        assert(namespace->n <= STORE_KEY_MAX);
        at = put(at, namespace->p, namespace->n);
        at = put(at, "/", 1);
    }
    key->n = (size_t)(at - (char *)key->p);
}

bool store_key_make(struct store_key *key, uint32_t table, str namespace, str name)
{
    if (namespace.n > STORE_KEY_MAX || name.n > STORE_KEY_MAX - namespace.n || str_find_char(namespace, '/') >= 0)
        return false;
    store_key_prefix(key, table, &namespace);
    put((char *)key->p + key->n, name.p, name.n);
    key->n += name.n;
    return true;
}

bool store_key_has_prefix(MDB_val key, const struct store_key *prefix)
{
    return key.mv_size >= prefix->n && memcmp(key.mv_data, prefix->p, prefix->n) == 0;
}

bool store_key_read(MDB_val key, uint32_t *ret_table, str *ret_namespace, str *ret_name)
{
    uint32_t big;
    if (key.mv_size < sizeof big)
        return false;
    memcpy(&big, key.mv_data, sizeof big);
    *ret_table = be32toh(big);
    str rest = {(const char *)key.mv_data + sizeof big, key.mv_size - sizeof big};
    return str_cut(rest, '/', ret_namespace, ret_name);
}

static uint32_t head_sum(const struct head *h, rev revision, const char *names)
{
    struct head bare = *h;
    bare.head_sum = 0;
    uint64_t sum = XXH3_64bits_withSeed(&bare, sizeof bare, revision);
    return (uint32_t)XXH3_64bits_withSeed(names, (size_t)h->namespace_n + h->name_n, sum);
}

size_t store_record_size(const struct store_record *r)
{
    return sizeof(struct head) + r->namespace.n + r->name.n + r->value.n;
}

void store_record_write(const struct store_record *r, void *to)
{
    struct head h = {
        .created = r->created,
        .prior = r->prior,
        .time = r->time,
        .table = r->table,
        .namespace_n = (uint16_t)r->namespace.n,
        .name_n = (uint16_t)r->name.n,
        .op = r->op,
    };
    char *names = (char *)to + sizeof h;
    char *value = put(put(names, r->namespace.p, r->namespace.n), r->name.p, r->name.n);
    put(value, r->value.p, r->value.n);
    h.value_sum = XXH3_64bits(value, r->value.n);
    h.head_sum = head_sum(&h, r->revision, names);
    memcpy(to, &h, sizeof h);
}

int store_record_read(rev revision, MDB_val from, struct store_record *ret, struct err *err)
{
    struct head h;
    if (from.mv_size >= sizeof h) {
        memcpy(&h, from.mv_data, sizeof h);
        const char *names = (const char *)from.mv_data + sizeof h;
        size_t names_n = (size_t)h.namespace_n + h.name_n;
        if (names_n <= from.mv_size - sizeof h && h.head_sum == head_sum(&h, revision, names)) {
            *ret = (struct store_record){
                .revision = revision,
                .op = (enum store_op)h.op,
                .table = h.table,
                .namespace = {names, h.namespace_n},
                .name = {names + h.namespace_n, h.name_n},
                .created = h.created,
                .prior = h.prior,
                .time = h.time,
                .value = {names + names_n, from.mv_size - sizeof h - names_n},
                .value_sum = h.value_sum,
            };
            return 0;
        }
    }
    return err_set(err, ERR_IO, "the record of revision %" PRIu64 " is damaged: wrong checksum", revision);
}

int store_record_check_value(const struct store_record *r, struct err *err)
{
    if (XXH3_64bits(r->value.p, r->value.n) == r->value_sum)
        return 0;
    return err_set(err, ERR_IO, "the value of revision %" PRIu64 " (%.*s/%.*s) is damaged: wrong checksum", r->revision,
                   STR(r->namespace), STR(r->name));
}

/* Small fixed records: the struct, then the hash of it, seeded with a hash of what it belongs to. */
static void write_summed(const void *p, size_t n, uint64_t seed, void *to)
{
    uint64_t sum = XXH3_64bits_withSeed(p, n, seed);
    put(put(to, p, n), &sum, sizeof sum);
}

static bool read_summed(MDB_val from, uint64_t seed, void *p, size_t n)
{
    uint64_t sum;
    if (from.mv_size != n + sizeof sum)
        return false;
    memcpy(p, from.mv_data, n);
    memcpy(&sum, (const char *)from.mv_data + n, sizeof sum);
    return sum == XXH3_64bits_withSeed(p, n, seed);
}

void store_entry_write(const struct store_entry *e, const struct store_key *key, void *to)
{
    write_summed(e, sizeof *e, XXH3_64bits(key->p, key->n), to);
}

int store_entry_read(MDB_val key, MDB_val from, struct store_entry *ret, struct err *err)
{
    if (read_summed(from, XXH3_64bits(key.mv_data, key.mv_size), ret, sizeof *ret))
        return 0;
    uint32_t table = 0;
    str namespace = {0}, name = {0};
    store_key_read(key, &table, &namespace, &name);
    return err_set(err, ERR_IO, "the index entry of %.*s/%.*s is damaged: wrong checksum", STR(namespace), STR(name));
}

void store_state_write(const struct store_state *state, void *to)
{
    write_summed(state, sizeof *state, 0, to);
}

int store_state_read(MDB_val from, struct store_state *ret, struct err *err)
{
    if (read_summed(from, 0, ret, sizeof *ret))
        return 0;
    return err_set(err, ERR_IO, "the record of the store's state is damaged: wrong checksum");
}

struct store_table_key store_table_key(uint32_t table)
{
    struct store_table_key key = {.p = {'t'}};
    uint32_t big = htobe32(table);
    memcpy(key.p + 1, &big, sizeof big);
    return key;
}

void store_table_write(uint64_t count, str name, void *to)
{
    uint64_t head[2] = {count, XXH3_64bits_withSeed(name.p, name.n, count)};
    put(put(to, head, sizeof head), name.p, name.n);
}

int store_table_read(MDB_val from, uint64_t *ret_count, str *ret_name, struct err *err)
{
    uint64_t head[2];
    if (from.mv_size >= sizeof head) {
        memcpy(head, from.mv_data, sizeof head);
        str name = {(const char *)from.mv_data + sizeof head, from.mv_size - sizeof head};
        if (head[1] == XXH3_64bits_withSeed(name.p, name.n, head[0])) {
            *ret_count = head[0];
            *ret_name = name;
            return 0;
        }
    }
    return err_set(err, ERR_IO, "the record of a table is damaged: wrong checksum");
}
