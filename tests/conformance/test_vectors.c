/* test_vectors.c : generates the vectors of this folder and compares them with the stored ones.
 * usage: test_vectors           compare (from the top of the tree)
 *        test_vectors write     write them to tests/conformance/vectors */
#include "check.h"
#include "vectors_blocks.h"
#include "vectors_exchange.h"
#include "vectors_groups.h"
#include "vectors_job.h"
#include "vectors_step.h"

static const struct {
    const char *name;
    void (*lines)(void);
} files[] = {{"formats", format_lines},
             {"casts", cast_lines},
             {"uncasts", uncast_lines},
             {"random", random_lines},
             {"streams", stream_cast_lines},
             {"packing", packing_lines},
             {"scales", scale_lines},
             {"sums", sum_lines},
             {"wide_words", wide_lines},
             {"means", mean_lines},
             {"qsgd", qsgd_lines},
             {"onebit", onebit_lines},
             {"ternary", ternary_lines},
             {"quantile", quantile_lines},
             {"checksums", checksum_lines},
             {"codec_texts", codec_text_lines},
             {"tags", tag_lines},
             {"packets", packet_lines},
             {"format_bytes", format_byte_lines},
             {"ranks", rank_lines},
             {"job", job_lines},
             {"card", card_lines},
             {"control", control_lines},
             {"step", step_lines},
             {"exchange", exchange_lines},
             {"groups", group_lines},
             {"blocks", scaled_block_lines}};

static void compare(const char *path, const char *made, size_t n)
{
    FILE *f = fopen(path, "rb");
    char *stored = malloc(n + 1);
    CHECK(f && stored, "cannot read %s", path);
    if (f && stored) {
        const size_t have = fread(stored, 1, n + 1, f);
        size_t line = 1, i = 0;
        for (; i < have && i < n && stored[i] == made[i]; i++)
            line += made[i] == '\n';
        CHECK(have == n && i == n, "%s: line %zu is another one than the library's", path, line);
    }
    if (f)
        fclose(f);
    free(stored);
}

int main(int argc, char **argv)
{
    const bool write = argc > 1 && !strcmp(argv[1], "write");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128], *made;
        size_t n;
        line_to = open_memstream(&made, &n);
        if (!line_to)
            abort();
        files[i].lines();
        fclose(line_to);
        snprintf(path, sizeof path, "tests/conformance/vectors/%s.jsonl", files[i].name);
        if (write) {
            FILE *f = fopen(path, "wb");
            CHECK(f && fwrite(made, 1, n, f) == n && fclose(f) == 0, "cannot write %s", path);
        } else {
            compare(path, made, n);
        }
        free(made);
    }
    DONE();
}
