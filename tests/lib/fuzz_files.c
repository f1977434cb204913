/* fuzz_files.c : reads any bytes as files: checkpoints (to resume, and for their weights), PNG,
 * PGM, PPM, sounds, packed codes. Each must be accepted whole or refused in exactly one line. First
 * corrects checksums of checkpoints and PNG.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. -Ihost -Itests/lib
 *         tests/lib/fuzz_files.c host/app/{train/checkpoint_file,files/codes_in}.c
 *         host/nn/data/{datafile,jpeg,picture,png,wav}.c
 *         host/base/{err,buf,file,text,opt/opt_value}.c build/libnarrowcast.a -ljpeg -lpng -lz -lm
 *         -o fuzz_files
 *     mkdir corpus && build/tests/test_fuzz_files seeds corpus
 *     ./fuzz_files -max_len=20000 -artifact_prefix="$PWD/" "$PWD/corpus"
 *     (absolute paths: the fuzzer changes its folder)
 *
 * The seeds are the inputs that test_fuzz_files.c mutates.
 *
 * An input: byte 0: the kind, then
 *     CHECKPOINT  the file except its last 4 bytes
 *     CODES       e, m, count u16, then the file
 *     PICTURE     the file
 *     SOUND       the file */
#include "app/train/checkpoint_file.h"
#include "app/files/codes_in.h"
#include "base/err.h"
#include "nn/data/picture.h"
#include "nn/data/wav.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { CHECKPOINT, CODES, PICTURE, SOUND, FUZZ_KINDS, WEIGHTS = FUZZ_KINDS, FUZZ_READERS };
enum { INPUT_MAX = 20000 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    char folder[64];
    uint64_t taken[FUZZ_READERS], refused[FUZZ_READERS];
    int said;
} fuzz;

#define MUST(what) ((what) ? (void)0 : abort())

static void fuzz_open(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(fuzz.folder, sizeof fuzz.folder, "%s/fuzz.XXXXXX",
             access("/dev/shm", W_OK) ? (tmp ? tmp : "/tmp") : "/dev/shm");
    fuzz.said = memfd_create("said", 0);
    MUST(fuzz.said >= 0 && mkdtemp(fuzz.folder) && !chdir(fuzz.folder));
}

