/* test_base.c : tests errors, warnings, buffers, sockets and callers. */
#include "base/buf.h"
#include "base/callers.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "base/memory.h"
#include "base/text.h"
#include "check.h"
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <iconv.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

enum { STRANGERS = 1000 };
static char text[4096];

static void hear(void (*f)(void))
{
    FILE *file = tmpfile();
    int saved = dup(2);
    fflush(stderr);
    dup2(fileno(file), 2);
    f();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
}

static void say_two(void)
{
    CHECK(ERR(-EINVAL, "cannot open ring of %d ranks: need at least 2", 1) == -EINVAL, "code");
    err_warn("slot %s", "late");
}

static void hold_three_print(void)
{
    err_hold();
    err_warn("before the error"); /* an error replaces a warning */
    say_two();
    err_release(true);
}

static void add_three(void)
{
    err_hold();
    err_warn("slow");
    err_add(", not to a warning");
    say_two();
    err_add(", for a ring%s", ": take more");
    err_release(true);
    say_two();
    err_add(", too late");
}

static void add_long(void)
{
    err_hold();
    (void)ERR(-EIO, "too much");
    for (int i = 0; i < 100; i++)
        err_add(" of %d", i);
    err_release(true);
}

static void hold_drop(void)
{
    err_hold();
    say_two();
    err_release(false);
    err_release(true);
}

static void long_line(void)
{
    char big[2000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    (void)ERR(-EIO, "%s", big);
}

static int pass_up(int rc)
{
    TRY(rc);
    return 7;
}

static void too_much(void)
{
    CHECK(!buf_alloc(SIZE_MAX - 100) && !buf_alloc(SIZE_MAX / 2), "memory that cannot be");
    CHECK(!memory_on_use(SIZE_MAX - 10) && !memory_on_use(SIZE_MAX / 2), "pages that cannot be");
}

static bool all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void test_zeroed(void)
{
    static const size_t sizes[] = {0, 1, 4097, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5000003};
    mallopt(M_MMAP_THRESHOLD, 1 << 25); /* so that malloc() returns used memory */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];
        for (int turn = 0; turn < 2; turn++) {
            uint8_t *p = memory_on_use(n);
            CHECK(p && (uintptr_t)p % 64 == 0, "%zu bytes at %p", n, (void *)p);
            CHECK(all_zero(p, n), "turn %d: %zu bytes are not all 0", turn, n);
            memset(p, 0xa5, n);
            free(p);
        }
    }
    uint8_t *p = buf_alloc(100000);
    CHECK(p, "100000 bytes");
    memset(p, 0xa5, 100000);
    memory_release(p + 1, 99998);
    CHECK(p[0] == 0xa5 && p[99999] == 0xa5 && all_zero(p + 4096, 90000), "released pages");
    free(p);
}

static void test_memory(void)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } cases[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1536, "1.5 KiB"},
                 {200 << 10, "200 KiB"},
                 {(uint64_t)1 << 40, "1.0 TiB"},
                 {UINT64_MAX, "16384 PiB"}};
    char words[MEMORY_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(!strcmp(memory_text(cases[i].bytes, words), cases[i].want), "'%s', not '%s'", words,
              cases[i].want);
    const size_t n = (size_t)64 << 20;
    const uint64_t before = memory_peak();
    char *volatile p = malloc(n); /* volatile: clang removes an unread allocation */
    if (p)
        memset(p, 1, n);
    CHECK(p && before > 0 && memory_peak() >= before + n / 2, "a peak of %llu bytes, %llu before",
          (unsigned long long)memory_peak(), (unsigned long long)before);
    CHECK(memory_available() > 0, "no memory is free");
    free(p);
}

static void long_path(void)
{
    char path[600];
    memset(path, 'd', sizeof path - 1);
    path[sizeof path - 1] = 0;
    (void)ERR(-ENOENT, "cannot open '/%s/z': the reason", path);
}

/* The middle of a long line is cut. */
static void test_long(void)
{
    hear(long_path);
    const char *cut = strstr(text, "d...d"), *end = strstr(text, "dd/z': the reason\n");
    CHECK(strlen(text) > 400 && strlen(text) < 512 && cut && end && !end[18] &&
              strstr(text, "cannot open '/dd"),
          "'%s'", text);
}

static void nothing(int signal)
{
    (void)signal;
}

/* Prints three lines to a full fd, then one after room is made. Returns the text that a reader of
 * `from` gets after the filling bytes. waits: the first line waits a second despite a signal. */
