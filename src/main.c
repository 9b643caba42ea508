/* SPDX-License-Identifier: Apache-2.0 */
/* Composition root: finds the command named on the command line and hands over to it. */
#include "agent/agent.h"
#include "cli/cli.h"
#include "manager/manager.h"
#include "up/up.h"

#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's own name; returns the exit code */
};

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);

static const struct command commands[] = {
    {"agent", "deliver a hub's grants to this cluster", agent_run},
    {"check", "say what is wrong with objects in files", cli_check},
    {"clusters", "add, list and remove the clusters of a hub", cli_clusters},
    {"help", "show this text", run_help},
    {"manager", "run controllers against any Kubernetes", manager_run},
    {"package", "build, push and pull packages", cli_package},
    {"up", "run a control plane on this machine", up_run},
    {"version", "show the version", run_version},
};

enum {
    COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]),
    WORD_MAX = 32, /* longer words are not compared with command names */
};

static int run_help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("Reeve, a permission-first control plane that speaks the Kubernetes API.\n"
         "\n"
         "Usage: reeve COMMAND [ARGUMENT]...\n"
         "       reeve --help | --version\n"
         "\n"
         "Commands:");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    return CLI_OK;
}

static int run_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("reeve " REEVE_VERSION);
    return CLI_OK;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein distance of two words of at most WORD_MAX bytes, one row of the matrix at a time. */
static size_t word_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[WORD_MAX + 1];
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

/* The command a mistyped word most likely meant, or NULL when none is near. */
static const struct command *command_nearest(const char *word)
{
    size_t len = strnlen(word, WORD_MAX + 1);
    if (len > WORD_MAX)
        return NULL;
    const struct command *nearest = NULL;
    size_t best = len / 3 + 2; /* distances below this are near: one slip in a short word, more in a long one */
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t distance = word_distance(word, len, commands[i].name, strlen(commands[i].name));
        if (distance < best) {
            best = distance;
            nearest = &commands[i];
        }
    }
    return nearest;
}

static const struct command *command_find(const char *word)
{
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        word = "help";
    else if (!strcmp(word, "--version"))
        word = "version";
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(word, commands[i].name))
            return &commands[i];
    return NULL;
}

static int command_unknown(const char *word)
{
    const struct command *nearest = command_nearest(word);
    fprintf(stderr, "reeve: unknown command \"%s\"", word);
    if (nearest)
        fprintf(stderr, ", did you mean \"%s\"?", nearest->name);
    fputs("\nRun \"reeve --help\" for the list of commands.\n", stderr);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    const struct command *command = argc > 1 ? command_find(argv[1]) : command_find("help");
    if (!command)
        return command_unknown(argv[1]);
    int code = argc > 1 ? command->run(argc - 1, argv + 1) : command->run(argc, argv);
    if (fflush(stdout) || ferror(stdout)) { /* a full disk or closed pipe must not look like success */
        perror("reeve: write to standard output");
        return code ? code : CLI_FAILED;
    }
    return code;
}
