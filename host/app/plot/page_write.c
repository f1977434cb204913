/* page_write.c : writes a page of HTML about runs, which loads nothing and runs no program. */
#include "app/plot/page.h"
#include "app/app.h"
#include "base/err.h"
#include <stdlib.h>

enum { POINTS_MAX = 500 }; /* per series */

static const char style[] =
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1.2em;"
    "color:#1c1e21;background:#fff}"
    "h1{font-size:1.6em;margin-bottom:0}h2{font-size:1.2em;margin:1.6em 0 .2em}"
    ".by{color:#6b7076;margin-top:0}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:.92em}"
    "th,td{text-align:left;vertical-align:top;padding:.3em .9em .3em 0;"
    "border-bottom:1px solid #8884;overflow-wrap:anywhere;min-width:7em}"
    "pre{font-size:.85em;overflow-x:auto;background:#8881;padding:.7em;margin:.4em 0}"
    "pre.command{white-space:pre-wrap;overflow-wrap:anywhere}"
    "figure{margin:0 0 1em}"
    "svg{width:100%;max-width:1000px;height:auto;display:block}"
    "svg [stroke=black]{stroke:currentColor}svg [fill=black]{fill:currentColor}"
    "svg [color=black]{color:inherit}svg .gridline{stroke:#8886}"
    "summary{cursor:pointer;color:#6b7076;font-size:.9em}"
    "@media(prefers-color-scheme:dark){body{color:#e2e4e8;background:#17191c}"
    ".by,summary{color:#9aa0a6}}";

/* Returns 0 for a character that is not UTF-8 or not allowed in a page. */
static int character(const char *at)
{
    unsigned code = 0;
    const int n = *at == '\n' || *at == '\t' ? 1 : text_printable(at);
    (void)text_character(at, &code);
    return (code & 0xfffe) == 0xfffe ? 0 : n;
}

/* plain: escape markup */
static void put(const char *text, bool plain, FILE *to)
{
    for (const char *at = text; *at;) {
        const int n = character(at);
        if (n == 0)
            fputs("\xef\xbf\xbd", to); /* replacement character */
        else if (plain && *at == '<')
            fputs("&lt;", to);
        else if (plain && *at == '>')
            fputs("&gt;", to);
        else if (plain && *at == '&')
            fputs("&amp;", to);
        else if (plain && *at == '"')
            fputs("&quot;", to);
        else
            fwrite(at, 1, (size_t)n, to);
        at += n ? n : 1;
    }
}

/* Writes text as valid UTF-8, with tags escaped. */
static void page_put(const char *text, FILE *to)
{
    put(text, true, to);
}

/* Statistics have a column only without logs. */
static bool is_column(const struct page *page, int i)
{
    bool logs = false;
    for (int k = 0; k < page->n; k++)
        logs |= page->runs[k].n_steps + (uint64_t)page->runs[k].n_epochs > 0;
    return !logs || page->runs[i].n_steps + (uint64_t)page->runs[i].n_epochs > 0;
}

/* Returns 1, 0 after the last row, or -ENOMEM. */
static int fact_row(const struct page *page, int row, FILE *to)
{
    const char *name = NULL;
    char *cells = NULL;
    size_t bytes = 0, all = 0;
    FILE *f = open_memstream(&cells, &bytes);
    bool known = true;
    if (!f)
        return ERR(-ENOMEM, "cannot report: no memory");
    for (int i = 0; i < page->n && known; i++) {
        char value[PAGE_CELL];
        struct text text = text_in(value, sizeof value);
        if (!is_column(page, i))
            continue;
        known = page_fact(row, &page->runs[i], &name, &text);
        all += text.n;
        fputs("<td>", f);
        page_put(value, f);
        fputs("</td>", f);
    }
    fclose(f);
    if (known && all > 0)
        fprintf(to, "<tr><th scope=\"row\">%s</th>%s</tr>\n", name, cells);
    free(cells);
    return known;
}

static int table(const struct page *page, FILE *to)
{
    int more;
    fputs("<h2>Runs</h2>\n<div class=\"wide\"><table>\n<tr><td></td>", to);
    for (int i = 0; i < page->n; i++) {
        if (!is_column(page, i))
            continue;
        fputs("<th scope=\"col\">", to);
        page_put(plot_file_name(&page->runs[i].file), to);
        fputs("</th>", to);
    }
    fputs("</tr>\n", to);
    for (int row = 0; (more = fact_row(page, row, to)) > 0;)
        row++;
    fputs("</table></div>\n", to);
    return more;
}

