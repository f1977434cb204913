/* test_fuzz_files.c : gives good, hostile and 20,000 mutated files to tests/lib/fuzz_files.c.
 * `long`: a million. `seeds FOLDER` writes the initial files for libFuzzer. */
#include "check.h"
#include "fuzz_files.c"
#include "hls/arith/draw.h"
#include "png_make.h"

enum { SEED = 12, LONGEST_NAME = 250 };

static uint8_t input[INPUT_MAX];
static size_t input_n;

static void add(const void *from, size_t n)
{
    MUST(input_n + n <= sizeof input);
    memcpy(input + input_n, from, n);
    input_n += n;
}

static void add_byte(unsigned byte)
{
    add(&(uint8_t){(uint8_t)byte}, 1);
}

static void begin(int kind)
{
    input_n = 0;
    add_byte((unsigned)kind);
}

static void seed_plan(const struct checkpoint_plan *plan, uint32_t text_bytes)
{
    static uint8_t bytes[INPUT_MAX];
    static const uint8_t sections[FUZZ_SECTIONS_BYTES] = {7};
    struct file_in in;
    size_t n;
    MUST(!fuzz_plan_write("checkpoint", plan, sections) && !file_in_open(&in, "checkpoint"));
    MUST(!file_in_read(&in, bytes, sizeof bytes, &n) && n > 4);
    file_in_close(&in);
    memcpy(bytes + 12, &text_bytes, sizeof text_bytes);
    begin(CHECKPOINT);
    add(bytes, n - 4);
}

static void seed_checkpoint(const char *text, uint32_t text_bytes)
{
    struct checkpoint_plan plan = fuzz_plan;
    plan.text = text;
    seed_plan(&plan, text_bytes);
}

static void seed_text(int which)
{
    char text[sizeof fuzz_text + LONGEST_NAME + 8];
    snprintf(text, sizeof text, "%s%0*d=x\n", fuzz_text, LONGEST_NAME, 0);
    static const char *const bare[] = {"", "=", "data", "\n\n", "long=1"};
    if (which == 0)
        seed_checkpoint(fuzz_text, (uint32_t)strlen(fuzz_text));
    else if (which == 1)
        seed_checkpoint(text, (uint32_t)strlen(text));
    else if (which == 2)
        seed_checkpoint(fuzz_text, UINT32_MAX);
    else
        seed_checkpoint(bare[which - 3], (uint32_t)strlen(bare[which - 3]));
}
enum { TEXTS = 8 };

/* Bad sections: unknown, missing, too many, reordered, unterminated, or with sizes that only add
 * up correctly; an invalid run id; missing or other layers. */
static void seed_sections(int which)
{
    static const char *const names[] = {"momenta", "weights\001", "12345678901234567890"};
    static struct checkpoint_layer others[] = {{.name = "fc.weight", .n = 40, .column = 40}};
    struct checkpoint_plan plan = fuzz_plan;
    if (which < 3) {
        memset(plan.entries[1].name, 0, sizeof plan.entries[1].name);
        memcpy(plan.entries[1].name, names[which], strlen(names[which]));
    } else if (which == 3) {
        plan.n_entries = 1;
    } else if (which == 4) {
        plan.entries[plan.n_entries++] = plan.entries[0];
    } else if (which == 5) {
        plan.entries[0] = fuzz_plan.entries[1];
        plan.entries[1] = fuzz_plan.entries[0];
    } else if (which == 6) {
        plan.run[0] = '\033';
    } else if (which == 7) {
        plan.run[15] = 0;
    } else if (which == 8) {
        plan.n_layers = 1;
    } else if (which == 9) {
        plan.layers = others;
        plan.n_layers = 1;
    } else {
        plan.entries[1].n_parts = 1u << 31;
        plan.entries[1].bytes = (1ull << 33) + 40;
    }
    seed_plan(&plan, (uint32_t)strlen(fuzz_text));
}
enum { SECTIONS = 11, CHECKPOINTS = TEXTS + SECTIONS };

static void seed_codes(bool counted)
{
    begin(CODES);
    add_byte(counted ? 2 : 4);
    add_byte(counted ? 0 : 2);
    add_byte(counted ? 101 : 0);
    add_byte(0);
    for (unsigned i = 0; i < (counted ? 51 : 101); i++)
        add_byte(i);
}

