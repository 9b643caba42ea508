/* SPDX-License-Identifier: Apache-2.0 */
/* WWW-Authenticate of a registry. What is read of it is made of its own bytes. */
#include "oci/challenge.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a ARENA_SCOPE = {0};
    struct challenge c = {0};
    str header = {(const char *)data, n};
    challenge_add(&a, header, &c);
    if (c.bearer != (c.realm.n > 0) || c.realm.n + c.service.n + c.scope.n > n)
        abort();
    return 0;
}