static const char *unread(int fd, int from, void (*shut)(int fd, bool shut), bool waits)
{
    static char got[1 << 16];
    const int saved = dup(2);
    size_t n = 0;
    dup2(fd, 2);
    shut(fd, true);
    const double start = clock_s();
    signal(SIGALRM, nothing);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 100000}}, NULL);
    err_warn("unread 0");
    CHECK(!waits || clock_s() - start > 0.9, "waited for %.2f s", clock_s() - start);
    signal(SIGALRM, SIG_DFL);
    alarm(100); /* ends a hanging test */
    err_warn("unread 1");
    err_warn("unread 2");
    shut(from, false);
    err_warn("read");
    dup2(saved, 2);
    close(saved);
    fcntl(from, F_SETFL, O_NONBLOCK);
    for (ssize_t more; (more = read(from, got + n, sizeof got - 1 - n)) > 0;)
        n += (size_t)more;
    got[n] = 0;
    return got;
}

static void fill(int fd, bool shut)
{
    static char bytes[1 << 16];
    const int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while ((shut ? write(fd, bytes, 1) : read(fd, bytes, sizeof bytes)) > 0)
        ;
    fcntl(fd, F_SETFL, flags);
}

static void stop_terminal(int fd, bool shut)
{
    static int terminal;
    terminal = shut ? fd : terminal;
    CHECK(tcflow(terminal, shut ? TCOOFF : TCOON) == 0, "tcflow: %s", strerror(errno));
}

static void test_unread(bool waits)
{
    static const char want[] =
        "narrowcast: warning: 3 lines are missing here, because stderr was not read";
    int ends[2];
    const char *got;
    CHECK(pipe(ends) == 0, "no pipe");
    got = unread(ends[1], ends[0], fill, waits);
    CHECK(!strncmp(got, want, sizeof want - 1) && strstr(got, "\nnarrowcast: warning: read\n"),
          "a pipe: '%s'", got);
    close(ends[0]);
    const int saved = dup(2);
    dup2(ends[1], 2);
    err_warn("to nobody"); /* no SIGPIPE */
    dup2(saved, 2);
    close(saved);
    close(ends[1]);
    err_warn("a line of this test about lines that are missing");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
    got = unread(ends[1], ends[0], fill, waits);
    CHECK(strstr(got, want) && strstr(got, "\nnarrowcast: warning: read\n"), "a socket: '%s'", got);
    close(ends[0]);
    close(ends[1]);
    ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
    if (ends[0] < 0 || grantpt(ends[0]) || unlockpt(ends[0]) ||
        (ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY)) < 0) {
        puts("skip: no terminals: one that is stopped");
        return;
    }
    got = unread(ends[1], ends[0], stop_terminal, waits);
    CHECK(strstr(got, want) && strstr(got, "warning: read\r\n"), "a terminal: '%s'", got);
    close(ends[0]);
    close(ends[1]);
}

