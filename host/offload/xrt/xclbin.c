/* xclbin.c : reads a container's header, its sections, and the three that are tables. */
#include "offload/xrt/xclbin.h"
#include "offload/xrt/xclbin_layout.h"
#include "offload/xrt/xclbin_metadata.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY(...) (snprintf(why, XCLBIN_WHY_BYTES, __VA_ARGS__), -EINVAL)

struct table {
    const uint8_t *entries;
    uint64_t n;
};

/* Requires a terminating 0: XRT would read past the end. */
static bool string_of(const uint8_t *from, size_t bytes, char *to)
{
    const uint8_t *end = memchr(from, 0, bytes);
    if (!end)
        return false;
    memcpy(to, from, (size_t)(end - from) + 1);
    for (; *to; to++)
        if (*to < ' ' || *to > '~')
            *to = '?';
    return true;
}

static int read_header(struct xclbin *x, uint64_t *end, char *why)
{
    const uint8_t *f = x->file;
    if (x->bytes < sizeof XCLBIN_MAGIC || memcmp(f, XCLBIN_MAGIC, sizeof XCLBIN_MAGIC))
        return WHY("it does not begin with 'xclbin2': it is not an xclbin");
    *end = x->bytes < AXLF_SECTIONS ? AXLF_SECTIONS : xclbin_get(f + AXLF_LENGTH, 8);
    if (*end > x->bytes)
        return WHY("it is truncated: %zu bytes of %llu", x->bytes, (unsigned long long)*end);
    if (*end < AXLF_SECTIONS)
        return WHY("its header gives a length of %llu bytes, less than the header itself",
                   (unsigned long long)*end);
    if (!string_of(f + AXLF_PLATFORM, 64, x->platform))
        return WHY("the name of its platform is not terminated");
    memcpy(x->uuid, f + AXLF_UUID, XCLBIN_UUID_BYTES);
    x->mode = (uint32_t)xclbin_get(f + AXLF_MODE, 2);
    const uint32_t n = (uint32_t)xclbin_get(f + AXLF_N_SECTIONS, 4);
    if (n > XCLBIN_SECTIONS)
        return WHY("it has %u sections: at most %d are supported", n, XCLBIN_SECTIONS);
    if (AXLF_SECTIONS + (uint64_t)n * AXLF_SECTION_ENTRY > *end)
        return WHY("its table of %u sections is truncated", n);
    x->n_sections = (int)n;
    return 0;
}

static int read_sections(struct xclbin *x, char *why)
{
    uint64_t end;
    int rc = read_header(x, &end, why);
    if (rc)
        return rc;
    const uint64_t first = AXLF_SECTIONS + (uint64_t)x->n_sections * AXLF_SECTION_ENTRY;
    for (int i = 0; i < x->n_sections; i++) {
        const uint8_t *e = x->file + AXLF_SECTIONS + (size_t)i * AXLF_SECTION_ENTRY;
        struct xclbin_section *s = &x->sections[i];
        *s = (struct xclbin_section){.kind = (uint32_t)xclbin_get(e + AXLF_SECTION_KIND, 4),
                                     .at = xclbin_get(e + AXLF_SECTION_AT, 8),
                                     .bytes = xclbin_get(e + AXLF_SECTION_BYTES, 8)};
        char name[32];
        xclbin_kind_name(s->kind, name);
        if (s->at < first || s->at % 8)
            return WHY("section %d (%s) begins at byte %llu: need a multiple of 8 of at least %llu",
                       i, name, (unsigned long long)s->at, (unsigned long long)first);
        if (s->at > end || s->bytes > end - s->at)
            return WHY("section %d (%s) ends after the end of the file", i, name);
        for (int j = 0; j < i; j++) {
            const struct xclbin_section *o = &x->sections[j];
            if (s->bytes && o->bytes && s->at < o->at + o->bytes && o->at < s->at + s->bytes)
                return WHY("sections %d and %d (%s) overlap", j, i, name);
        }
    }
    return 0;
}

static int section_of(const struct xclbin *x, uint32_t kind, struct xclbin_section *out, char *why)
{
    int found = 0;
    for (int i = 0; i < x->n_sections; i++)
        if (x->sections[i].kind == kind) {
            *out = x->sections[i];
            found++;
        }
    char name[32];
    xclbin_kind_name(kind, name);
    return found > 1 ? WHY("it has %d sections %s", found, name) : found;
}

/* Prefers kind `group`, like XRT. Returns 1, 0 if there is no table, or -EINVAL. */
static int table_of(const struct xclbin *x, uint32_t kind, uint32_t group, size_t head,
                    size_t entry, struct table *out, char *why)
{
    struct xclbin_section s = {0};
    uint32_t of = group;
    int rc = section_of(x, group, &s, why);
    if (!rc)
        rc = section_of(x, of = kind, &s, why);
    if (rc <= 0)
        return rc;
    char name[32];
    xclbin_kind_name(of, name);
    if (s.bytes < head)
        return WHY("%s has %llu bytes, too few for its number of entries", name,
                   (unsigned long long)s.bytes);
    *out = (struct table){x->file + s.at + head, xclbin_get(x->file + s.at, 4)};
    if (out->n > (s.bytes - head) / entry)
        return WHY("%s claims %llu entries: %llu bytes do not hold them", name,
                   (unsigned long long)out->n, (unsigned long long)s.bytes);
    return 1;
}

