/* narrowcast_sim.c : runs one simulated card, for one program or on a network. */
#include "base/err.h"
#include "base/file.h"
#include "base/opt/opt.h"
#include "sim/drive.h"
#include "sim/serve.h"
#include "sim/wave.h"
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct sim_options {
#define SIM_OPTION(name, metavar, fallback, help, type, c_type, field, min, max) c_type field;
#include "hls/card/sim_options.def"
#undef SIM_OPTION
};

static const struct opt opts[] = {
#define SIM_OPTION(name, metavar, fallback, help, type, c_type, field, min, max) \
    {name, metavar, fallback, help, type, offsetof(struct sim_options, field), min, max, 0},
#include "hls/card/sim_options.def"
#undef SIM_OPTION
};

static const struct opt_command command = {
    .name = "narrowcast-sim",
    .alone = true,
    .args = "",
    .about = "Simulates a card. `narrowcast sim` and other programs start it.",
    .examples = "  build/narrowcast sim --listen 127.0.0.1:4711\n"
                "  build/narrowcast reduce --on rtl --format e4m3 rank0.e4m3 rank1.e4m3 sum.e4m3\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

/* Waves are written to mapped memory: a full disk raises SIGBUS. */
static void no_room(int number)
{
    static const char line[] = "narrowcast: cannot write the waves: no space left\n";
    (void)number;
    (void)!write(STDERR_FILENO, line, sizeof line - 1);
    _exit(1);
}

int main(int argc, char **argv)
{
    struct sim_options o = {0};
    struct opt_parsed p;
    file_hold_standard();
    signal(SIGXFSZ, SIG_IGN); /* report a file that may not grow */
    signal(SIGPIPE, SIG_IGN); /* report a capture's pipe without reader */
    if (opt_parse(&command, argc - 1, argv + 1, &o, &p) < 0)
        return 1;
    if (p.help)
        return opt_help(&command, &p, stdout), file_end_standard() < 0;
    const bool rtl = !strcmp(o.engine, "rtl");
    const struct shell_ops *ops = o.shell                       ? &shell_eth
                                  : rtl                         ? &shell_rtl
                                  : !strcmp(o.engine, "narrow") ? &shell_narrow
                                                                : &shell_fast;
    const struct kernel_ops *mm = rtl ? &mm_rtl : &kernel_c;
    if (!o.tap != !o.ip || (o.mac && !o.tap))
        return ERR(1,
                   "--tap and --ip need each other, and --mac needs both: --tap nc0 --ip 10.0.0.9");
    if (o.shell && (!o.tap || !rtl))
        return ERR(1, "--shell simulates the card with its Ethernet MAC: it needs --tap and --ip, "
                      "and --engine rtl");
    if (o.control >= 0 && (!o.listen || (o.tap && !o.shell) || o.fd >= 0))
        return ERR(1, "--control needs --listen, and with --tap also --shell: --listen "
                      "127.0.0.1:4711 --control 4712");
    if (o.wave && o.pcap && file_same(o.wave, o.pcap))
        return ERR(1, "--wave and --pcap both name '%s': need two files", o.wave);
    struct sockaddr_storage peer;
    if (o.fd >= 0 && getpeername((int)o.fd, (struct sockaddr *)&peer, &(socklen_t){sizeof peer}))
        return ERR(1, "--fd %d is not a connected socket: cards for all programs need --listen",
                   (int)o.fd);
    if (o.wave)
        signal(SIGBUS, no_room);
    if (o.listen) {
        const struct serve_options so = {
            .listen = o.listen,
            .engine = o.engine,
            .wave = o.wave,
            .pcap = o.pcap,
            .tap = o.tap,
            .ip = o.ip,
            .mac = o.mac,
            .control = (int)o.control,
            .fd = (int)o.fd,
            .mm = mm,
            .rates = {o.drop, o.dup, o.reorder, (uint64_t)(o.delay * 1e3)},
            .seed = (uint64_t)o.seed};
        return serve(ops, &so) < 0 || (o.wave && wave_check(o.wave));
    }
    if (o.fd < 0)
        return ERR(
            1, "--listen is missing: give an address such as --listen 127.0.0.1:4711 (see --help)");
    if (o.pcap || o.tap || o.drop > 0 || o.dup > 0 || o.reorder > 0 || o.delay > 0)
        return ERR(1, "--pcap, --tap, --drop, --dup, --reorder and --delay apply to a network: "
                      "they need --listen");
    return drive(ops, mm, o.wave, (int)o.fd) < 0 || (o.wave && wave_check(o.wave));
}
