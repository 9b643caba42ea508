/* SPDX-License-Identifier: Apache-2.0 */
/* reeve completion: the script of a shell. */
#include "cli/completion.h"

#include "cli/command.h"

#include <assert.h>

static int print(struct command *c, const struct flag_words *words)
{
    static const char *const shells[] = {"bash", "fish", "zsh", NULL}; /* as completion_scripts has them */
    int shell = command_verb(c, words, shells);
    if (shell < 0)
        return CLI_USAGE;
    if (words->n > 1)
        return command_misused(c, "unknown argument \"%s\"", words->p[1]);
    assert((size_t)shell < completion_scripts_n);
    output_text(completion_scripts[shell]);
    return CLI_OK;
}

int cli_completion(int argc, char **argv)
{
    struct command c = {.name = "completion"};
    struct flag_words words;
    int code = command_start(&c, NULL, 0, argc, argv, &words);
    return command_end(&c, c.is_over ? code : print(&c, &words));
}
