/* cmd_report.c : runs `narrowcast report`. */
#include "app/app.h"
#include "app/plot/page.h"
#include "base/err.h"
#include "base/file.h"
#include "base/opt/opt.h"
#include <stdlib.h>
#include <string.h>

struct report_options {
    const char *out, *title;
};

#define AT(field) offsetof(struct report_options, field)
static const struct opt opts[] = {
    {"out", "FILE.html", NULL,
     "File of the page (short form: -o); - is standard output. The file appears only when it is "
     "complete. The page is self-contained: it needs no network and runs no scripts.",
     TEXT_AT(out)},
    {"title", "TEXT", "narrowcast report", "Headline of the page.", TEXT_AT(title)},
};

static const struct opt_command command = {
    .name = "report",
    .args = "RUN.jsonl [RUN.jsonl ...]",
    .min_args = 1,
    .max_args = PLOT_SERIES,
    .about = "Makes an HTML page of the files that trainings wrote with --log and --stats. It "
             "compares their settings and results side by side, and draws accuracy, loss, bytes, "
             "time and exponents with one line per training. Charts need gnuplot; without it the "
             "page has tables.",
    .examples = "  host/ranks.sh 4 build/narrowcast train --log e4m3.jsonl \\\n"
                "      --stats e4m3.stats.jsonl\n"
                "  host/ranks.sh 4 build/narrowcast train --format fp32 --log fp32.jsonl\n"
                "  build/narrowcast report e4m3.jsonl e4m3.stats.jsonl fp32.jsonl \\\n"
                "      --out report.html\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .letter = "o=out",
};

static bool is_stdout(const char *path)
{
    return !strcmp(path, "-");
}

static int check(const struct report_options *o, const struct opt_parsed *parsed)
{
    if (!o->out)
        return ERR(-EINVAL, "report needs a file for the page: --out FILE.html");
    if (is_stdout(o->out))
        return 0;
    for (int i = 0; i < parsed->n_args; i++)
        if (file_same(o->out, parsed->args[i]))
            return ERR(-EINVAL, "--out '%s': the page would overwrite one of its input files",
                       o->out);
    return file_out_check(o->out);
}

static int store(const char *html, size_t bytes, const char *path)
{
    struct file_out out;
    if (is_stdout(path))
        return fwrite(html, 1, bytes, stdout) == bytes && !fflush(stdout)
                   ? 0
                   : ERR(-errno, "cannot write to standard output: %s", strerror(errno));
    TRY(file_out_open(&out, path));
    (void)file_out_write(&out, html, bytes); /* file_out_commit() returns the error */
    return file_out_commit(&out);
}

static int write_page(const struct page *page, const char *path)
{
    char *html = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&html, &bytes);
    int rc = f ? page_write(page, f) : ERR(-ENOMEM, "cannot report: no memory");
    if (f && fclose(f) && rc == 0)
        rc = ERR(-ENOMEM, "cannot report: no memory");
    if (rc == 0)
        rc = store(html, bytes, path);
    free(html);
    return rc;
}

int cmd_report(int argc, char **argv)
{
    struct report_options o = {0};
    struct opt_parsed parsed;
    TRY(opt_parse(&command, argc, argv, &o, &parsed));
    if (parsed.help)
        return opt_help(&command, &parsed, stdout), 0;
    TRY(check(&o, &parsed));
    struct page page = {.title = o.title, .paths = parsed.args, .n = parsed.n_args};
    page.runs = calloc((size_t)page.n, sizeof *page.runs);
    int rc = page.runs ? 0 : ERR(-ENOMEM, "cannot report: no memory");
    for (int i = 0; i < page.n && rc == 0; i++)
        rc = page_run_read(&page.runs[i], page.paths[i]);
    if (rc == 0)
        rc = write_page(&page, o.out);
    for (int i = 0; i < page.n && page.runs; i++)
        page_run_close(&page.runs[i]);
    free(page.runs);
    return rc;
}