static int read_banks(struct xclbin *x, char *why)
{
    struct table t;
    const int rc =
        table_of(x, XCLBIN_MEM_TOPOLOGY, XCLBIN_GROUP_TOPOLOGY, MEM_ENTRIES, MEM_ENTRY, &t, why);
    if (rc <= 0)
        return rc;
    if (t.n > XCLBIN_BANKS)
        return WHY("it has %llu memory banks: at most %d are supported", (unsigned long long)t.n,
                   XCLBIN_BANKS);
    for (; (uint64_t)x->n_banks < t.n; x->n_banks++) {
        const uint8_t *e = t.entries + (size_t)x->n_banks * MEM_ENTRY;
        struct xclbin_bank *b = &x->banks[x->n_banks];
        *b = (struct xclbin_bank){.type = e[MEM_TYPE],
                                  .used = e[MEM_USED] != 0,
                                  .kib = xclbin_get(e + MEM_KIB, 8),
                                  .base = xclbin_get(e + MEM_BASE, 8)};
        if (!string_of(e + MEM_TAG, MEM_TAG_BYTES, b->tag))
            return WHY("the name of memory bank %d is not terminated", x->n_banks);
    }
    return 0;
}

static int read_units(struct xclbin *x, char *why)
{
    struct table t;
    const int rc = table_of(x, XCLBIN_IP_LAYOUT, XCLBIN_IP_LAYOUT, IP_ENTRIES, IP_ENTRY, &t, why);
    if (rc <= 0)
        return rc;
    for (uint64_t i = 0; i < t.n; i++) {
        const uint8_t *e = t.entries + i * IP_ENTRY;
        if (xclbin_get(e + IP_TYPE, 4) != IP_TYPE_KERNEL)
            continue;
        if (x->n_units == XCLBIN_UNITS)
            return WHY("it has more than %d compute units", XCLBIN_UNITS);
        char name[IP_NAME_BYTES];
        if (!string_of(e + IP_NAME, IP_NAME_BYTES, name))
            return WHY("the name of entry %llu of ip_layout is not terminated",
                       (unsigned long long)i);
        char *colon = strchr(name, ':');
        if (!colon || colon == name || !colon[1])
            return WHY("compute unit '%s' needs a name of the form kernel:unit", name);
        *colon = 0;
        struct xclbin_unit *u = &x->units[x->n_units++];
        *u = (struct xclbin_unit){.base = xclbin_get(e + IP_BASE, 8),
                                  .control = e[IP_PROPERTIES + 1],
                                  .layout = i < INT32_MAX ? (int)i : -1};
        snprintf(u->kernel, sizeof u->kernel, "%s", name);
        snprintf(u->name, sizeof u->name, "%s", colon + 1);
    }
    return 0;
}

/* Finds each argument's memory bank. Rejects indices out of range, because XRT does not check
 * them. */
static int read_connections(struct xclbin *x, char *why)
{
    struct table t;
    const int rc = table_of(x, XCLBIN_CONNECTIVITY, XCLBIN_GROUP_CONNECTIVITY, CONNECTION_ENTRIES,
                            CONNECTION_ENTRY, &t, why);
    if (rc <= 0)
        return rc;
    if (t.n > XCLBIN_CONNECTIONS)
        return WHY("it has %llu connections: at most %d are supported", (unsigned long long)t.n,
                   XCLBIN_CONNECTIONS);
    for (uint64_t i = 0; i < t.n; i++) {
        const uint8_t *e = t.entries + i * CONNECTION_ENTRY;
        const uint64_t arg = xclbin_get(e + CONNECTION_ARG, 4);
        const uint64_t ip = xclbin_get(e + CONNECTION_IP, 4);
        const uint64_t bank = xclbin_get(e + CONNECTION_MEM, 4);
        if (arg >= XCLBIN_UNIT_ARGS || bank >= (uint64_t)x->n_banks)
            return WHY(
                "connection %llu names argument %llu and memory bank %llu, which do not exist",
                (unsigned long long)i, (unsigned long long)arg, (unsigned long long)bank);
        for (int u = 0; u < x->n_units; u++)
            for (int a = 0; a < x->units[u].n_args && (uint64_t)x->units[u].layout == ip; a++) {
                struct xclbin_arg *to = &x->args[x->units[u].arg + a];
                if ((uint64_t)to->index == arg && to->bank < 0)
                    to->bank = (int)bank;
            }
    }
    return 0;
}

static int read_all(struct xclbin *x, char *why)
{
    int rc = read_sections(x, why);
    if (!rc)
        rc = read_banks(x, why);
    if (!rc)
        rc = read_units(x, why);
    struct xclbin_section s = {0};
    if (!rc)
        rc = section_of(x, XCLBIN_EMBEDDED_METADATA, &s, why);
    if (rc > 0)
        rc = xclbin_metadata_read(x, (const char *)x->file + s.at, s.bytes, why);
    return rc ? rc : read_connections(x, why);
}

int xclbin_of(const void *file, size_t bytes, struct xclbin **out, char *why)
{
    struct xclbin *x = calloc(1, sizeof *x);
    if (!x) {
        snprintf(why, XCLBIN_WHY_BYTES, "out of memory");
        return -ENOMEM;
    }
    x->file = file;
    x->bytes = bytes;
    const int rc = read_all(x, why);
    if (rc < 0)
        free(x);
    else
        *out = x;
    return rc;
}

void xclbin_close(struct xclbin *x)
{
    if (!x)
        return;
    free(x->own);
    free(x);
}
