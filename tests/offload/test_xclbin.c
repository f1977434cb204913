/* test_xclbin.c : writes containers, reads them back (also cut or damaged anywhere), and compares
 * them with hls/card/kernels.def. */
#include "check.h"
#include "offload/xrt/kernel_list.h"
#include "offload/xrt/xclbin.h"
#include "offload/xrt/xclbin_layout.h"
#include <errno.h>
#include <string.h>

static uint8_t *good;
static size_t good_n;
static char why[XCLBIN_WHY_BYTES];

static const struct xclbin_plan plan = {
    .platform = XCLBIN_SIM_PLATFORM, .bitstream = "12345", .bitstream_bytes = 5};

/* From exactly n bytes, for sanitizers. */
static int read_back(const uint8_t *bytes, size_t n, struct xclbin **x, uint8_t **own)
{
    *own = malloc(n ? n : 1);
    if (!*own)
        exit(1);
    memcpy(*own, bytes, n);
    *x = NULL;
    why[0] = 0;
    const int rc = xclbin_of(*own, n, x, why);
    CHECK(rc <= 0 && (rc < 0) == !*x && (rc < 0) == (why[0] != 0) && !strchr(why, '\n'), "%d '%s'",
          rc, why);
    return rc;
}

static void refused(const uint8_t *bytes, size_t n, bool checked, const char *words)
{
    struct xclbin *x;
    uint8_t *own;
    int rc = read_back(bytes, n, &x, &own);
    CHECK((rc == 0) == checked, "%s: %s", words, why);
    if (x)
        rc = xclbin_check(x, why);
    CHECK(rc < 0 && strstr(why, words), "not '%s': '%s'", words, why);
    xclbin_close(x);
    free(own);
}

static size_t section(uint32_t kind)
{
    for (size_t e = AXLF_SECTIONS;; e += AXLF_SECTION_ENTRY)
        if (xclbin_get(good + e + AXLF_SECTION_KIND, 4) == kind)
            return xclbin_get(good + e + AXLF_SECTION_AT, 8);
}

static void lie(size_t at, int bytes, uint64_t value, bool checked, const char *words)
{
    uint8_t was[8];
    memcpy(was, good + at, 8);
    xclbin_put(good + at, bytes, value);
    refused(good, good_n, checked, words);
    memcpy(good + at, was, 8);
}

static void swap(uint32_t kind, int nth, const char *from, const char *to, bool checked,
                 const char *words)
{
    uint8_t *at = good + section(kind);
    const size_t n = strlen(from);
    while (at + n < good + good_n && (memcmp(at, from, n) != 0 || --nth > 0))
        at++;
    CHECK(at + n < good + good_n && n == strlen(to), "no '%s' like '%s'", from, to);
    memcpy(at, to, n);
    refused(good, good_n, checked, words);
    memcpy(at, from, n);
}

static void test_made(void)
{
    struct xclbin *x;
    uint8_t *own, *other;
    size_t n, bits = section(XCLBIN_BITSTREAM);
    char text[XCLBIN_UUID_TEXT];
    uint8_t uuid[XCLBIN_UUID_BYTES];
    CHECK(!memcmp(good + bits, "12345", 5), "the bitstream");
    CHECK(!read_back(good, good_n, &x, &own), "%s", why);
    if (!x)
        return;
    CHECK(!xclbin_check(x, why), "%s", why);
    CHECK(x->n_units == N_KERNELS && x->n_banks == N_KERNEL_BANKS && x->n_sections == 5, "%d",
          x->n_units);
    CHECK(x->banks[0].base == 0x4000000000 && x->banks[0].kib == 1 << 20, "HBM0");
    const struct xclbin_unit *u = &x->units[KERNEL_REDUCE_MM];
    CHECK(!strcmp(u->kernel, "reduce_mm") && u->base == KERNEL_REDUCE_MM_BASE && u->n_args == 9,
          "%s", u->kernel);
    CHECK(x->args[u->arg + 8].offset == 0x58 && x->args[u->arg + 8].bank == -1, "saturate");
    CHECK(!strcmp(x->platform, XCLBIN_SIM_PLATFORM) && x->mode == 0, "%s", x->platform);
    xclbin_uuid_print(x->uuid, text);
    CHECK(xclbin_uuid_read(text, uuid) && !memcmp(uuid, x->uuid, sizeof uuid), "%s", text);
    CHECK(uuid[6] >> 4 == 8 && uuid[8] >> 6 == 2, "%s", text);
    text[0] = 'g';
    CHECK(!xclbin_uuid_read(text, uuid) && !xclbin_uuid_read("", uuid), "a UUID that is none");
    xclbin_close(x);
    free(own);

    CHECK(!xclbin_make(&plan, &other, &n, why), "%s", why);
    CHECK(n == good_n && !memcmp(other, good, n), "the same card is another file");
    free(other);
    struct xclbin_plan changed = plan;
    changed.bitstream = "12346";
    CHECK(!xclbin_make(&changed, &other, &n, why), "%s", why);
    CHECK(memcmp(other + AXLF_UUID, good + AXLF_UUID, 16) != 0, "two cards of one UUID");
    free(other);
    changed.hw_emu = true;
    changed.uuid = (const uint8_t *)"0123456789abcdef";
    changed.bitstream_bytes = 0;
    CHECK(!xclbin_make(&changed, &other, &n, why) && !read_back(other, n, &x, &own), "%s", why);
    CHECK(x->mode == 4 && !memcmp(x->uuid, "0123456789abcdef", 16), "mode %u", x->mode);
    xclbin_close(x);
    free(own);
    free(other);
    changed.platform = "a<b";
    CHECK(xclbin_make(&changed, &other, &n, why) == -EINVAL, "a platform that is no XML");
}

