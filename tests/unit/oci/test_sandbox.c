/* SPDX-License-Identifier: Apache-2.0 */
/* Each probe is a process of its own that enters the sandbox of reeve-fetch and tries one thing. */
#include "oci/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NO_SANDBOX = 255 };

static char inside[64], outside[64]; /* directories */
static uint16_t open_port, other_port;
static pid_t tester; /* this process */

/* ---- What is tried: 0, or an errno. ---- */

static int tried(long result)
{
    return result < 0 ? errno : 0;
}

static int read_inside(void)
{
    return tried(openat(AT_FDCWD, inside, O_RDONLY | O_DIRECTORY));
}

static int read_outside(void)
{
    return tried(open("/etc/passwd", O_RDONLY));
}

static int read_own_memory(void)
{
    return tried(open("/proc/self/mem", O_RDONLY));
}

static int write_in(const char *dir)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/new", dir);
    return tried(open(path, O_WRONLY | O_CREAT, 0600));
}

static int write_inside(void)
{
    return write_in(inside);
}

static int write_outside(void)
{
    return write_in(outside);
}

static int link_inside(void)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/link", inside);
    return tried(syscall(SYS_symlinkat, "/etc/passwd", AT_FDCWD, path));
}

static int run_program(void)
{
    return tried(execl("/bin/true", "true", (char *)NULL));
}

