/* xclbin_xml.h : reads tags and attributes of the XML metadata of a container (xclbin). The input
 * is untrusted. */
#ifndef XCLBIN_XML_H
#define XCLBIN_XML_H
#include <stdbool.h>
#include <stddef.h>

struct xml {
    const char *at, *end;
};

struct xml_tag {
    /* name ends at `attributes`, these at `end` */
    const char *name, *attributes, *end;
    bool closes; /* </name> */
    bool whole;  /* <name ... /> */
};

/* Finds the next tag, skipping text, comments and <?...?>. Returns 1, 0 if there is none, or -1 if
 * a tag does not end. */
int xml_next(struct xml *x, struct xml_tag *tag);
bool xml_is(const struct xml_tag *tag, const char *name);

/* Copies an attribute's raw value into to[size]. Returns 1, 0 if the tag has none, or -1 if it is
 * longer or does not end. */
int xml_attribute(const struct xml_tag *tag, const char *name, char *to, size_t size);

#endif
