/* xclbin_xml.h : Reads the subset of XML that a container's metadata needs: tags and
 * attributes. The input is not trusted. */
#ifndef XCLBIN_XML_H
#define XCLBIN_XML_H
#include <stdbool.h>
#include <stddef.h>

struct xml {
    const char *at, *end;
};

struct xml_tag {
    /* The name ends at `attributes`, the attributes end at `end`. */
    const char *name, *attributes, *end;
    bool closes; /* </name> */
    bool whole;  /* <name ... /> */
};

/* Finds the next tag. Skips text, comments and <?...?>. Returns 1, 0 if there is
 * none, or -1 if a tag does not end. */
int xml_next(struct xml *x, struct xml_tag *tag);
bool xml_is(const struct xml_tag *tag, const char *name);

/* Copies the raw value of an attribute into to[size]. Returns 1, 0 if the tag has no such
 * attribute, or -1 if the value is longer or does not end. */
int xml_attribute(const struct xml_tag *tag, const char *name, char *to, size_t size);

#endif
