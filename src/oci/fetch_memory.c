/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_memory.h"

#include "base/arena.h"

#include <stdlib.h>

enum { ANSWERS_MAX = 10000 };

struct answer {
    str question; /* behind this struct */
    struct fetch_store_state store;
    struct oci_digest digest;
    int64_t until_ns;
};

struct fetch_store_state fetch_store_look(const char *path)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct stat st;
    if (path == NULL || stat(str_cstr(&scratch, str_fmt(&scratch, "%s/index.json", path)), &st) < 0)
        return (struct fetch_store_state){0};
    return (struct fetch_store_state){.inode = st.st_ino,
                                      .size = (uint64_t)st.st_size,
                                      .changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec};
}

static void forget_all(struct fetch_memory *m)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&m->answers, &at, &key, &value))
        free(value);
    map_done(&m->answers);
    m->answers = (struct map){0};
}

void fetch_memory_done(struct fetch_memory *m)
{
    forget_all(m);
}

bool fetch_memory_get(struct fetch_memory *m, str question, const struct fetch_store_state *store, int64_t now_ns,
                      struct oci_digest *ret)
{
    struct answer *answer = map_get(&m->answers, question);
    if (answer == NULL)
        return false;
    if (now_ns < answer->until_ns && answer->store.inode == store->inode && answer->store.size == store->size &&
        answer->store.changed_ns == store->changed_ns) {
        *ret = answer->digest;
        return true;
    }
    fetch_memory_forget(m, question);
    return false;
}

void fetch_memory_forget(struct fetch_memory *m, str question)
{
    free(map_del(&m->answers, question));
}

void fetch_memory_put(struct fetch_memory *m, str question, const struct fetch_store_state *store, int64_t now_ns,
                      const struct oci_digest *digest)
{
    if (m->answers.n >= ANSWERS_MAX)
        forget_all(m); /* they cost a question each */
    struct answer *answer = xmalloc(sizeof *answer + question.n);
    char *text = (char *)(answer + 1);
    memcpy(text, question.p, question.n);
    *answer = (struct answer){{text, question.n}, *store, *digest, now_ns + m->keep_ns};
    fetch_memory_forget(m, question); /* its key goes with it */
    map_set(&m->answers, answer->question, answer);
}
