/* SPDX-License-Identifier: Apache-2.0 */
/* reeve package: for those who write packages. */
#include "cli/package.h"

#include "cli/help.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"build", package_build},     {"init", package_init}, {"inspect", package_inspect},
    {"lint", package_lint_files}, {"pull", package_pull}, {"push", package_push},
};

enum { VERBS = COUNT(verbs) };

static int unknown(struct command *c, const char *word)
{
    const char *list[VERBS + 1] = {0};
    for (size_t i = 0; i < VERBS; i++)
        list[i] = verbs[i].name;
    const char *nearest = flags_nearest(word, list);
    if (nearest)
        return command_misused(c, "unknown command \"%s\", did you mean \"%s\"?", word, nearest);
    return command_misused(c, "unknown command \"%s\": say build, init, inspect, lint, pull or push", word);
}

int cli_package(int argc, char **argv)
{
    struct command c = {.name = "package"};
    struct flag_words words;
    for (size_t i = 0; argc > 1 && i < VERBS; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
    }
    if (argc > 1 && argv[1][0] != '-')
        return command_end(&c, unknown(&c, argv[1]));
    int code = command_start(&c, NULL, 0, argc, argv, &words);
    if (!c.is_over)
        code = command_misused(&c, "say first what to do: build, init, inspect, lint, pull or push");
    return command_end(&c, code);
}