static void seed_picture(bool png)
{
    enum { H = 6, W = 7 };
    uint8_t x[H * W * 3];
    struct png_file f;
    for (int i = 0; i < H * W * 3; i++)
        x[i] = (uint8_t)(i % 21);
    png_begin(&f, H, W, 3);
    png_chunk(&f, "PLTE", x, 63);
    png_pixels(&f, H, W, 1, x, 0, 30);
    png_end(&f);
    if (!png) {
        f.n = (size_t)snprintf((char *)f.bytes, 100, "P6 # a comment\n%d %d 255\n", W, H);
        memcpy(f.bytes + f.n, x, sizeof x);
        f.n += sizeof x;
    }
    begin(PICTURE);
    add(f.bytes, f.n);
}

static void add_le(uint32_t v, int n)
{
    for (int i = 0; i < n; i++)
        add_byte(v >> 8 * i & 255);
}

static void seed_sound(void)
{
    enum { SAMPLES = 500, NOTE = 6 };
    begin(SOUND);
    add("RIFF", 4), add_le(36 + 8 + NOTE + 2 * SAMPLES, 4), add("WAVE", 4);
    add("LIST", 4), add_le(NOTE, 4), add("a note", NOTE);
    add("fmt ", 4), add_le(16, 4), add_le(1, 2), add_le(1, 2);
    add_le(16000, 4), add_le(32000, 4), add_le(2, 2), add_le(16, 2);
    add("data", 4), add_le(2 * SAMPLES, 4);
    for (uint32_t i = 0; i < SAMPLES; i++)
        add_le(i * 131, 2);
}

enum { GOOD = 5, SEEDS = CHECKPOINTS + GOOD };

static void seed(int which)
{
    if (which < TEXTS)
        seed_text(which);
    else if (which < CHECKPOINTS)
        seed_sections(which - TEXTS);
    else if (which <= CHECKPOINTS + 1)
        seed_codes(which == CHECKPOINTS);
    else if (which <= CHECKPOINTS + 3)
        seed_picture(which == CHECKPOINTS + 2);
    else
        seed_sound();
}

static uint32_t place(struct draw *d)
{
    const uint32_t n = input_n > 200 && draw_below(d, 4) ? 200 : (uint32_t)input_n;
    return 1 + (n > 1 ? draw_below(d, n - 1) : 0);
}

static void mutate(struct draw *d)
{
    for (uint32_t i = draw_below(d, 4) + 1; i > 0; i--) {
        const uint32_t at = place(d), what = draw_below(d, 8);
        if (what == 0)
            input_n = at;
        else if (what == 1 && input_n + 300 < sizeof input)
            for (uint32_t k = draw_below(d, 300); k > 0; k--)
                add_byte(draw_u32(d));
        else if (what == 2 && at + 4 <= input_n)
            memset(input + at, draw_below(d, 2) ? 255 : 0, 4);
        else if (at < input_n)
            input[at] = (uint8_t)(what < 5 ? draw_u32(d) : input[at] ^ 1u << draw_below(d, 8));
    }
}

static void write_seeds(const char *folder)
{
    for (int i = 0; i < SEEDS; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed%d", folder, i);
        seed(i);
        fuzz_put(path, input, input_n);
    }
}

int main(int argc, char **argv)
{
    const bool is_long = argc > 1 && !strcmp(argv[1], "long");
    struct draw draw = draw_open(SEED, DRAW_IMAGE, 0, 0);
    char *folder = argc > 2 && !strcmp(argv[1], "seeds") ? realpath(argv[2], NULL) : NULL;
    fuzz_open();
    if (folder)
        write_seeds(folder);
    free(folder);
    for (int i = 0; i < SEEDS; i++) {
        seed(i);
        (void)LLVMFuzzerTestOneInput(input, input_n);
    }
    CHECK(fuzz.taken[CHECKPOINT] == 1 && fuzz.taken[CODES] == 2 && fuzz.taken[PICTURE] == 2 &&
              fuzz.taken[SOUND] == 1,
          "a good file was refused");
    CHECK(fuzz.refused[CHECKPOINT] == CHECKPOINTS - 1, "a bad checkpoint was taken");
    printf("seed %d\n", SEED);
    for (uint32_t i = 0; i < (is_long ? 1000000u : 20000u); i++) {
        const int good = (int)draw_below(&draw, GOOD + 1) - 1;
        seed(i % 2 ? (good < 0 ? 0 : CHECKPOINTS + good) : (int)draw_below(&draw, SEEDS));
        mutate(&draw);
        (void)LLVMFuzzerTestOneInput(input, input_n);
    }
    for (int i = 0; i < FUZZ_READERS; i++) {
        printf("kind %d: %llu taken, %llu refused\n", i, (unsigned long long)fuzz.taken[i],
               (unsigned long long)fuzz.refused[i]);
        CHECK(fuzz.taken[i] > 50 && fuzz.refused[i] > 200, "the mutants are too tame or too wild");
    }
    fuzz_close();
    DONE();
}
