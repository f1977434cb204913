/* test_dataset_fuzz.c : each of 1,600 mutated data sets (`long`: 4,000) loads or is refused in
 * one line. */
#include "data_fixture.h"
#include "hls/arith/draw.h"

enum { SEED = 4711 };

struct raw {
    char path[PATH_MAX];
    size_t bytes;
    uint8_t data[FIXTURE_BYTES_MAX + 64];
};

static void raw_read(const struct fixture *x, int file, struct raw *r)
{
    fixture_path(x, x->files[file].name, x->gz, r->path);
    FILE *f = fopen(r->path, "rb");
    CHECK(f, "%s", r->path);
    r->bytes = f ? fread(r->data, 1, FIXTURE_BYTES_MAX, f) : 0;
    if (f)
        fclose(f);
}

static void raw_write(const struct raw *r)
{
    FILE *f = fopen(r->path, "wb");
    CHECK(f && fwrite(r->data, 1, r->bytes, f) == r->bytes && fclose(f) == 0, "cannot write %s",
          r->path);
}

static uint32_t place(struct draw *d, size_t bytes)
{
    uint32_t n = bytes > 32 && draw_below(d, 2) ? 32 : (uint32_t)bytes;
    return n ? draw_below(d, n) : 0;
}

static void mutate(struct draw *d, struct raw *r)
{
    switch (draw_below(d, 4)) {
    case 0:
        r->bytes = place(d, r->bytes);
        break;
    case 1:
        for (uint32_t i = draw_below(d, 60) + 1; i > 0; i--)
            r->data[r->bytes++] = (uint8_t)draw_u32(d);
        break;
    default:
        for (uint32_t i = draw_below(d, 4) + 1; i > 0; i--)
            r->data[place(d, r->bytes)] =
                (uint8_t)(draw_below(d, 2) ? draw_u32(d) : 1u << draw_below(d, 8));
    }
}

static void fuzz(struct fixture *x, uint32_t which, int rounds)
{
    static struct raw good, bad;
    struct draw draw = draw_open(SEED, DRAW_IMAGE, 0, which);
    int n_taken = 0;
    for (int round = 0; round < rounds; round++) {
        raw_read(x, (int)draw_below(&draw, (uint32_t)x->n_files), &good);
        bad = good;
        mutate(&draw, &bad);
        raw_write(&bad);
        char said[1024];
        struct dataset *d = NULL;
        int rc = fixture_dataset_open(x->spec, 0, &d, said);
        if (rc == 0) {
            n_taken++;
            CHECK(d && !*said && d->n_train && d->n_test, "round %d of %s: taken, but said: %s",
                  round, x->spec, said);
            for (size_t i = 0; d && d->train_y && i < d->n_train; i++)
                CHECK(d->train_y[i] < d->n_classes, "round %d of %s: label %d", round, x->spec,
                      d->train_y[i]);
        } else {
            CHECK(rc < 0 && !d && fixture_one_line(said) &&
                      strstr(said, x->lists ? x->dir : bad.path),
                  "round %d of %s: %s", round, x->spec, said);
            CHECK(strstr(said, "offset ") || (x->lists && strstr(said, "cannot open")),
                  "round %d of %s: no offset: %s", round, x->spec, said);
        }
        dataset_close(d);
        raw_write(&good);
    }
    printf("%s, %s: %d of %d mutations still load\n", x->spec, x->gz ? "packed" : "plain", n_taken,
           rounds);
    CHECK(n_taken < rounds, "nothing was refused");
    fixture_close(x);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 && !strcmp(argv[1], "long") ? 500 : 200;
    printf("seed %d\n", SEED);
    for (uint32_t gz = 0; gz < 2; gz++) {
        fuzz(fixture_open_idx(gz), 2 * gz, rounds);
        fuzz(fixture_open_cifar(gz), 2 * gz + 1, rounds);
        fuzz(fixture_open_an4(gz), 2 * gz + 4, rounds);
        fuzz(fixture_open_text(gz), 2 * gz + 5, rounds);
    }
    DONE();
}
