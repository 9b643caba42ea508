/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP/1.1 over TLS costs the server: CPU time of a GET on a connection that is kept, and resident memory of connections
 * that are idle, and of those with an idle stream. The peer is a child process that knows OpenSSL and nothing of ours; it
 * says where one measurement ends and the next begins by asking for /mark. */
#include "net/http.h"

#include "lib/keys.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GETS = 50000, SHARED_GETS = 50000, SHARED = 64, IDLE = 5000, BODY = 1000, DAY = 86400 };

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

/* ---- The server. ---- */

struct bench {
    struct loop *loop;
    double cpu_ns, rss;
    char body[BODY];
};

static double cpu_ns(void)
{
    struct timespec t;
    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0, "clock_gettime");
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Resident bytes: the second number of statm. */
static double rss(void)
{
    char text[256];
    FILE *f = fopen("/proc/self/statm", "re");
    must(f && fgets(text, sizeof text, f), "statm");
    (void)fclose(f);
    char *end;
    (void)strtoul(text, &end, 10);
    return (double)strtoul(end, NULL, 10) * (double)sysconf(_SC_PAGESIZE);
}

static void mark(struct bench *b, str what)
{
    double cpu = cpu_ns() - b->cpu_ns, memory = rss() - b->rss;
    if (str_eq(what, S("get")))
        printf("GET over TLS, one connection: %.1f us CPU\n", cpu / GETS / 1000);
    else if (str_eq(what, S("shared")))
        printf("GET over TLS, %d connections in turn: %.1f us CPU\n", SHARED, cpu / SHARED_GETS / 1000);
    else if (str_eq(what, S("idle")))
        printf("idle TLS connection: %.1f KB resident, %.0f us CPU with handshake and one GET\n", memory / IDLE / 1024,
               cpu / IDLE / 1000);
    else if (str_eq(what, S("watch")))
        printf("TLS connection with an idle stream: %.1f KB more than an idle one\n", memory / IDLE / 1024);
    (void)fflush(stdout);
    b->rss = rss();
    b->cpu_ns = cpu_ns();
}

static enum http_fill wait_for_ever(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    (void)ctx;
    (void)x;
    (void)out;
    (void)room;
    return HTTP_WAIT;
}

static void handle(void *ctx, struct http_exchange *x)
{
    static const struct http_header headers[] = {
        {S_INIT("Content-Type"), S_INIT("application/json")},
        {S_INIT("Cache-Control"), S_INIT("no-cache, private")},
        {S_INIT("Audit-Id"), S_INIT("5f0b2d8c-0f67-4f0e-9d4e-6f2ddc0f2c11")},
    };
    struct bench *b = ctx;
    if (str_eq(x->path, S("/mark")))
        mark(b, x->query);
    if (str_eq(x->path, S("/stop")))
        loop_stop(b->loop);
    if (str_eq(x->path, S("/watch"))) {
        http_stream(x, 200, (struct http_headers){headers, 3}, (struct http_source){wait_for_ever, NULL});
        http_forget(x);
    } else {
        http_answer(x, 200, (struct http_headers){headers, 3}, (str){b->body, BODY});
    }
}

static void serve(const struct keys *ca, const struct keys *keys, int port_out)
{
    static struct bench b;
    struct err err = {0};
    struct tls_context *tls = NULL;
    struct http_server *s;
    memset(b.body, 'x', BODY);
    struct tls_server_options t = {
        .certificate_pem = keys->certificate, .key_pem = keys->key, .client_ca_pem = ca->certificate};
    must(loop_new(&b.loop, &err) == 0 && tls_server_new(&t, &tls, &err) == 0, err.msg);
    struct http_server_options o = {.host = S("127.0.0.1"), .tls = tls, .handle = handle, .ctx = &b};
    must(http_server_new(b.loop, &o, &s, &err) == 0, err.msg);
    uint16_t port = http_server_port(s);
    must(write(port_out, &port, sizeof port) == sizeof port, "write");
    loop_run(b.loop);
    http_server_free(s);
    tls_unref(tls);
    loop_free(b.loop);
}

/* ---- The peer. ---- */

static SSL *join(SSL_CTX *ctx, uint16_t port)
{
    static const int on = 1;
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0, "connect");
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    SSL *ssl = SSL_new(ctx);
    must(ssl && SSL_set_fd(ssl, fd) == 1 && SSL_connect(ssl) == 1, "handshake");
    return ssl;
}

/* Asks and reads all of the answer, or only its head, when the body is a stream. */
static void get(SSL *ssl, const char *target, bool is_stream)
{
    char text[4096];
    int n = snprintf(
        text, sizeof text,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:6443\r\nUser-Agent: kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd\r\n"
        "Accept: application/json\r\nAccept-Encoding: gzip\r\n\r\n",
        target);
    must(SSL_write(ssl, text, n) == n, "write");
    size_t got = 0, want = SIZE_MAX;
    while (got < want) {
        n = SSL_read(ssl, text + got, (int)(sizeof text - got));
        must(n > 0, "read");
        got += (size_t)n;
        char *end = memmem(text, got, "\r\n\r\n", 4);
        if (end)
            want = (size_t)(end - text) + 4 + (is_stream ? 0 : BODY);
    }
}

static void ask(uint16_t port)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    static SSL *some[SHARED], *many[IDLE];
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL *one = join(ctx, port);
    get(one, "/mark?warm", false);
    for (int i = 0; i < 1000; i++)
        get(one, "/object", false);
    get(one, "/mark?start", false);
    for (int i = 0; i < GETS; i++)
        get(one, "/object", false);
    get(one, "/mark?get", false);
    for (int i = 0; i < SHARED; i++)
        some[i] = join(ctx, port);
    get(one, "/mark?start", false);
    for (int i = 0; i < SHARED_GETS; i++)
        get(some[i % SHARED], "/object", false);
    get(one, "/mark?shared", false);
    for (int i = 0; i < IDLE; i++) {
        many[i] = join(ctx, port);
        get(many[i], "/object", false);
    }
    get(one, "/mark?idle", false);
    for (int i = 0; i < IDLE; i++)
        get(many[i], "/watch", true);
    get(one, "/mark?watch", false);
    get(one, "/stop", false);
    exit(0);
}

int main(void)
{
    struct arena a ARENA_SCOPE = {0};
    struct rlimit files;
    int port_pipe[2];
    must(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
    files.rlim_cur = files.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > IDLE + 100, "too few descriptors");
    must(pipe(port_pipe) == 0, "pipe");
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        uint16_t port;
        (void)close(port_pipe[1]);
        must(read(port_pipe[0], &port, sizeof port) == sizeof port, "read");
        ask(port);
    }
    struct keys ca = keys_make(&a, &(struct keys_options){.name = "ca", .starts_in = -DAY, .ends_in = DAY});
    struct keys keys =
        keys_make(&a, &(struct keys_options){.name = "localhost", .by = &ca, .starts_in = -DAY, .ends_in = DAY});
    serve(&ca, &keys, port_pipe[1]);
    int status = 0;
    must(waitpid(child, &status, 0) == child && status == 0, "the peer");
    return 0;
}
