/* xclbin_xml.c : reads tags and attributes of XML one after the other. */
#include "offload/xrt/xclbin_xml.h"
#include <string.h>

static bool starts(const char *at, const char *end, const char *with)
{
    const size_t n = strlen(with);
    return (size_t)(end - at) >= n && !memcmp(at, with, n);
}

/* Returns the end of the first `what` from `at` on, or NULL. */
static const char *behind(const char *at, const char *end, const char *what)
{
    for (; at < end; at++)
        if (starts(at, end, what))
            return at + strlen(what);
    return NULL;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool of_name(char c)
{
    return !blank(c) && c != '/' && c != '>' && c != '=' && c != '<' && c != '"' && c != '\'';
}

/* A '>' in quotes does not end a tag. */
static const char *tag_end(const char *at, const char *end)
{
    char quote = 0;
    for (; at < end; at++) {
        if (quote)
            quote = *at == quote ? 0 : quote;
        else if (*at == '"' || *at == '\'')
            quote = *at;
        else if (*at == '>')
            return at;
    }
    return NULL;
}

int xml_next(struct xml *x, struct xml_tag *tag)
{
    for (;;) {
        const char *at = x->at < x->end ? memchr(x->at, '<', (size_t)(x->end - x->at)) : NULL;
        if (!at)
            return 0;
        const char *past = NULL;
        if (starts(at, x->end, "<!--"))
            past = behind(at + 4, x->end, "-->");
        else if (starts(at, x->end, "<![CDATA["))
            past = behind(at + 9, x->end, "]]>");
        else if (starts(at, x->end, "<?"))
            past = behind(at + 2, x->end, "?>");
        else if (starts(at, x->end, "<!"))
            past = behind(at + 2, x->end, ">");
        else {
            const char *stop = tag_end(at + 1, x->end);
            if (!stop)
                return -1;
            tag->closes = at + 1 < stop && at[1] == '/';
            tag->whole = !tag->closes && stop > at + 1 && stop[-1] == '/';
            tag->name = at + 1 + tag->closes;
            tag->end = stop - tag->whole;
            for (tag->attributes = tag->name;
                 tag->attributes < tag->end && of_name(*tag->attributes); tag->attributes++)
                continue;
            x->at = stop + 1;
            return 1;
        }
        if (!past)
            return -1;
        x->at = past;
    }
}

bool xml_is(const struct xml_tag *tag, const char *name)
{
    const size_t n = strlen(name);
    return (size_t)(tag->attributes - tag->name) == n && !memcmp(tag->name, name, n);
}

int xml_attribute(const struct xml_tag *tag, const char *name, char *to, size_t size)
{
    const size_t n = strlen(name);
    for (const char *at = tag->attributes; at < tag->end;) {
        const char *word = at;
        while (at < tag->end && of_name(*at))
            at++;
        const size_t length = (size_t)(at - word);
        while (at < tag->end && (blank(*at) || *at == '='))
            at++;
        if (at >= tag->end)
            return 0;
        if (*at != '"' && *at != '\'') {
            at += at == word; /* no name, no value */
            continue;
        }
        const char *value = at + 1;
        at = memchr(value, *at, (size_t)(tag->end - value));
        if (!at)
            return -1;
        const size_t bytes = (size_t)(at++ - value);
        if (length != n || memcmp(word, name, n))
            continue;
        if (bytes >= size || memchr(value, 0, bytes))
            return -1;
        memcpy(to, value, bytes);
        to[bytes] = 0;
        return 1;
    }
    return 0;
}
