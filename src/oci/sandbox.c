/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/sandbox.h"

#include "base/arena.h"
#include "oci/landlock.h"
#include "oci/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Landlock. The headers may be older than the kernel that runs us, so what came later is named here. ---- */

#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_REFER (UINT64_C(1) << 13)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_IOCTL_DEV (UINT64_C(1) << 15)
#define FS_ALL_V1 ((UINT64_C(1) << 13) - 1)
/* write and remove files, make directories and files: not links, devices, sockets or pipes */
#define FS_WRITE ((UINT64_C(1) << 1) | (UINT64_C(1) << 5) | (UINT64_C(1) << 7) | (UINT64_C(1) << 8))
#define NET_BIND (UINT64_C(1) << 0)
#define NET_CONNECT (UINT64_C(1) << 1)
#define SCOPE_ALL (UINT64_C(3)) /* abstract sockets, signals */
#define RULE_NET_PORT 2

struct ruleset_attr {
    uint64_t fs, net, scoped;
};

struct net_port_attr {
    uint64_t allowed, port;
};

static int failed(struct err *err, const char *what)
{
    return err_set(err, ERR_INTERNAL, "sandbox: %s: %m", what);
}

static struct ruleset_attr handled_by(int version, size_t *ret_size)
{
    struct ruleset_attr attr = {.fs = FS_ALL_V1};
    *ret_size = sizeof attr.fs;
    if (version >= LANDLOCK_REFER)
        attr.fs |= FS_REFER;
    if (version >= LANDLOCK_TRUNCATE)
        attr.fs |= FS_TRUNCATE;
    if (version >= LANDLOCK_IOCTL)
        attr.fs |= FS_IOCTL_DEV;
    if (version >= LANDLOCK_PORTS) {
        attr.net = NET_BIND | NET_CONNECT;
        *ret_size = offsetof(struct ruleset_attr, scoped);
    }
    if (version >= LANDLOCK_SCOPES) {
        attr.scoped = SCOPE_ALL;
        *ret_size = sizeof attr;
    }
    return attr;
}

/* Rights to a path and all below it. */
static int allow_path(int rules, const char *path, uint64_t rights, bool may_lack, struct err *err)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return may_lack && (errno == ENOENT || errno == ENOTDIR) ? 0 : failed(err, path);
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= ~(FS_READ_DIR | FS_REFER);
    struct landlock_path_beneath_attr attr = {.allowed_access = rights, .parent_fd = fd};
    int code = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0 ? failed(err, path) : 0;
    close(fd);
    return code;
}

static int allow_all(int rules, const struct sandbox *s, const struct ruleset_attr *handled, struct err *err)
{
    for (const char *const *path = s->read; path && *path; path++) {
        if (allow_path(rules, *path, FS_READ_FILE | FS_READ_DIR, true, err) < 0)
            return err->code;
    }
    uint64_t rights = (FS_READ_FILE | FS_READ_DIR | FS_WRITE | FS_REFER | FS_TRUNCATE) & handled->fs;
    if (s->write && allow_path(rules, s->write, rights, false, err) < 0)
        return err->code;
    for (size_t i = 0; handled->net && i < s->n_ports; i++) {
        struct net_port_attr attr = {NET_CONNECT, s->ports[i]};
        if (syscall(SYS_landlock_add_rule, rules, RULE_NET_PORT, &attr, 0) < 0)
            return failed(err, "allow a port");
    }
    return 0;
}

static int restrict_access(const struct sandbox *s, struct err *err)
{
    size_t size;
    int version = landlock_version();
    if (version <= 0)
        return version == 0 ? 0 : failed(err, "ask for landlock");
    struct ruleset_attr handled = handled_by(version, &size);
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
    if (rules < 0)
        return failed(err, "make rules of landlock");
    int code = allow_all(rules, s, &handled, err);
    if (code == 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
        code = failed(err, "put landlock up");
    close(rules);
    return code;
}

/* ---- Limits. ---- */

static int limit(__rlimit_resource_t what, uint64_t most, struct err *err)
{
    struct rlimit now, want = {most, most};
    if (getrlimit(what, &now) < 0)
        return failed(err, "read a limit");
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < want.rlim_max)
        want.rlim_cur = want.rlim_max = now.rlim_max;
    return setrlimit(what, &want) < 0 ? failed(err, "set a limit") : 0;
}

static int set_limits(const struct sandbox *s, struct err *err)
{
    int code = 0;
#ifndef BASE_ASAN /* which maps terabytes of shadow */
    code = limit(RLIMIT_AS, s->memory, err);
#endif
    code = code < 0 ? code : limit(RLIMIT_CPU, s->cpu_seconds, err);
    code = code < 0 ? code : limit(RLIMIT_FSIZE, s->write ? s->file_bytes : 0, err);
    code = code < 0 ? code : limit(RLIMIT_NOFILE, 64, err);
    code = code < 0 ? code : limit(RLIMIT_NPROC, 0, err);
    code = code < 0 ? code : limit(RLIMIT_CORE, 0, err);
    return code;
}

void sandbox_clear(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (syscall(SYS_close_range, 3U, ~0U, 0U) < 0) {
        for (int fd = 3; fd < 65536; fd++)
            close(fd);
    }
    clearenv(); /* NOLINT(concurrency-mt-unsafe): there is one thread */
}

int sandbox_enter(const struct sandbox *s, struct err *err)
{
    const struct syscalls_use use = {.network = s->n_ports > 0, .write = s->write != NULL};
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return failed(err, "give up privileges");
    int code = restrict_access(s, err);
    code = code < 0 ? code : set_limits(s, err);
    return code < 0 ? code : syscalls_restrict(&use, err);
}
