/* xclbin_show.c : prints the contents of a container. */
#include "app/card/xclbin_show.h"
#include "base/jsonl.h"
#include <stdio.h>

static const char *memory_name(uint8_t type)
{
    static const char *const names[] = {"DDR3",         "DDR4",   "DRAM", "stream",
                                        "preallocated", "Aurora", "HBM",  "block RAM",
                                        "URAM",         "",       "host", "kernel on the CPU"};
    return type == 9 ? "stream" : type < sizeof names / sizeof *names ? names[type] : "unknown";
}

static const char *control_name(uint32_t control)
{
    static const char *const names[] = {"ap_ctrl_hs", "ap_ctrl_chain", "ap_ctrl_none"};
    return control < sizeof names / sizeof *names ? names[control] : "another control";
}

static const char *kind_name(const struct xclbin_arg *a)
{
    return a->qualifier == XCLBIN_VALUE    ? "value"
           : a->qualifier == XCLBIN_MEMORY ? "memory"
           : a->qualifier == XCLBIN_STREAM ? "stream"
                                           : "another kind";
}

static const char *bank_name(const struct xclbin *x, const struct xclbin_arg *a)
{
    return a->bank < 0 ? "" : x->banks[a->bank].tag;
}

int xclbin_show(const struct xclbin *x)
{
    char uuid[XCLBIN_UUID_TEXT], kind[32];
    xclbin_uuid_print(x->uuid, uuid);
    printf("uuid      %s\nplatform  %s\nmode      %s\n", uuid, x->platform,
           xclbin_mode_name(x->mode));
    for (int i = 0; i < x->n_sections; i++) {
        xclbin_kind_name(x->sections[i].kind, kind);
        printf("section   %-20s %10llu bytes at %llu\n", kind,
               (unsigned long long)x->sections[i].bytes, (unsigned long long)x->sections[i].at);
    }
    for (int i = 0; i < x->n_banks; i++) {
        const struct xclbin_bank *b = &x->banks[i];
        printf("memory    %-20s %10llu KiB at 0x%llx, %s%s\n", b->tag, (unsigned long long)b->kib,
               (unsigned long long)b->base, memory_name(b->type), b->used ? "" : ", not used");
    }
    for (int i = 0; i < x->n_units; i++) {
        const struct xclbin_unit *u = &x->units[i];
        printf("kernel    %-20s %s at 0x%llx, %s\n", u->name, u->kernel,
               (unsigned long long)u->base, control_name(u->control));
        for (int a = u->arg; a < u->arg + u->n_args; a++) {
            const struct xclbin_arg *g = &x->args[a];
            printf("  %5d   %-20s 0x%03x, %u bytes, %s%s%s\n", g->index, g->name, g->offset,
                   g->bytes, kind_name(g), g->bank < 0 ? "" : " ", bank_name(x, g));
        }
    }
    return 0;
}

static int json_lists(const struct xclbin *x, struct jsonl *j)
{
    int rc = 0;
    char kind[32];
    for (int i = 0; i < x->n_sections && !rc; i++) {
        xclbin_kind_name(x->sections[i].kind, kind);
        jsonl_begin(j, "section");
        jsonl_text(j, "name", kind);
        jsonl_uint(j, "at", x->sections[i].at);
        jsonl_uint(j, "bytes", x->sections[i].bytes);
        rc = jsonl_end(j);
    }
    for (int i = 0; i < x->n_banks && !rc; i++) {
        jsonl_begin(j, "memory");
        jsonl_text(j, "name", x->banks[i].tag);
        jsonl_text(j, "type", memory_name(x->banks[i].type));
        jsonl_bool(j, "used", x->banks[i].used);
        jsonl_uint(j, "base", x->banks[i].base);
        jsonl_uint(j, "kib", x->banks[i].kib);
        rc = jsonl_end(j);
    }
    return rc;
}

static int json_unit(const struct xclbin *x, const struct xclbin_unit *u, struct jsonl *j)
{
    jsonl_begin(j, "kernel");
    jsonl_text(j, "name", u->kernel);
    jsonl_text(j, "unit", u->name);
    jsonl_uint(j, "base", u->base);
    jsonl_text(j, "control", control_name(u->control));
    int rc = jsonl_end(j);
    for (int a = u->arg; a < u->arg + u->n_args && !rc; a++) {
        const struct xclbin_arg *g = &x->args[a];
        jsonl_begin(j, "argument");
        jsonl_text(j, "unit", u->name);
        jsonl_int(j, "index", g->index);
        jsonl_text(j, "name", g->name);
        jsonl_uint(j, "offset", g->offset);
        jsonl_uint(j, "bytes", g->bytes);
        jsonl_text(j, "type", kind_name(g));
        jsonl_text(j, "memory", g->bank < 0 ? NULL : bank_name(x, g));
        rc = jsonl_end(j);
    }
    return rc;
}

int xclbin_show_json(const struct xclbin *x)
{
    struct jsonl j;
    char uuid[XCLBIN_UUID_TEXT];
    xclbin_uuid_print(x->uuid, uuid);
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "xclbin");
    jsonl_text(&j, "uuid", uuid);
    jsonl_text(&j, "platform", x->platform);
    jsonl_text(&j, "mode", xclbin_mode_name(x->mode));
    jsonl_uint(&j, "bytes", x->bytes);
    int rc = jsonl_end(&j);
    if (!rc)
        rc = json_lists(x, &j);
    for (int i = 0; i < x->n_units && !rc; i++)
        rc = json_unit(x, &x->units[i], &j);
    return rc;
}
