/* capture.h : captures stderr between two calls. */
#ifndef CAPTURE_H
#define CAPTURE_H
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct capture {
    FILE *file;
    int stderr_fd;
    char text[1024];
};

static inline void capture_begin(struct capture *c)
{
    fflush(stderr);
    c->file = tmpfile();
    c->stderr_fd = dup(2);
    if (!c->file || c->stderr_fd < 0 || dup2(fileno(c->file), 2) < 0)
        perror("cannot capture stderr");
}

static inline const char *capture_end(struct capture *c)
{
    fflush(stderr);
    dup2(c->stderr_fd, 2);
    close(c->stderr_fd);
    rewind(c->file);
    c->text[fread(c->text, 1, sizeof c->text - 1, c->file)] = '\0';
    fclose(c->file);
    return c->text;
}

static inline int capture_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

#endif
