/* xclbin_xml.h : as much XML as the metadata of a container needs: tags and their attributes, one
 * behind the other; from bytes that anybody may have made. */
#ifndef XCLBIN_XML_H
#define XCLBIN_XML_H
#include <stdbool.h>
#include <stddef.h>

struct xml {
    const char *at, *end;
};

struct xml_tag {
    const char *name, *attributes, *end; /* [name, attributes): the name; [attributes, end) */
    bool closes;                         /* </name> */
    bool whole;                          /* <name ... /> */
};

/* The next tag; text, comments and <?...?> are skipped. 1; 0: there is none; -1: it does not end. */
int xml_next(struct xml *x, struct xml_tag *tag);
bool xml_is(const struct xml_tag *tag, const char *name);

/* The value of an attribute into to [size], as it stands. 1; 0: the tag has none of that name; -1:
 * it is longer, or has no end. */
int xml_attribute(const struct xml_tag *tag, const char *name, char *to, size_t size);

#endif
