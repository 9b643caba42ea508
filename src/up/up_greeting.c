/* SPDX-License-Identifier: Apache-2.0 */
#include "up/up_greeting.h"

#include "base/shell.h"

#include <stdlib.h>
#include <unistd.h>

static void add_path(struct buf *b, const char *path)
{
    char *absolute = realpath(path, NULL);
    shell_add_word(b, str_of(absolute ? absolute : path));
    free(absolute);
}

void greeting_format(struct buf *b, const struct greeting *g)
{
    const char *bold = g->has_colour ? "\033[1m" : "", *plain = g->has_colour ? "\033[0m" : "";
    buf_fmt(b, "%sReeve is ready%s at %.*s, with its data in ", bold, plain, STR(g->server));
    add_path(b, g->data_dir);
    buf_fmt(b, "\n\nIn another terminal:\n\n  %sexport KUBECONFIG=", bold);
    add_path(b, g->kubeconfig);
    buf_fmt(b,
            "\n"
            "  kubectl get namespaces\n"
            "  kubectl create configmap hello --from-literal=to=world\n"
            "  kubectl auth can-i --list%s\n"
            "\n"
            "Ctrl-C ends it; what was stored is there again at the next start.\n",
            plain);
}

void greeting_show(const struct greeting *g)
{
    struct greeting shown = *g;
    struct buf b = {0};
    const char *no_colour = getenv("NO_COLOR"); /* NOLINT(concurrency-mt-unsafe): nobody changes it */
    shown.has_colour = isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]);
    greeting_format(&b, &shown);
    ssize_t lost = write(STDOUT_FILENO, b.p, b.n);
    (void)lost; /* a server whose output nobody reads goes on */
    buf_done(&b);
}
