/* cmd_sim.c : runs `narrowcast sim`. */
#include "app/app.h"
#include "app/card/sim_counters.h"
#include "base/plugin.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "narrowcast-sim"

struct sim_options {
#define SIM_OPTION(name, metavar, fallback, help, type, c_type, field, min, max) c_type field;
#include "hls/card/sim_options.def"
#undef SIM_OPTION
    const char *counters;
    bool json;
};

#define AT(field) offsetof(struct sim_options, field)
static const struct opt opts[] = {
    {.name = "a simulated card on the network", .type = OPT_GROUP},
#define SIM_OPTION(name, metavar, fallback, help, type, c_type, field, min, max) \
    {name, metavar, fallback, help, type, AT(field), min, max, 0},
#include "hls/card/sim_options.def"
#undef SIM_OPTION
    {.name = "a card that is already running", .type = OPT_GROUP},
    {"counters", "HOST:PORT", NULL,
     "Print the counters, clock and jobs of this simulated card. For a card started with "
     "--control: eth://HOST:PORT, which also prints its leases.",
     TEXT_AT(counters)},
    {"json", NULL, NULL, "With --counters: print one JSON object.", FLAG_AT(json)},
};

static const struct opt_command command = {
    .name = "sim",
    .args = "",
    .about = "Simulates a card on the network until it is interrupted. The card adds the gradients "
             "that ranks send as UDP datagrams, for as many jobs as a card has room for. The "
             "simulation runs as narrowcast-sim, which `make sim` builds.\n\n"
             "Packets are described in hls/card/packet.def, the registration of a job in "
             "hls/card/simlink.h and hls/card/regs.def.",
    .examples = "  # the RTL\n"
                "  build/narrowcast sim --listen 127.0.0.1:4711\n"
                "  # a faster card in plain C that loses, repeats and reorders packets\n"
                "  build/narrowcast sim --listen 127.0.0.1:4711 --engine c --drop 0.05 \\\n"
                "      --dup 0.05 --reorder 0.1 --seed 3\n"
                "  # packets for Wireshark, signals for GTKWave\n"
                "  build/narrowcast sim --listen 127.0.0.1:4711 --pcap card.pcap --wave card.fst\n"
                "  # the counters of that card\n"
                "  build/narrowcast sim --counters 127.0.0.1:4711\n"
                "  # a training that uses it\n"
                "  host/ranks.sh 4 build/narrowcast train --offload udp://127.0.0.1:4711\n"
                "  # a card for --offload eth://127.0.0.1:4712\n"
                "  build/narrowcast sim --listen 127.0.0.1:4711 --control 4712\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

/* Returns only on failure. */
static int become_card(int argc, char **argv)
{
    char path[PATH_MAX];
    const char *program = beside(PROGRAM, path);
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (!words)
        return ERR(-ENOMEM, "cannot start " PROGRAM ": no memory");
    words[0] = strdup(PROGRAM);
    memcpy(words + 1, argv, (size_t)argc * sizeof *argv);
    execvp(program, words);
    const int why = errno;
    free(words[0]);
    free(words);
    if (why == ENOENT)
        return ERR(-ENOENT, "cannot find the simulated card " PROGRAM ": `make sim` builds it");
    return ERR(-why, "cannot start '%s': %s", program, strerror(why));
}

int cmd_sim(int argc, char **argv)
{
    struct sim_options o = {0};
    struct opt_parsed p;
    char **words = calloc((size_t)argc + 1, sizeof *words); /* opt_parse() reorders argv */
    if (!words)
        return ERR(-ENOMEM, "cannot read the command line: no memory");
    memcpy(words, argv, (size_t)argc * sizeof *argv);
    int rc = opt_parse(&command, argc, argv, &o, &p);
    for (int i = 0; !rc && o.counters && i < command.n_opts; i++)
        if (p.given[i] && strcmp(opts[i].name, "counters") && strcmp(opts[i].name, "json"))
            rc = ERR(-EINVAL, "--counters asks a card that is already running: leave --%s out",
                     opts[i].name);
    if (!rc && p.help)
        opt_help(&command, &p, stdout);
    else if (!rc && o.counters)
        rc = sim_counters(o.counters, o.json);
    else if (!rc && o.json)
        rc = ERR(-EINVAL, "--json needs --counters HOST:PORT");
    else if (!rc && !o.listen && o.fd < 0)
        rc = ERR(-EINVAL, "sim needs an address to listen on, such as --listen 127.0.0.1:4711");
    else if (!rc)
        rc = become_card(argc, words);
    free(words);
    return rc;
}
