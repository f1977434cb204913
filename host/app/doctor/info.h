/* info.h : collects facts about this build and this machine. */
#ifndef INFO_H
#define INFO_H

enum { INFO_MAX = 96, INFO_VALUE = 208 };

struct info_fact {
    char key[48], value[INFO_VALUE];
};
struct info {
    struct info_fact facts[INFO_MAX];
    int n;
};

/* Writes the name of the CPU, or "unknown", to `to` and returns it. */
enum { INFO_CPU = 160 };
const char *info_cpu(char to[INFO_CPU]);

/* Drops the fact if the list is full. */
void info_add(struct info *info, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void info_build(struct info *info); /* compiler, libraries, backends */
void info_gpu(struct info *info);   /* GPU and its library, or why there is none */
void info_cards(struct info *info); /* cards known to XRT, or why there are none */
/* CPU, memory, network interfaces, accelerator cards */
void info_machine(struct info *info);

#endif
