/* SPDX-License-Identifier: Apache-2.0 */
/* When a server wants to be asked again: never in the past, never later than in a day. */
#include "client/retry_after.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t now[] = {INT64_C(784111777) * 1000000000, 0, INT64_C(4000000000) * 1000000000};
    for (size_t i = 0; i < COUNT(now); i++) {
        int64_t wait = retry_after_parse((str){(const char *)data, size}, now[i]);
        assert(wait >= 0 && wait <= INT64_C(86400) * 1000000000 && wait % 1000000000 == 0);
    }
    return 0;
}
