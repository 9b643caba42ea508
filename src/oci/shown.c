/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/shown.h"

str oci_shown(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    buf_add_quoted(&b, str_upto(text, OCI_SHOWN_MAX));
    if (text.n > OCI_SHOWN_MAX)
        buf_add_str(&b, S("…"));
    return buf_str(&b);
}
