/* info_machine.c : adds facts: any, or those of the machine from CPU tests, /proc and /sys. */
#include "app/doctor/info.h"
#include "base/text.h"
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include <dirent.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void info_add(struct info *info, const char *key, const char *format, ...)
{
    if (info->n == INFO_MAX)
        return;
    struct info_fact *fact = &info->facts[info->n++];
    va_list ap;
    va_start(ap, format);
    snprintf(fact->key, sizeof fact->key, "%s", key);
    vsnprintf(fact->value, sizeof fact->value, format, ap);
    va_end(ap);
    text_clean(fact->key);
    text_clean(fact->value);
}

static void read_line(const char *folder, const char *name, const char *leaf, char *to, size_t size)
{
    char path[512];
    *to = 0;
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, leaf);
    FILE *f = fopen(path, "r");
    if (!f)
        return;
    if (!fgets(to, (int)size, f))
        *to = 0;
    to[strcspn(to, "\n")] = 0;
    fclose(f);
}

const char *info_cpu(char to[INFO_CPU])
{
    char line[256] = "";
    snprintf(to, INFO_CPU, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
            snprintf(to, INFO_CPU, "%.*s", (int)strcspn(strchr(line, ':') + 2, "\n"),
                     strchr(line, ':') + 2);
            break;
        }
    if (f)
        fclose(f);
    return to;
}

static void cpu_features(struct info *info)
{
#if defined(__x86_64__) || defined(__i386__)
    char text[192] = "";
    __builtin_cpu_init();
#define ADD(name, has) \
    if (has)           \
    strncat(text, text[0] ? " " name : name, sizeof text - strlen(text) - 1)
#define FEATURE(name) ADD(name, __builtin_cpu_supports(name))
    FEATURE("sse4.2");
    FEATURE("avx");
    FEATURE("avx2");
    FEATURE("fma");
    FEATURE("bmi2");
    FEATURE("avx512f");
    FEATURE("avx512bw");
    FEATURE("avx512cd");
    FEATURE("avx512dq");
    FEATURE("avx512vl");
    FEATURE("avx512vbmi");
    FEATURE("avx512vbmi2");
    FEATURE("avx512vnni");
    unsigned a, b, c, d; /* clang 14 has no names for these features */
    ADD("f16c", __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C);
    ADD("avx512fp16", __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 23 & 1);
    ADD("avx512_bf16", __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1);
    ADD("amx_bf16", __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 22 & 1);
#undef FEATURE
#undef ADD
    info_add(info, "CPU features", "%s", text);
#else
    (void)info;
#endif
}

static void cores_and_memory(struct info *info)
{
    cpu_set_t set;
    int usable = sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
    info_add(info, "cores", "%ld online, %d for this process", sysconf(_SC_NPROCESSORS_ONLN),
             usable);
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    info_add(info, "memory", "%.1f GiB", bytes / (1 << 30));
}

static void each_entry(struct info *info, const char *folder,
                       void (*visit)(struct info *, const char *, const char *))
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.')
            visit(info, folder, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static void network_interface(struct info *info, const char *folder, const char *name)
{
    char key[48], speed[32], state[32], mtu[32];
    read_line(folder, name, "speed", speed, sizeof speed);
    read_line(folder, name, "operstate", state, sizeof state);
    read_line(folder, name, "mtu", mtu, sizeof mtu);
    snprintf(key, sizeof key, "NIC %.40s", name);
    bool known = *speed && strcmp(speed, "-1") != 0;
    info_add(info, key, "%s%s, MTU %s, %s", known ? speed : "speed unknown", known ? " Mb/s" : "",
             *mtu ? mtu : "unknown", *state ? state : "state unknown");
}

static void pci_card(struct info *info, const char *folder, const char *name)
{
    char key[48], vendor[32], device[32], class[32];
    read_line(folder, name, "vendor", vendor, sizeof vendor);
    bool xilinx = !strcmp(vendor, "0x10ee"), nvidia = !strcmp(vendor, "0x10de");
    if (!xilinx && !nvidia)
        return;
    read_line(folder, name, "device", device, sizeof device);
    read_line(folder, name, "class", class, sizeof class);
    snprintf(key, sizeof key, "card %.40s", name);
    info_add(info, key, "%s, device %s, class %s", xilinx ? "AMD/Xilinx" : "NVIDIA", device, class);
}

void info_machine(struct info *info)
{
    char cpu[INFO_CPU];
    info_add(info, "CPU", "%s", info_cpu(cpu));
    cpu_features(info);
    cores_and_memory(info);
    each_entry(info, "/sys/class/net", network_interface);
    int before = info->n;
    each_entry(info, "/sys/bus/pci/devices", pci_card);
    if (info->n == before)
        info_add(info, "cards", "none found on the PCI bus");
}
