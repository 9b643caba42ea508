/* SPDX-License-Identifier: Apache-2.0 */
/* A pull secret: "registry path\n", then its docker config JSON. Anybody who may write Secrets writes these. */
#include "oci/auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a ARENA_SCOPE = {0};
    struct auth auth;
    struct err err;
    str text = {(const char *)data, n}, line, registry, path;
    str_cut(text, '\n', &line, &text);
    str_cut(line, ' ', &registry, &path);
    (void)auth_find(&a, &text, 1, registry, path, &auth, &err);
    return 0;
}
