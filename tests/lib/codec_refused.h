/* codec_refused.h : checks that algorithms which cannot add a codec name those that can. */
#ifndef CODEC_REFUSED_H
#define CODEC_REFUSED_H
#include "capture.h"
#include "check.h"
#include "codec/codec.h"
#include "comm/algo/algo.h"
#include <errno.h>
#include <string.h>

static void check_refused(const char *word, const char *const *algos, size_t n, int n_ranks,
                          const char *line)
{
    for (size_t i = 0; i < n; i++) {
        struct codec codec;
        struct capture capture;
        const struct algo *algo;
        int group;
        capture_begin(&capture);
        const int rc = codec_parse(&(struct codec_spec){.codec = word}, &codec) < 0 ||
                               algo_find(algos[i], n_ranks, &algo, &group) < 0
                           ? 0
                           : algo_settle(algo, group, n_ranks, &codec);
        const char *text = capture_end(&capture);
        CHECK(rc == -EINVAL && strstr(text, line), "%s: %d, \"%s\"", algos[i], rc, text);
    }
}

#endif
