/* SPDX-License-Identifier: Apache-2.0 */
/* What: how keys and records lie in the files: made and read here, nowhere else. Pure.
 * Owns: nothing; what is read points into the bytes it was read from.
 * Threads: plain values.
 * Errors: ERR_IO for bytes whose checksum is wrong.
 *
 *   log    key    revision, big-endian
 *          value  ┌ head: 48 bytes ──────────────────────────────────────────┬───────────┬──────┬───────┐
 *                 │ created prior time value_sum table lengths op head_sum   │ namespace │ name │ value │
 *                 └──────────────────────────────────────────────────────────┴───────────┴──────┴───────┘
 *          The head has a checksum of its own, which covers revision, namespace and name too. So a walk that wants no
 *          values never touches the pages they are on.
 *   idx    key    table, big-endian | namespace | '/' | name        (the order of the keys of etcd)
 *          value  struct store_entry, checksum
 *   meta   "format" → a number;  "state" → struct store_state, checksum;  't' | table → count, checksum, name
 *
 * Numbers in values have the byte order of the machine, as everything in LMDB's own pages has. */
#pragma once

#include "store/store.h"

#include <lmdb.h>

/* 2: a deletion may have no value; its event then shows that of the record before it. Files of format 1 are read as well
 * and become format 2 with the first commit. */
enum { STORE_FORMAT = 2 };

/* ---- Keys. ---- */

struct store_rev_key {
    unsigned char p[8];
};

struct store_rev_key store_rev_key(rev revision);

struct store_key {
    size_t n;
    unsigned char p[4 + STORE_KEY_MAX + 1];
};

/* False when namespace and name are too long or the namespace has a slash: there can be no such object. */
bool store_key_make(struct store_key *key, uint32_t table, str namespace, str name);
/* What the keys of a table, or those of one namespace in it, begin with. */
void store_key_prefix(struct store_key *key, uint32_t table, const str *namespace);
bool store_key_has_prefix(MDB_val key, const struct store_key *prefix);
bool store_key_read(MDB_val key, uint32_t *ret_table, str *ret_namespace, str *ret_name);

/* ---- The log. ---- */

struct store_record {
    rev revision;
    enum store_op op;
    uint32_t table;
    str namespace, name;
    rev created;
    rev prior;    /* the record about this key before this one, be it of another object of the same name; 0: none */
    int64_t time; /* when it was submitted, nanoseconds since 1970 */
    str value;
    uint64_t value_sum;
};

size_t store_record_size(const struct store_record *r);
/* Fills to, which has the record's size; the value sum is computed. */
void store_record_write(const struct store_record *r, void *to);
/* Reads and checks all but the value. */
int store_record_read(rev revision, MDB_val from, struct store_record *ret, struct err *err);
int store_record_check_value(const struct store_record *r, struct err *err);

/* ---- The index. ---- */

struct store_entry {
    rev revision, created, prior; /* as in the record of this revision */
    uint32_t size;                /* of the record */
    uint32_t is_gone;             /* it was deleted; the entry stays until the deletion is compacted */
};

enum { STORE_ENTRY_SIZE = sizeof(struct store_entry) + sizeof(uint64_t) };

void store_entry_write(const struct store_entry *e, const struct store_key *key, void *to);
int store_entry_read(MDB_val key, MDB_val from, struct store_entry *ret, struct err *err);

/* ---- The rest. ---- */

struct store_state {
    rev revision;  /* the newest */
    rev compacted; /* states before this one are given up, and so are the records up to it that were replaced */
    uint64_t history_bytes; /* of records that compaction up to the newest revision would delete */
    uint64_t objects;
};

enum { STORE_STATE_SIZE = sizeof(struct store_state) + sizeof(uint64_t) };

void store_state_write(const struct store_state *state, void *to);
int store_state_read(MDB_val from, struct store_state *ret, struct err *err);

struct store_table_key {
    unsigned char p[5];
};

enum { STORE_TABLE_HEAD = 2 * sizeof(uint64_t) };

struct store_table_key store_table_key(uint32_t table);
/* Fills to: STORE_TABLE_HEAD bytes and the name. */
void store_table_write(uint64_t count, str name, void *to);
int store_table_read(MDB_val from, uint64_t *ret_count, str *ret_name, struct err *err);
