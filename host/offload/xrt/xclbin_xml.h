/* xclbin_xml.h : Reads the subset of XML that a container's metadata needs: tags and attributes.
 * The bytes are not trusted. */
#ifndef XCLBIN_XML_H
#define XCLBIN_XML_H
#include <stdbool.h>
#include <stddef.h>

struct xml {
    const char *at, *end;
};

struct xml_tag {
    /* name: [name, attributes); attributes: [attributes, end) */
    const char *name, *attributes, *end;
    bool closes; /* </name> */
    bool whole;  /* <name ... /> */
};

/* Finds the next tag, skipping text, comments and <?...?>. Returns 1, 0 (none) or -1 (a
 * tag does not end). */
int xml_next(struct xml *x, struct xml_tag *tag);
bool xml_is(const struct xml_tag *tag, const char *name);

/* Copies the raw value of an attribute into to[size]. Returns 1, 0 (the tag has no such attribute)
 * or -1 (it is longer, or has no end). */
int xml_attribute(const struct xml_tag *tag, const char *name, char *to, size_t size);

#endif