static void test_cut(void)
{
    for (size_t n = 0; n < good_n; n++)
        refused(good, n, false, n < 8 ? "xclbin2" : "is truncated");
}

static void test_flips(void)
{
    long taken = 0;
    const size_t bases = section(XCLBIN_IP_LAYOUT) + IP_ENTRIES;
    for (size_t bit = 0; bit < good_n * 8; bit++) {
        struct xclbin *x;
        uint8_t *own;
        good[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!read_back(good, good_n, &x, &own)) {
            taken++;
            CHECK(x->n_args <= XCLBIN_ARGS && x->n_units <= XCLBIN_UNITS, "bit %zu", bit);
            for (int i = 0; i < x->n_args; i++)
                CHECK(x->args[i].bank < x->n_banks && memchr(x->args[i].name, 0, XCLBIN_NAME),
                      "bit %zu", bit);
            const bool same = !xclbin_check(x, why);
            const size_t at = bit / 8 - bases;
            if (bit / 8 >= bases && at < N_KERNELS * IP_ENTRY && at % IP_ENTRY >= IP_BASE &&
                at % IP_ENTRY < IP_NAME)
                CHECK(!same, "byte %zu of a base", at);
        }
        xclbin_close(x);
        free(own);
        good[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK(taken > 0, "none was taken");
}

static void test_header_lies(void)
{
    const size_t second = AXLF_SECTIONS + AXLF_SECTION_ENTRY; /* MEM_TOPOLOGY */
    lie(AXLF_LENGTH, 8, UINT64_MAX, false, "is truncated");
    lie(AXLF_LENGTH, 8, 100, false, "less than the header");
    lie(AXLF_LENGTH, 8, AXLF_SECTIONS + 39, false, "table of 5 sections is truncated");
    lie(AXLF_N_SECTIONS, 4, UINT32_MAX, false, "at most 64 are supported");
    lie(AXLF_N_SECTIONS, 4, 0, true, "no kernel 'nic_core'");
    lie(second + AXLF_SECTION_AT, 8, UINT64_MAX - 7, false, "after the end of the file");
    lie(second + AXLF_SECTION_AT, 8, 8, false, "need a multiple of 8 of at least 656");
    lie(second + AXLF_SECTION_AT, 8, section(XCLBIN_MEM_TOPOLOGY) + 4, false, "a multiple of 8");
    lie(second + AXLF_SECTION_AT, 8, section(XCLBIN_IP_LAYOUT), false, "overlap");
    lie(second + AXLF_SECTION_BYTES, 8, UINT64_MAX - 16, false, "after the end of the file");
    lie(second + AXLF_SECTION_BYTES, 8, 4, false, "too few for its number of entries");
    lie(second + AXLF_SECTION_BYTES, 8, 47, false, "do not hold them");
    lie(second + AXLF_SECTION_KIND, 4, XCLBIN_IP_LAYOUT, false, "2 sections ip_layout");
    lie(second + AXLF_SECTION_KIND, 4, 77, false, "do not exist");
    memset(good + AXLF_PLATFORM, 'p', 64);
    refused(good, good_n, false, "platform is not terminated");
    memset(good + AXLF_PLATFORM, 0, 64);
    memcpy(good + AXLF_PLATFORM, XCLBIN_SIM_PLATFORM, sizeof XCLBIN_SIM_PLATFORM);
}

static void test_table_lies(void)
{
    const size_t memory = section(XCLBIN_MEM_TOPOLOGY), layout = section(XCLBIN_IP_LAYOUT);
    const size_t connections = section(XCLBIN_CONNECTIVITY) + CONNECTION_ENTRIES;
    lie(memory, 4, UINT32_MAX, false, "do not hold them");
    lie(memory, 4, 0, false, "do not exist");
    lie(layout, 4, UINT32_MAX, false, "do not hold them");
    lie(layout, 4, 0x80000000, false, "do not hold them");
    lie(connections - CONNECTION_ENTRIES, 4, 13, false, "do not hold them");
    lie(connections + CONNECTION_ARG, 4, 0x7fffffff, false, "do not exist");
    lie(connections + CONNECTION_MEM, 4, 1, false, "do not exist");
    lie(connections + CONNECTION_MEM, 4, UINT32_MAX, false, "do not exist");
    uint8_t was[IP_NAME_BYTES];
    uint8_t *name = good + layout + IP_ENTRIES + IP_NAME, *tag = good + memory + MEM_ENTRIES;
    memcpy(was, name, IP_NAME_BYTES);
    memset(name, 'n', IP_NAME_BYTES);
    refused(good, good_n, false, "entry 0 of ip_layout is not terminated");
    memcpy(name, was, IP_NAME_BYTES);
    memcpy(was, tag + MEM_TAG, MEM_TAG_BYTES);
    memset(tag + MEM_TAG, 'n', MEM_TAG_BYTES);
    refused(good, good_n, false, "memory bank 0 is not terminated");
    memcpy(tag + MEM_TAG, was, MEM_TAG_BYTES);
    swap(XCLBIN_IP_LAYOUT, 1, "reduce_mm:", "reduce_mm_", false, "kernel:unit");
    swap(XCLBIN_EMBEDDED_METADATA, 1, "offset=\"0x10\"", "offset=\"zz10\"", false, "a number");
    swap(XCLBIN_EMBEDDED_METADATA, 1, "offset=\"0x10\"", "offsex=\"0x10\"", false, "a number");
    swap(XCLBIN_EMBEDDED_METADATA, 1, "id=\"0\"", "id=\"x\"", false, "needs an id");
    swap(XCLBIN_EMBEDDED_METADATA, 1, "arg name=", "arg nome=", false, "has no name");
    swap(XCLBIN_EMBEDDED_METADATA, 1, "<platform ", "<!--tform ", false, "not complete XML");
}

static void test_other_cards(void)
{
    const size_t layout = section(XCLBIN_IP_LAYOUT) + IP_ENTRIES;
    const uint32_t xml = XCLBIN_EMBEDDED_METADATA;
    swap(XCLBIN_IP_LAYOUT, 1, "reduce_mm:", "reduce_nn:", true, "no kernel 'reduce_mm'");
    swap(XCLBIN_IP_LAYOUT, 1, "reduce_mm_1", "reduce_mm_2", true, "no kernel 'reduce_mm'");
    swap(xml, 1, "kernel name=\"reduce_mm\"", "kernel name=\"reduce_nn\"", true,
         "does not describe");
    swap(xml, 1, "name=\"parts\"", "name=\"ports\"", true, "is 'ports', not 'parts'");
    swap(xml, 1, "id=\"8\"", "id=\"9\"", true, "no argument 8, 'saturate'");
    swap(xml, 1, "offset=\"0x1c\"", "offset=\"0x2c\"", true, "'out' of kernel 'reduce_mm' is at");
    swap(xml, 2, " size=\"0x8\"", " size=\"0x4\"", true, "not an address of 8 bytes");
    swap(xml, 1, "addressQualifier=\"1\"", "addressQualifier=\"4\"", true, "not an address");
    lie(layout + IP_ENTRY + IP_BASE, 8, 0x1820000, true, "is at 0x1820000, not 0x1810000");
    lie(layout + IP_PROPERTIES, 4, IP_CONTROL_NONE << 8, true, "'nic_core' is ap_ctrl_none");
    lie(section(XCLBIN_CONNECTIVITY), 4, 0, true, "in no bank of memory");
    lie(section(XCLBIN_MEM_TOPOLOGY) + MEM_ENTRIES + MEM_USED, 1, 0, true, "in no bank");

    struct xclbin *x; /* on a real card the linker chooses the registers' addresses */
    uint8_t *own, *other;
    size_t n;
    struct xclbin_plan true_card = plan;
    true_card.platform = "xilinx_u55c_gen3x16_xdma_3_202210_1";
    CHECK(!xclbin_make(&true_card, &other, &n, why), "%s", why);
    xclbin_put(other + layout + IP_BASE, 8, 0x400000);
    CHECK(!read_back(other, n, &x, &own) && !xclbin_check(x, why), "%s", why);
    xclbin_close(x);
    free(own);
    free(other);
}

static void test_xml(void)
{
    char *xml = (char *)good + section(XCLBIN_EMBEDDED_METADATA);
    const char *end = (const char *)good + good_n;
    struct xclbin *x;
    uint8_t *own;
    size_t n = strlen(XCLBIN_SIM_PLATFORM);
    char *name = memmem(xml, (size_t)(end - xml), XCLBIN_SIM_PLATFORM, n);
    char *clocks = memmem(xml, (size_t)(end - xml), "<kernelClocks>", 14);
    CHECK(name && clocks, "the metadata");
    memcpy(name, "a>b</x><arg/><ke", n);
    memcpy(clocks, "<!--<kernel>-->", 15);
    CHECK(!read_back(good, good_n, &x, &own) && !xclbin_check(x, why), "%s", why);
    xclbin_close(x);
    free(own);
}

int main(void)
{
    if (xclbin_make(&plan, &good, &good_n, why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    test_made();
    test_cut();
    test_flips();
    test_header_lies();
    test_table_lies();
    test_other_cards();
    test_xml();
    free(good);
    DONE();
}
