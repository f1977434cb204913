/* info.h : facts about this build and this machine, collected before they are printed as a table or
 * as JSON. */
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

/* The name of this machine's CPU, "unknown" where Linux does not say; to and returned. */
enum { INFO_CPU = 160 };
const char *info_cpu(char to[INFO_CPU]);

/* Adds a fact; one too many is dropped. */
void info_add(struct info *info, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void info_build(struct info *info);   /* compiler, libraries, backends */
void info_gpu(struct info *info);     /* the GPU, its library, or why there is none */
void info_cards(struct info *info);   /* cards that XRT knows, or why there are none */
void info_machine(struct info *info); /* CPU, memory, network interfaces, accelerator cards */

#endif
