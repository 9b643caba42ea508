/* SPDX-License-Identifier: Apache-2.0 */
#include "bare.h"

#include <stdio.h>
#include <stdlib.h>

static void lmdb(int code)
{
    bench_must(code == 0, code ? mdb_strerror(code) : "");
}

void bare_open(struct bare *l, struct server *s)
{
    MDB_txn *txn;
    *l = (struct bare){0};
    char *dir = str_cstr(&s->arena, str_fmt(&s->arena, "%s/bare-XXXXXX", s->dir));
    bench_must(mkdtemp(dir) != NULL, "make a directory");
    lmdb(mdb_env_create(&l->env));
    lmdb(mdb_env_set_maxdbs(l->env, 2));
    lmdb(mdb_env_set_mapsize(l->env, (size_t)16 << 30));
    lmdb(mdb_env_open(l->env, dir, 0, 0600));
    lmdb(mdb_txn_begin(l->env, NULL, 0, &txn));
    lmdb(mdb_dbi_open(txn, "log", MDB_CREATE, &l->log));
    lmdb(mdb_dbi_open(txn, "index", MDB_CREATE, &l->index));
    lmdb(mdb_txn_commit(txn));
}

/* As the store has it: the value in the log, by revision, and an index from the name to it. */
double bare_write(struct bare *l, size_t n, size_t group, str value)
{
    double start = bench_now();
    for (size_t i = 0; i < n;) {
        MDB_txn *txn;
        lmdb(mdb_txn_begin(l->env, NULL, 0, &txn));
        for (size_t j = 0; j < group && i < n; j++, i++) {
            char name[64], entry[40] = {0};
            uint64_t revision = __builtin_bswap64(++l->revision);
            int len = snprintf(name, sizeof name, "configmaps/default/settings-%06zu", (size_t)l->revision);
            MDB_val k = {sizeof revision, &revision}, v = {(size_t)len + value.n, NULL};
            lmdb(mdb_put(txn, l->log, &k, &v, MDB_APPEND | MDB_RESERVE));
            memcpy(v.mv_data, name, (size_t)len);
            memcpy((char *)v.mv_data + len, value.p, value.n);
            k = (MDB_val){(size_t)len, name};
            v = (MDB_val){sizeof entry, entry};
            lmdb(mdb_put(txn, l->index, &k, &v, 0));
        }
        lmdb(mdb_txn_commit(txn));
    }
    return bench_now() - start;
}

void bare_close(struct bare *l)
{
    mdb_env_close(l->env);
}
