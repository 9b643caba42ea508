/* SPDX-License-Identifier: Apache-2.0 */
/* Composition root: finds the command named on the command line and hands over to it. */
#include "agent/agent.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "manager/manager.h"
#include "up/up.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct verb {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the command's own name; returns the exit code */
};

static int run_help(int argc, char **argv);

/* By name, a line each. What each is for stands in its page of the manual. */
/* clang-format off */
static const struct verb commands[] = {
    {"agent", agent_run},
    {"approve", cli_approve},
    {"check", cli_check},
    {"clusters", cli_clusters},
    {"completion", cli_completion},
    {"help", run_help},
    {"install", cli_install},
    {"manager", manager_run},
    {"matrix", cli_matrix},
    {"package", cli_package},
    {"plan", cli_plan},
    {"tree", cli_tree},
    {"uninstall", cli_uninstall},
    {"up", up_run},
    {"version", cli_version},
    {"who-can", cli_who_can},
    {"why", cli_why},
};
/* clang-format on */

enum { COMMAND_COUNT = COUNT(commands) };

static const struct verb *command_find(const char *word)
{
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        word = "help";
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(word, commands[i].name))
            return &commands[i];
    return NULL;
}

/* Words that users of kubectl, helm and docker try, and what they mean here. */
/* clang-format off */
static const struct {
    const char *word, *command;
} synonyms[] = {
    {"access", "matrix"},
    {"add", "install"},
    {"api-resources", "kubectl api-resources"},
    {"apply", "kubectl apply"},
    {"auth", "why"},
    {"build", "package build"},
    {"can-i", "why"},
    {"cluster", "clusters"},
    {"config", "kubectl config"},
    {"create", "kubectl create"},
    {"delete", "uninstall"},
    {"describe", "kubectl describe"},
    {"diff", "plan"},
    {"dry-run", "plan"},
    {"edit", "kubectl edit"},
    {"explain", "why"},
    {"get", "kubectl get"},
    {"graph", "tree"},
    {"init", "package init"},
    {"inspect", "package inspect"},
    {"join", "clusters add"},
    {"lint", "package lint"},
    {"list", "kubectl get packageinstalls -A"},
    {"login", "docker login"},
    {"logs", "kubectl logs"},
    {"ls", "kubectl get packageinstalls -A"},
    {"permissions", "matrix"},
    {"preview", "plan"},
    {"publish", "package push"},
    {"pull", "package pull"},
    {"push", "package push"},
    {"remove", "uninstall"},
    {"rights", "matrix"},
    {"rm", "uninstall"},
    {"rollback", "install"},
    {"run", "up"},
    {"search", "package inspect"},
    {"serve", "up"},
    {"server", "up"},
    {"show", "package inspect"},
    {"start", "up"},
    {"status", "kubectl get packageinstalls -A"},
    {"template", "plan"},
    {"test", "check"},
    {"update", "install"},
    {"upgrade", "install"},
    {"validate", "check"},
    {"verify", "check"},
    {"whoami", "kubectl auth whoami"},
};
/* clang-format on */

/* A command line; NULL: nothing is near enough. */
static const char *command_meant(const char *word)
{
    const char *names[COMMAND_COUNT + 1] = {NULL};
    for (size_t i = 0; i < COUNT(synonyms); i++)
        if (!strcmp(word, synonyms[i].word))
            return synonyms[i].command;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    return flags_nearest(word, names);
}

static int command_unknown(const char *word)
{
    const char *nearest = command_meant(word);
    if (word[0] == '-') {
        fprintf(stderr, "%s: unknown flag %s: name a command first, its flags stand behind it", help_program(), word);
        nearest = NULL;
    } else {
        fprintf(stderr, "%s: unknown command \"%s\"", help_program(), word);
    }
    if (nearest)
        fprintf(stderr, ", did you mean \"%s\"?", nearest);
    fprintf(stderr, "\nRun \"%s --help\" for the list of commands.\n", help_program());
    return CLI_USAGE;
}

/* help has no page of its own. */
static int run_help(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    const struct help_page *page = help_find(word);
    if (page == NULL && command_find(word) == NULL)
        return command_unknown(word);
    help_print(page ? page : help_find(""));
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    char help[] = "help", *none[] = {help, NULL};
    char name[] = "version", client[] = "--client", *version[] = {name, client, NULL};
    if (argc < 2)
        return run_help(1, none);
    if (strcmp(argv[1], "--version") == 0)
        return cli_version(2, version);
    if (strcmp(argv[1], "__complete") == 0) /* of the scripts for shells, not of people */
        return cli_complete(argc - 1, argv + 1);
    const struct verb *command = command_find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : command_unknown(argv[1]);
}

/* Descriptors that nobody gave us must not become those of a socket or a file: what is printed would end up there. Reading is all
 * they are good for, so that writing fails. */
static void keep_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO;) {
        fd = open("/dev/null", O_RDONLY);
        if (fd > STDERR_FILENO)
            (void)close(fd);
        if (fd < 0)
            return;
    }
}

int main(int argc, char **argv)
{
    keep_standard_descriptors();
    help_set_program(argc > 0 ? argv[0] : "reeve");
    int code = help_is_completion() ? cli_complete(argc, argv) : run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno != EPIPE) /* who stopped reading knows */
        perror("reeve: write to standard output");
    return code ? code : CLI_FAILED; /* a full disk or closed pipe must not look like success */
}
