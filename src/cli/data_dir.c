/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data_dir.h"

#include "base/str.h"

#include <stdlib.h>

/* As XDG has it: unset, empty and relative paths do not count. */
int cli_data_dir(struct arena *a, const char **ret, struct err *err)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet */
    const char *own = getenv("REEVE_DATA_DIR"), *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    /* NOLINTEND(concurrency-mt-unsafe) */
    if (own && own[0])
        *ret = own;
    else if (xdg && xdg[0] == '/')
        *ret = str_cstr(a, str_fmt(a, "%s/reeve", xdg));
    else if (home && home[0] == '/')
        *ret = str_cstr(a, str_fmt(a, "%s/.local/share/reeve", home));
    else
        return err_set(err, ERR_INVALID, "HOME is not set: say --data-dir DIR");
    return 0;
}
