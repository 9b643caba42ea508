/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <stdio.h>

/* Set once, before anything else runs. */
static const char *program = "reeve";
static bool is_completion;

void help_set_program(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    const char *base = slash ? slash + 1 : argv0;
    if (str_has_prefix(str_of(base), S("kubectl-")))
        program = "kubectl reeve";
    is_completion = str_has_prefix(str_of(base), S("kubectl_complete-"));
}

bool help_is_completion(void)
{
    return is_completion;
}

const char *help_program(void)
{
    return program;
}

const struct help_page *help_find(const char *command)
{
    for (size_t i = 0; i < help_pages_n; i++) {
        if (strcmp(help_pages[i].command, command) == 0)
            return &help_pages[i];
    }
    return NULL;
}

/* The pages mark their own name with a byte that no text has. */
void help_print(const struct help_page *page)
{
    for (const char *at = page->text; *at; at++) {
        if (*at == HELP_PROGRAM[0])
            (void)fputs(program, stdout);
        else
            (void)putchar(*at);
    }
}
