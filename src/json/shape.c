/* SPDX-License-Identifier: Apache-2.0 */
#include "json/shape.h"

/* Tables have 5 to 50 rows and names mostly differ in length or first letter, so a scan is as fast as anything. */
const struct shape_field *shape_find(const struct shape *s, str name)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *row = s->fields[i].name;
        if (name.n && row[0] == name.p[0] && strlen(row) == name.n && memcmp(row, name.p, name.n) == 0)
            return &s->fields[i];
    }
    return NULL;
}

const struct shape_field *shape_find_number(const struct shape *s, uint32_t within, uint32_t number)
{
    if (number == 0)
        return NULL;
    for (size_t i = 0; i < s->n; i++)
        if (s->fields[i].number == number && s->fields[i].within == within)
            return &s->fields[i];
    return NULL;
}

bool shape_has_within(const struct shape *s, uint32_t number)
{
    for (size_t i = 0; i < s->n; i++)
        if (number && s->fields[i].within == number)
            return true;
    return false;
}

str shape_version(const struct shape *s)
{
    str package = str_of(s->package), first, last = package;
    while (str_cut(last, '.', &first, &package))
        last = package;
    return last;
}
