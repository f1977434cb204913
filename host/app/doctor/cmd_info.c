/* cmd_info.c : `narrowcast info`: what this build and this machine can do, as a table or as one
 * JSON object. */
#include "app/app.h"
#include "app/doctor/info.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "vec/vec.h"

struct info_options {
    bool json;
};

static const struct opt opts[] = {
    {"json", NULL, NULL, "Print one JSON object instead of a table.", OPT_FLAG,
     offsetof(struct info_options, json), 0, 0, 0},
};

static const struct opt_command command = {
    .name = "info",
    .args = "",
    .about = "Says what this build and this machine can do: compiler, libraries, GPU, CPU, network "
             "interfaces, cards.",
    .examples = "  build/narrowcast info\n  build/narrowcast info --json\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

static int print_json(const struct info *info)
{
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "info");
    for (int i = 0; i < info->n; i++)
        jsonl_text(&j, info->facts[i].key, info->facts[i].value);
    return jsonl_end(&j);
}

static int print_table(const struct info *info)
{
    for (int i = 0; i < info->n; i++)
        printf("%-20s %s\n", info->facts[i].key, info->facts[i].value);
    return 0;
}

int cmd_info(int argc, char **argv)
{
    struct info_options o = {0};
    struct opt_parsed p;
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help)
        return opt_help(&command, &p, stdout), 0;
    TRY(vec_best_check());
    struct info info = {.n = 0};
    info_build(&info);
    info_gpu(&info);
    info_machine(&info);
    info_cards(&info);
    return o.json ? print_json(&info) : print_table(&info);
}
