/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol is one datagram; libsystemd would be a library more in every process for it. */
#include "up/up_notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_ready(struct err *err)
{
    const char *path = getenv("NOTIFY_SOCKET"); /* NOLINT(concurrency-mt-unsafe): nobody changes it */
    if (!path || !*path)
        return 0;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (*path != '/' && *path != '@')
        return err_set(err, ERR_INVALID, "NOTIFY_SOCKET is neither an absolute path nor an abstract name: %s", path);
    if (n >= sizeof to.sun_path)
        return err_set(err, ERR_INVALID, "NOTIFY_SOCKET is longer than names of sockets are: %s", path);
    memcpy(to.sun_path, path, n);
    if (*path == '@')
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make a socket: %m");
    static const char ready[] = "READY=1";
    ssize_t sent = sendto(fd, ready, sizeof ready - 1, MSG_NOSIGNAL, (const struct sockaddr *)&to,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    if (sent < 0)
        (void)err_set(err, ERR_IO, "cannot write to NOTIFY_SOCKET %s: %m", path);
    close(fd);
    return sent < 0 ? ERR_IO : 0;
}
