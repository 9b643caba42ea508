/* SPDX-License-Identifier: Apache-2.0 */
#include "package/files.h"

struct row {
    str name;
    bool is_suffix; /* of the last part of the path; else it is that part */
    enum package_file kind;
};

/* The first that fits. */
static const struct row rows[] = {
    {S_INIT("app.yaml"), false, PACKAGE_FILE_YAML},      {S_INIT("install.yaml"), false, PACKAGE_FILE_YAML},
    {S_INIT("behavior.yaml"), false, PACKAGE_FILE_YAML}, {S_INIT("group.yaml"), false, PACKAGE_FILE_YAML},
    {S_INIT("rbac.yaml"), false, PACKAGE_FILE_YAML},     {S_INIT("ui-schema.yaml"), true, PACKAGE_FILE_TEXT},
    {S_INIT("resource.yaml"), true, PACKAGE_FILE_YAML},  {S_INIT("crd.yaml"), true, PACKAGE_FILE_YAML},
    {S_INIT("icon.svg"), true, PACKAGE_FILE_BINARY},     {S_INIT("icon.png"), true, PACKAGE_FILE_BINARY},
    {S_INIT("icon.jpg"), true, PACKAGE_FILE_BINARY},     {S_INIT("icon.jpeg"), true, PACKAGE_FILE_BINARY},
    {S_INIT("icon.gif"), true, PACKAGE_FILE_BINARY},
};

enum package_file package_file_kind(str path)
{
    if (str_eq(path, S("package.yaml")))
        return PACKAGE_FILE_YAML;
    if (!str_has_prefix(path, S(".registry/")))
        return PACKAGE_FILE_NONE;
    str base = path;
    for (size_t i = path.n; i > 0; i--) {
        if (path.p[i - 1] == '/') {
            base = str_from(path, i);
            break;
        }
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].is_suffix ? str_has_suffix(base, rows[i].name) : str_eq(base, rows[i].name))
            return rows[i].kind;
    }
    return PACKAGE_FILE_NONE;
}
