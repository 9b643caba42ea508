/* SPDX-License-Identifier: Apache-2.0 */
#include "package/files.h"

struct row {
    str name;
    bool is_suffix; /* of the last part of the path; else it is that part */
    enum package_file kind;
    enum package_role role;
};

/* The first that fits. */
static const struct row rows[] = {
    {S_INIT("app.yaml"), false, PACKAGE_FILE_YAML, PACKAGE_ROLE_APP},
    {S_INIT("install.yaml"), false, PACKAGE_FILE_YAML, PACKAGE_ROLE_INSTALL},
    {S_INIT("behavior.yaml"), false, PACKAGE_FILE_YAML, PACKAGE_ROLE_BEHAVIOR},
    {S_INIT("group.yaml"), false, PACKAGE_FILE_YAML, PACKAGE_ROLE_GROUP},
    {S_INIT("rbac.yaml"), false, PACKAGE_FILE_YAML, PACKAGE_ROLE_RBAC},
    {S_INIT("ui-schema.yaml"), true, PACKAGE_FILE_TEXT, PACKAGE_ROLE_UI_SCHEMA},
    {S_INIT("resource.yaml"), true, PACKAGE_FILE_YAML, PACKAGE_ROLE_RESOURCE},
    {S_INIT("crd.yaml"), true, PACKAGE_FILE_YAML, PACKAGE_ROLE_CRD},
    {S_INIT("icon.svg"), true, PACKAGE_FILE_BINARY, PACKAGE_ROLE_ICON},
    {S_INIT("icon.png"), true, PACKAGE_FILE_BINARY, PACKAGE_ROLE_ICON},
    {S_INIT("icon.jpg"), true, PACKAGE_FILE_BINARY, PACKAGE_ROLE_ICON},
    {S_INIT("icon.jpeg"), true, PACKAGE_FILE_BINARY, PACKAGE_ROLE_ICON},
    {S_INIT("icon.gif"), true, PACKAGE_FILE_BINARY, PACKAGE_ROLE_ICON},
};
static const struct row stream = {S_INIT("package.yaml"), false, PACKAGE_FILE_YAML, PACKAGE_ROLE_STREAM};

static const struct row *row_of(str path)
{
    if (str_eq(path, stream.name))
        return &stream;
    if (!str_has_prefix(path, S(".registry/")))
        return NULL;
    size_t at = path.n;
    while (path.p[at - 1] != '/')
        at--;
    str base = str_from(path, at);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].is_suffix ? str_has_suffix(base, rows[i].name) : str_eq(base, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

enum package_file package_file_kind(str path)
{
    const struct row *row = row_of(path);
    return row ? row->kind : PACKAGE_FILE_NONE;
}

enum package_role package_file_role(str path)
{
    const struct row *row = row_of(path);
    return row ? row->role : PACKAGE_ROLE_NONE;
}