static int make_child(void)
{
    return tried(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int make_thread(void)
{
    return tried(syscall(SYS_clone3, NULL, 0));
}

static int trace_parent(void)
{
    return tried(ptrace(PTRACE_ATTACH, tester, NULL, NULL));
}

static int signal_parent(void)
{
    return tried(kill(tester, SIGUSR1));
}

static int signal_parent_thread(void)
{
    return tried(syscall(SYS_tgkill, tester, tester, SIGUSR1));
}

static int gain_privileges(void)
{
    return tried(syscall(SYS_prctl, 1, 2, 3, 4, 5));
}

static int run_memory(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? errno : 0;
}

static int make_memory_runnable(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? -1 : tried(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int make_file_in_memory(void)
{
    return tried(syscall(SYS_memfd_create, "x", 0));
}

static int use_ring(void)
{
    return tried(syscall(SYS_io_uring_setup, 1, NULL));
}

static int socket_of(int family)
{
    return tried(socket(family, SOCK_STREAM, 0));
}

static int netlink_socket(void)
{
    return tried(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int unix_socket(void)
{
    return socket_of(AF_UNIX);
}

static int internet_socket(void)
{
    return socket_of(AF_INET);
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return tried(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to));
}

static int connect_to_open_port(void)
{
    return connect_to(open_port);
}

static int connect_to_other_port(void)
{
    return connect_to(other_port);
}

static int serve(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    return tried(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof at));
}

static int change_terminal(void)
{
    return tried(syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x"));
}

#ifdef __x86_64__
static int other_numbers(void)
{
    return tried(syscall(0x40000000 | SYS_getpid));
}
#endif

/* ---- The sandbox around it. ---- */

enum { NETWORK = 1, WRITE = 2 };

static int probe(unsigned flags, int (*attempt)(void), uint64_t memory)
{
    const char *const read[] = {inside, "/nowhere/at/all", NULL};
    const struct sandbox box = {
        .read = read,
        .write = flags & WRITE ? inside : NULL,
        .ports = &open_port,
        .n_ports = flags & NETWORK ? 1 : 0,
        .memory = memory,
        .cpu_seconds = 20,
        .file_bytes = 1 << 20,
    };
    struct err err;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (sandbox_enter(&box, &err) < 0)
            _exit(NO_SANDBOX);
        _exit(attempt());
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        return -WTERMSIG(status);
    assert_int_not_equal(WEXITSTATUS(status), NO_SANDBOX);
    return WEXITSTATUS(status);
}

static int try_it(unsigned flags, int (*attempt)(void))
{
    return probe(flags, attempt, UINT64_C(1) << 40);
}

/* ---- Tests. ---- */

static void files_are_those_that_were_named(void **state)
{
    assert_int_equal(try_it(0, read_inside), 0);
    assert_int_equal(try_it(NETWORK, read_inside), 0);
    assert_int_equal(try_it(0, read_outside), EACCES);
    assert_int_equal(try_it(NETWORK | WRITE, read_outside), EACCES);
    assert_int_equal(try_it(WRITE, read_own_memory), EACCES);
}

static void nothing_is_written_unless_that_is_the_task(void **state)
{
    assert_int_equal(try_it(0, write_inside), EACCES);
    assert_int_equal(try_it(NETWORK, write_inside), EACCES);
    assert_int_equal(try_it(0, write_outside), EACCES);
    assert_int_equal(try_it(WRITE, write_inside), 0);
    assert_int_equal(try_it(WRITE, write_outside), EACCES);
    assert_int_equal(try_it(WRITE, link_inside), -SIGSYS);
}

static void no_other_program_runs(void **state)
{
    for (unsigned flags = 0; flags <= (NETWORK | WRITE); flags++) {
        assert_int_equal(try_it(flags, run_program), -SIGSYS);
        assert_int_equal(try_it(flags, make_child), -SIGSYS);
        assert_int_equal(try_it(flags, make_thread), -SIGSYS);
        assert_int_equal(try_it(flags, run_memory), EPERM);
        assert_int_equal(try_it(flags, make_memory_runnable), EPERM);
        assert_int_equal(try_it(flags, make_file_in_memory), -SIGSYS);
    }
}

static void other_processes_are_out_of_reach(void **state)
{
    assert_int_equal(try_it(0, trace_parent), -SIGSYS);
    assert_int_equal(try_it(0, signal_parent), -SIGSYS);
    assert_int_equal(try_it(0, signal_parent_thread), EPERM);
    assert_int_equal(try_it(0, gain_privileges), -SIGSYS);
    assert_int_equal(try_it(0, use_ring), -SIGSYS);
    assert_int_equal(try_it(0, change_terminal), ENOTTY);
#ifdef __x86_64__
    assert_int_equal(try_it(0, other_numbers), -SIGSYS);
#endif
}

static void sockets_are_of_the_internet_or_none(void **state)
{
    assert_int_equal(try_it(0, internet_socket), -SIGSYS);
    assert_int_equal(try_it(WRITE, netlink_socket), -SIGSYS);
    assert_int_equal(try_it(NETWORK, internet_socket), 0);
    assert_int_equal(try_it(NETWORK, netlink_socket), EAFNOSUPPORT);
    assert_int_equal(try_it(NETWORK, unix_socket), EAFNOSUPPORT);
    assert_int_equal(try_it(NETWORK, serve), -SIGSYS);
}

static void connections_go_to_the_ports_that_were_named(void **state)
{
    assert_int_equal(try_it(NETWORK, connect_to_open_port), 0);
    assert_int_equal(try_it(NETWORK, connect_to_other_port), EACCES);
}

static int by_number(const void *x, const void *y)
{
    const int *l = x, *r = y;
    return (*l > *r) - (*l < *r);
}

/* More than the C library sorts on its stack: it asks how much memory there is. */
static int sort_much(void)
{
    static int numbers[10000];
    for (int i = 0; i < 10000; i++)
        numbers[i] = 10000 - i;
    qsort(numbers, 10000, sizeof *numbers, by_number);
    return numbers[0] == 1 ? 0 : -1;
}

static void long_lists_can_be_sorted(void **state)
{
    for (unsigned flags = 0; flags <= (NETWORK | WRITE); flags++)
        assert_int_equal(try_it(flags, sort_much), 0);
}

#ifndef BASE_ASAN
static int take_much_memory(void)
{
    void *p = mmap(NULL, 1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? errno : 0;
}

static void memory_is_limited(void **state)
{
    assert_int_equal(probe(0, take_much_memory, 512 << 20), ENOMEM);
    assert_int_equal(probe(0, take_much_memory, UINT64_C(1) << 32), 0);
}
#endif

static void descriptors_and_environment_go(void **state)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = fcntl(0, F_DUPFD, 50);
        setenv("SECRET", "x", 1); /* NOLINT(concurrency-mt-unsafe) */
        sandbox_clear();
        _exit(fd < 50 || fcntl(fd, F_GETFD) >= 0 || fcntl(3, F_GETFD) >= 0 || getenv("SECRET") ? 1 : 0); /* NOLINT */
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- The world of the probes. ---- */

static int listen_somewhere(uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 10) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0)
        return -1;
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static int servers[2];

static int set_up(void **state)
{
    (void)snprintf(inside, sizeof inside, "/tmp/reeve-sandbox-XXXXXX");
    (void)snprintf(outside, sizeof outside, "/tmp/reeve-sandbox-XXXXXX");
    tester = getpid();
    servers[0] = listen_somewhere(&open_port);
    servers[1] = listen_somewhere(&other_port);
    return mkdtemp(inside) && mkdtemp(outside) && servers[0] >= 0 && servers[1] >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/new", inside);
    (void)unlink(path);
    close(servers[0]);
    close(servers[1]);
    return rmdir(inside) || rmdir(outside); /* empty: nothing else was made */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_those_that_were_named),
        cmocka_unit_test(nothing_is_written_unless_that_is_the_task),
        cmocka_unit_test(no_other_program_runs),
        cmocka_unit_test(other_processes_are_out_of_reach),
        cmocka_unit_test(sockets_are_of_the_internet_or_none),
        cmocka_unit_test(connections_go_to_the_ports_that_were_named),
#ifndef BASE_ASAN
        cmocka_unit_test(memory_is_limited),
#endif
        cmocka_unit_test(long_lists_can_be_sorted),
        cmocka_unit_test(descriptors_and_environment_go),
    };
    return cmocka_run_group_tests_name("sandbox", tests, set_up, tear_down);
}