static int commands(const struct page *page, FILE *to)
{
    enum { MAX_WORDS_BYTES = 16384 };
    char *words = malloc(MAX_WORDS_BYTES);
    if (!words)
        return ERR(-ENOMEM, "cannot report: no memory");
    fputs("<h2>Commands</h2>\n<p class=\"by\">From the logs: options that differ from the "
          "defaults.</p>\n",
          to);
    for (int i = 0; i < page->n; i++) {
        struct text text = text_in(words, MAX_WORDS_BYTES);
        if (!is_column(page, i) || page->runs[i].n_begun == 0)
            continue;
        page_command(&page->runs[i], &text);
        fputs("<pre class=\"command\">", to);
        page_put(words, to);
        fputs(text.full ? " ...</pre>\n" : "</pre>\n", to);
    }
    free(words);
    return 0;
}

static int numbers(const struct plot *p, FILE *to)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f)
        return ERR(-ENOMEM, "cannot report: no memory");
    plot_table(p, f);
    fclose(f);
    fputs("<pre>", to);
    page_put(text, to);
    fputs("</pre>", to);
    free(text);
    return 0;
}

static int draw(const struct plot *p, int number, struct err_lines *lines, FILE *to)
{
    struct err_lines *before = err_turn(lines);
    err_hold();
    const int rc = plot_svg(p, number, to);
    err_turn(before);
    if (rc < 0 && rc != -ENOENT && rc != -EDOM)
        return ERR(rc, "%s", lines->line);
    if (rc == -EDOM)
        err_warn("the page lacks the chart '%s': %s", p->kind->title, lines->line);
    return rc;
}

/* Writes only the numbers if gnuplot cannot draw the chart, with its reason. *missing: set without
 * gnuplot. */
static int chart(struct plot *p, int *number, bool *missing, FILE *to)
{
    const size_t each = p->n_ticks ? 1 : plot_thin(p, POINTS_MAX); /* names cannot be averaged */
    char *svg = NULL;
    size_t bytes = 0;
    struct err_lines why = {.held = false};
    FILE *f = open_memstream(&svg, &bytes);
    if (!f)
        return ERR(-ENOMEM, "cannot report: no memory");
    const int drawing = draw(p, *number + 1, &why, f);
    fclose(f);
    if (drawing < 0 && drawing != -ENOENT && drawing != -EDOM)
        return free(svg), drawing;
    const bool drawn = drawing == 0;
    fprintf(to, "<figure>\n<h2>%s</h2>\n", p->kind->title);
    if (each > 1)
        fprintf(to, "<p class=\"by\">Points are means of up to %zu neighbours.</p>\n", each);
    if (drawing == -EDOM) {
        fputs("<p>This chart could not be drawn: ", to);
        page_put(why.line, to);
        fputs("</p>\n", to);
    }
    put(drawn ? svg : "", false, to);
    fputs(drawn ? "<details><summary>numbers</summary>" : "", to);
    const int rc = numbers(p, to);
    fprintf(to, "%s\n</figure>\n", drawn ? "</details>" : "");
    *number += drawn;
    *missing |= drawing == -ENOENT;
    free(svg);
    return rc;
}

static int charts(const struct page *page, FILE *to)
{
    struct plot *p = malloc(sizeof *p);
    int rc = p ? 0 : ERR(-ENOMEM, "cannot report: no memory"), drawn = 0;
    bool missing = false;
    for (const struct plot_kind *kind = plot_kinds; kind->name && rc == 0; kind++) {
        if (!kind->report)
            continue;
        rc = plot_read_some(p, kind, page->paths, page->n);
        if (rc == 0 && p->n_points > 0)
            rc = chart(p, &drawn, &missing, to);
        plot_close(p);
    }
    if (rc == 0 && missing)
        err_warn("no gnuplot in PATH: the page has tables instead of charts (install gnuplot-nox)");
    free(p);
    return rc;
}

int page_write(const struct page *page, FILE *to)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>",
          to);
    page_put(page->title, to);
    fprintf(to, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
    page_put(page->title, to);
    fprintf(to, "</h1>\n<p class=\"by\">%d file%s, by narrowcast %s</p>\n", page->n,
            page->n == 1 ? "" : "s", APP_VERSION);
    TRY(table(page, to));
    TRY(commands(page, to));
    TRY(charts(page, to));
    fputs("</body>\n</html>\n", to);
    return 0;
}