static int n_lines(void)
{
    int n = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

static void meet_strangers(void)
{
    for (int i = 0; i < STRANGERS; i++)
        CHECK(err_stranger(-EPROTO, "stranger %d", i) == -EPROTO, "code");
}

static void test_strangers(void)
{
    const uint64_t before = err_left_out();
    unsigned n = 0;
    hear(meet_strangers);
    const int said = n_lines();
    CHECK(said >= ERR_STRANGERS && said < STRANGERS / 10, "%d lines about strangers", said);
    CHECK((uint64_t)said + err_left_out() - before == STRANGERS, "%llu were left out",
          (unsigned long long)(err_left_out() - before));
    hear(err_strangers_end);
    CHECK(sscanf(text, "narrowcast: warning: %u more lines like these were omitted\n", &n) == 1 &&
              said + (int)n == STRANGERS,
          "'%s' after %d lines", text, said);
    hear(err_strangers_end);
    CHECK(!text[0], "said twice: '%s'", text);
}

/* A full queue no longer answers: the deadline must hold. */
static void test_full_queue(uint16_t port)
{
    int fd[9] = {0}, n = 0;
    double took = 0;
    do {
        struct deadline d = deadline_in(clock_s(), 0.3);
        const double start = clock_s();
        fd[n] = inet_connect(INADDR_LOOPBACK, port, &d);
        took = clock_s() - start;
    } while (fd[n] >= 0 && ++n < 8);
    CHECK(n > 0 && n < 8 && fd[n] == -ETIMEDOUT && took >= 0.3, "%d: %d after %g s", n, fd[n],
          took);
    while (n > 0)
        close(fd[--n]);
}

static void test_inet_tcp(void)
{
    struct deadline d = deadline_in(clock_s(), 10);
    uint16_t port = 0, again;
    const int listener = inet_listen(INADDR_LOOPBACK, &port, 1);
    const int fd = inet_connect(INADDR_LOOPBACK, port, &d), flags = fcntl(fd, F_GETFL);
    struct pollfd p = {.fd = listener, .events = POLLIN};
    char byte = 0;
    CHECK(listener >= 0 && port > 0 && fd >= 0, "%d at %d: %d", listener, port, fd);
    CHECK(flags & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC, "flags");
    CHECK(fcntl(listener, F_GETFL) & O_NONBLOCK && fcntl(listener, F_GETFD) & FD_CLOEXEC, "flags");
    CHECK(poll(&p, 1, 10000) == 1, "nobody comes");
    const int other = accept(listener, NULL, NULL);
    CHECK(sock_send(fd, "x", 1) == 0 && sock_recv(other, &byte, 1) == 0 && byte == 'x', "a byte");
    again = port;
    CHECK(inet_listen(INADDR_LOOPBACK, &again, 1) == -EADDRINUSE && again == port,
          "one port twice");
    test_full_queue(port);
    close(other); /* from this side, so that the port stays in TIME_WAIT */
    close(fd);
    close(listener);
    CHECK(inet_connect(INADDR_LOOPBACK, port, &d) == -ECONNREFUSED, "nobody listens");
    const int anew = inet_listen(INADDR_LOOPBACK, &again, 1);
    CHECK(anew >= 0 && again == port, "the port of one that has ended: %d", anew);
    close(anew);
    again = 0;
    CHECK(inet_listen(0x01010101, &again, 1) == -EADDRNOTAVAIL && again == 0,
          "an address of another machine");
}

static struct callers callers;
static uint16_t callers_port;
static const char own_word[8] = "it's me";

static int call(size_t bytes)
{
    struct deadline d = deadline_in(clock_s(), 10);
    const int fd = inet_connect(INADDR_LOOPBACK, callers_port, &d);
    CHECK(fd >= 0 && send(fd, own_word, bytes, MSG_NOSIGNAL) == (ssize_t)bytes, "cannot call: %s",
          strerror(errno));
    return fd;
}

/* A genuine caller connects after n others that have each sent `bytes` bytes. It must be found at
 * `later`. */
static void one_of_many(int n, size_t bytes, double later)
{
    int others[CALLERS_MAX];
    char said[sizeof own_word] = "";
    callers_init(&callers, callers.listener, sizeof own_word);
    for (int i = 0; i < n; i++)
        others[i] = call(bytes);
    CHECK(callers_turn(&callers, 0, said) < 0 && callers.n == n, "%d callers wait", callers.n);
    const int own = call(sizeof own_word);
    CHECK(later <= 0 || callers_turn(&callers, 0.9 * later, said) < 0,
          "found before there is room");
    const int fd = callers_turn(&callers, later, said);
    CHECK(fd >= 0 && !memcmp(said, own_word, sizeof said), "not heard beside %d others", n);
    CHECK(callers_turn(&callers, CALLERS_HELLO_S, said) < 0 && callers.n == 0,
          "%d silent ones stay", callers.n);
    for (int i = 0; i < n; i++)
        close(others[i]);
    close(own);
    close(fd);
}

/* A byte now and then counts as silence. */
static void one_that_dawdles(void)
{
    char said[sizeof own_word];
    const int fd = call(1);
    for (double now = 0; now < CALLERS_HELLO_S; now += CALLERS_HELLO_S / 4) {
        CHECK(callers_turn(&callers, now, said) < 0 && callers.n == 1, "hung up on at %g s", now);
        CHECK(send(fd, "x", 1, 0) == 1, "send");
    }
    CHECK(callers_turn(&callers, CALLERS_HELLO_S, said) < 0 && callers.n == 0, "it stays");
    close(fd);
}

static void test_callers(void)
{
    struct rlimit before, low;
    callers_port = 0;
    callers.listener = inet_listen(INADDR_LOOPBACK, &callers_port, CALLERS_MAX);
    CHECK(callers.listener >= 0 && callers_port > 0, "cannot listen");
    one_of_many(0, 0, 0);
    one_of_many(50, 0, 0);
    one_of_many(50, sizeof own_word - 1, 0);
    one_of_many(CALLERS_MAX, 0, CALLERS_GRACE_S);
    one_that_dawdles();
    getrlimit(RLIMIT_NOFILE, &before); /* for one accepted caller and two that call */
    low = before;
    low.rlim_cur = (rlim_t)callers.listener + 1 + 3;
    setrlimit(RLIMIT_NOFILE, &low);
    one_of_many(1, 0, CALLERS_GRACE_S);
    setrlimit(RLIMIT_NOFILE, &before);
    close(callers.listener);
}

/* Compares texts of one to four of these bytes with the C library. */
static void test_characters(void)
{
    static const unsigned char bytes[] = {0x01, 0x1b, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                          0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
                                          0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xf8, 0xff};
    enum { N = sizeof bytes, ALL = N * N * N * N };
    iconv_t to = iconv_open("UTF-32LE", "UTF-8");
    CHECK(to != (iconv_t)-1, "no iconv");
    for (int i = 0; i < ALL; i++) {
        const char at[] = {(char)bytes[i % N], (char)bytes[i / N % N], (char)bytes[i / N / N % N],
                           (char)bytes[i / N / N / N], 0};
        unsigned code = 0, want = 0;
        char *from = (char *)(uintptr_t)at, *into = (char *)&want;
        size_t left = 4, room = 4;
        (void)iconv(to, &from, &left, &into, &room);
        const int n = text_character(at, &code), right = room ? 0 : (int)(from - at);
        CHECK(n == right && code == want, "%02x %02x %02x %02x: %d bytes, not %d: %x, not %x",
              bytes[i % N], bytes[i / N % N], bytes[i / N / N % N], bytes[i / N / N / N], n, right,
              code, want);
    }
    iconv_close(to);
}

static void say_odd(void)
{
    err_hold();
    (void)ERR(-EINVAL, "odd '%s'", "a\nb\x1b[2J\xc2\x9b\xff\xc3\xa9");
    err_add(", %s", "\r\x7f");
    err_release(true);
    err_warn("%s", "\t");
    err_news("%s", "\b");
}

int main(void)
{
    test_characters();
    hear(say_odd);
    CHECK(!strcmp(text, "narrowcast: odd 'a?b?[2J???\xc3\xa9', ??\nnarrowcast: warning: ?\n"
                        "narrowcast: warning: ?\n"),
          "'%s'", text);
    hear(say_two);
    CHECK(!strcmp(text, "narrowcast: cannot open ring of 1 ranks: need at least 2\nnarrowcast: "
                        "warning: slot late\n"),
          "%s", text);
    hear(hold_three_print);
    CHECK(!strcmp(text, "narrowcast: cannot open ring of 1 ranks: need at least 2\n"), "held: '%s'",
          text);
    hear(add_three);
    CHECK(!strcmp(text,
                  "narrowcast: cannot open ring of 1 ranks: need at least 2, for a ring: take "
                  "more\nnarrowcast: cannot open ring of 1 ranks: need at least 2\n"
                  "narrowcast: warning: slot late\n"),
          "added: '%s'", text);
    hear(add_long);
    CHECK(strchr(text, '\n') == text + strlen(text) - 1 && strstr(text, "too much of 0 of 1 "),
          "one line, cut: '%s'", text);
    hear(hold_drop);
    CHECK(!text[0], "dropped: '%s'", text);
    hear(long_line);
    CHECK(strchr(text, '\n') == text + strlen(text) - 1 && strlen(text) < 520,
          "one line, cut: '%s'", text);
    CHECK(pass_up(-EIO) == -EIO && pass_up(3) == 7, "TRY");

    for (size_t n = 0; n < 300; n += 13) {
        unsigned char *p = buf_alloc(n);
        int sum = 0;
        for (size_t i = 0; i < n; i++)
            sum |= p[i];
        CHECK(p && (uintptr_t)p % 64 == 0 && sum == 0, "%zu bytes", n);
        free(p);
    }
    hear(too_much);
    CHECK(strstr(text, "cannot allocate") && strstr(text, " bytes\n"), "'%s'", text);
    test_memory();
    test_long();
    test_zeroed();
    test_inet_tcp();
    test_callers();
    alarm(100);
    test_strangers();
    test_unread(true);
    err_never_wait();
    test_unread(false);
    DONE();
}
