/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static void durations_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ns; /* -1: it is none */
    } cases[] = {
        {"15s", 15 * SECOND},
        {"1m30s", 90 * SECOND},
        {"500ms", 500 * MS},
        {"1h", 3600 * SECOND},
        {"1s500ms", 1500 * MS},
        {"0s", 0},
        {"", -1},
        {"15", -1},
        {"s", -1},
        {"-1s", -1},
        {"1.5s", -1},
        {"1s ", -1},
        {"1d", -1},
        {"9223372036854775807s", -1},
        {"2562047h2562047h", -1},
        {"99999999999999999999s", -1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = -1;
        bool is_one = duration_parse(str_of(cases[i].text), &ns);
        if (is_one != (cases[i].ns >= 0) || ns != cases[i].ns)
            fail_msg("\"%s\" is %lld", cases[i].text, (long long)ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