static void fuzz_close(void)
{
    static const char *const names[] = {"checkpoint", "again", "codes", "picture", "sound"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    MUST(!rmdir(fuzz.folder) && !close(fuzz.said));
}

static void fuzz_put(const char *name, const uint8_t *data, size_t n)
{
    const int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    MUST(fd >= 0 && write(fd, data, n) == (ssize_t)n && !close(fd));
}

/* Requires no message if accepted, one line if refused. */
static void fuzz_end(int kind, int rc)
{
    char line[600];
    const int saved = dup(2);
    MUST(!ftruncate(fuzz.said, 0) && !lseek(fuzz.said, 0, SEEK_SET) && saved >= 0 &&
         dup2(fuzz.said, 2) == 2);
    err_release(true);
    MUST(dup2(saved, 2) == 2 && !close(saved));
    const ssize_t n = pread(fuzz.said, line, sizeof line, 0);
    MUST(rc <= 0 && (rc < 0) == (n > 0));
    MUST(!n || memchr(line, '\n', (size_t)n) == line + n - 1);
    *(rc ? &fuzz.refused[kind] : &fuzz.taken[kind]) += 1;
}

static const char fuzz_text[] =
    "data=synthetic:240,3\nlr=0.05\nmodel=mlp\nlong="
    "0123456789012345678901234567890123456789012345678901234567890123456789\n";

static struct checkpoint_layer fuzz_layers[] = {
    {.name = "fc.weight", .at = 0, .n = 32, .column = 8, .stride = 4},
    {.name = "fc.bias", .at = 32, .n = 8, .column = 8, .stride = 1}};

static const struct checkpoint_plan fuzz_plan = {
    .run = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'},
    .text = fuzz_text,
    .n_ranks = 2,
    .n_entries = 2,
    .entries = {{.name = "weights", .n_parts = 1, .bytes = 160},
                {.name = "statistics", .n_parts = 2, .bytes = 40}},
    .layers = fuzz_layers,
    .n_layers = 2};
enum { FUZZ_SECTIONS_BYTES = 160 + 2 * 40 };

static int fuzz_plan_write(const char *path, const struct checkpoint_plan *plan,
                           const uint8_t *sections)
{
    struct checkpoint_out out;
    TRY(checkpoint_out_open(&out, path, plan));
    TRY(checkpoint_out_put(&out, sections, FUZZ_SECTIONS_BYTES));
    return checkpoint_out_commit(&out);
}

/* Reads the file "checkpoint" for its weights. */
static void fuzz_weights(size_t n)
{
    struct checkpoint_weights w;
    uint64_t sum = 0;
    err_hold();
    const int rc = checkpoint_weights_read("checkpoint", &w);
    for (uint32_t i = 0; !rc && i < w.n_layers; i++) {
        MUST(w.layers[i].n <= n / sizeof *w.values && strlen(w.layers[i].name) < 32);
        for (uint64_t k = 0; k < w.layers[i].n; k++) {
            uint32_t bits;
            memcpy(&bits, &w.values[w.layers[i].at + k], sizeof bits);
            sum += bits;
        }
    }
    MUST(sum <= UINT32_MAX * (uint64_t)n * n);
    checkpoint_weights_free(&w);
    fuzz_end(WEIGHTS, rc);
}

static void fuzz_checkpoint(const uint8_t *data, size_t n)
{
    static uint8_t file[INPUT_MAX + 4], again[INPUT_MAX + 5];
    struct file_in in;
    memcpy(file, data, n);
    const uint32_t crc = (uint32_t)crc32_z(0, data, n);
    memcpy(file + n, &crc, sizeof crc);
    fuzz_put("checkpoint", file, n + 4);
    struct checkpoint_plan plan = fuzz_plan;
    const int rc = checkpoint_in_open(&in, "checkpoint", &fuzz_plan, plan.run);
    if (!rc) {
        uint8_t sections[FUZZ_SECTIONS_BYTES];
        size_t got;
        MUST(!checkpoint_in_get(&in, sections, sizeof sections));
        file_in_close(&in);
        MUST(!fuzz_plan_write("again", &plan, sections));
        MUST(!file_in_open(&in, "again") && !file_in_read(&in, again, sizeof again, &got));
        file_in_close(&in);
        MUST(got == n + 4 && !memcmp(file, again, got));
    }
    fuzz_end(CHECKPOINT, rc);
    fuzz_weights(n);
}

static void fuzz_codes(const uint8_t *data, size_t n)
{
    static uint8_t codes[CODES_IN_BLOCK * sizeof(uint32_t)];
    if (n < 4)
        return;
    const struct mf_fmt fmt = {.e = 1 + data[0] % 8, .m = data[1] % 24};
    const uint64_t count = (uint64_t)data[2] | (uint64_t)data[3] << 8;
    struct codes_in in;
    size_t got = 0;
    uint64_t sum = 0;
    fuzz_put("codes", data + 4, n - 4);
    int rc = codes_in_open(&in, "codes", fmt, count);
    do {
        rc = rc ? rc : codes_in_read(&in, codes, &got);
        for (size_t i = 0; !rc && i < vec_bytes(fmt, got); i++)
            sum += codes[i];
    } while (!rc && got == CODES_IN_BLOCK);
    MUST(rc || (in.done == (count ? count : in.done) && vec_bytes(fmt, (size_t)in.done) == n - 4 &&
                sum <= 255 * n));
    codes_in_close(&in);
    fuzz_end(CODES, rc);
}

static void fuzz_png(uint8_t *png, size_t n)
{
    enum { SIGNATURE = 8, AROUND = 12 };
    for (size_t at = SIGNATURE; at + AROUND <= n;) {
        const size_t length = (size_t)png[at] << 24 | (size_t)png[at + 1] << 16 |
                              (size_t)png[at + 2] << 8 | png[at + 3];
        if (length > n - at - AROUND)
            return;
        const uint32_t crc = (uint32_t)crc32_z(0, png + at + 4, length + 4);
        for (int i = 0; i < 4; i++)
            png[at + 8 + length + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += length + AROUND;
    }
}

static void fuzz_picture(const uint8_t *data, size_t n)
{
    static uint8_t file[INPUT_MAX];
    struct picture p = {.pixels = NULL};
    uint64_t sum = 0;
    memcpy(file, data, n);
    if (n && file[0] == 0x89)
        fuzz_png(file, n);
    fuzz_put("picture", file, n);
    const int rc = picture_read(".", "picture", &p);
    const size_t size = (size_t)p.h * (size_t)p.w * (size_t)p.c;
    MUST(rc ? !p.pixels : size > 0 && p.h <= PICTURE_SIDE_MAX && p.w <= PICTURE_SIDE_MAX);
    for (size_t i = 0; !rc && i < size; i++)
        sum += p.pixels[i];
    MUST(sum <= 255 * size);
    free(p.pixels);
    fuzz_end(PICTURE, rc);
}

static void fuzz_sound(const uint8_t *data, size_t n)
{
    enum { RATE = 16000, LEAST = 400, MAX_N = 9000 };
    int16_t *samples = NULL;
    size_t n_samples = 0;
    int64_t sum = 0;
    fuzz_put("sound", data, n);
    const int rc = wav_read(".", "sound", RATE, LEAST, MAX_N, &samples, &n_samples);
    MUST(rc ? !samples : n_samples >= LEAST && n_samples <= MAX_N && 2 * n_samples < n);
    for (size_t i = 0; !rc && i < n_samples; i++)
        sum += samples[i];
    MUST(sum <= INT16_MAX * (int64_t)MAX_N);
    free(samples);
    fuzz_end(SOUND, rc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *, size_t) = {fuzz_checkpoint, fuzz_codes,
                                                               fuzz_picture, fuzz_sound};
    if (!fuzz.folder[0])
        fuzz_open();
    if (!size || size > INPUT_MAX)
        return 0;
    err_hold();
    readers[data[0] % FUZZ_KINDS](data + 1, size - 1);
    err_release(false);
    return 0;
}
