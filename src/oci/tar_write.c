/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/tar_write.h"

#include "oci/tar_parts.h"

#include <stdio.h>

enum {
    NAME_MAX_BYTES = 100,
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_TIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
};

static const char zeros[2 * TAR_BLOCK];

static int write_header(struct oci_sink sink, str path, char type, size_t size, struct err *err)
{
    char block[TAR_BLOCK] = {0};
    unsigned sum = 0;
    memcpy(block, path.p, path.n < NAME_MAX_BYTES ? path.n : NAME_MAX_BYTES);
    snprintf(block + AT_MODE, 8, "%07o", type == '5' ? 0755U : 0644U);
    snprintf(block + AT_UID, 8, "%07o", 0U);
    snprintf(block + AT_GID, 8, "%07o", 0U);
    snprintf(block + AT_SIZE, 12, "%011llo", (unsigned long long)size & 077777777777);
    snprintf(block + AT_TIME, 12, "%011o", 0U);
    memset(block + AT_SUM, ' ', 8);
    block[AT_TYPE] = type;
    memcpy(block + AT_MAGIC, "ustar\00000", 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + AT_SUM, 7, "%06o", sum);
    return sink.take(sink.ctx, (str){block, TAR_BLOCK}, err);
}

static int write_data(struct oci_sink sink, str data, struct err *err)
{
    size_t padding = -data.n & (TAR_BLOCK - 1);
    int code = data.n ? sink.take(sink.ctx, data, err) : 0;
    return code < 0 || padding == 0 ? code : sink.take(sink.ctx, (str){zeros, padding}, err);
}

/* The length of a record counts its own digits. */
static str path_record(struct arena *a, str path)
{
    size_t body = sizeof(" path=\n") - 1 + path.n, n = body + 1;
    while (n - body < (size_t)snprintf(NULL, 0, "%zu", n))
        n++;
    return str_fmt(a, "%zu path=%.*s\n", n, STR(path));
}

int tar_write_entry(struct oci_sink sink, str path, const str *data, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int code = 0;
    if (data == NULL)
        path = str_fmt(&scratch, "%.*s/", STR(path));
    if (path.n > NAME_MAX_BYTES) {
        str record = path_record(&scratch, path);
        if ((code = write_header(sink, S("PaxHeaders/path"), 'x', record.n, err)) < 0 ||
            (code = write_data(sink, record, err)) < 0)
            return code;
    }
    code = write_header(sink, path, data ? '0' : '5', data ? data->n : 0, err);
    return code < 0 || data == NULL ? code : write_data(sink, *data, err);
}

int tar_write_end(struct oci_sink sink, struct err *err)
{
    return sink.take(sink.ctx, (str){zeros, sizeof(zeros)}, err);
}
