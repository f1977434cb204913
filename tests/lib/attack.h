/* attack.h : makes hostile frames. */
#ifndef ATTACK_H
#define ATTACK_H
#include "card_frames.h"
#include "rtl_rand.h"

enum { ATTACK_BYTES = 2048, ATTACK_KEPT = 512 };

/* captured frames; new ones overwrite the oldest */
struct attack {
    uint64_t random; /* generator's state, not 0 */
    size_t n_kept, next;
    size_t lengths[ATTACK_KEPT];
    uint8_t kept[ATTACK_KEPT][ATTACK_BYTES];
};

static inline void attack_overhear(struct attack *a, const uint8_t *frame, size_t n)
{
    if (n > ATTACK_BYTES)
        return;
    memcpy(a->kept[a->next], frame, n);
    a->lengths[a->next] = n;
    a->next = (a->next + 1) % ATTACK_KEPT;
    a->n_kept += a->n_kept < ATTACK_KEPT;
}

static inline size_t attack_forge(struct attack *a, uint8_t *out)
{
    uint8_t payload[22 * PKT_BEAT_BYTES];
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.key = (uint64_t)rtl_rand(&a->random) << 32 | rtl_rand(&a->random);
    h.job = (uint16_t)(rtl_rand(&a->random) % 5);
    h.rank = (uint16_t)(rtl_rand(&a->random) % 5);
    h.slot = (uint16_t)(rtl_rand(&a->random) % 130);
    h.chunk = rtl_rand(&a->random) % 40;
    h.op = (uint8_t)(1 + rtl_rand(&a->random) % 3);
    h.beats = 22;
    h.in_fmt = h.out_fmt = 5 << 4 | 2;
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)rtl_rand(&a->random);
    return frame_put(h, payload, 22, out);
}

static inline size_t attack_frame(struct attack *a, uint8_t *out)
{
    const uint32_t what = rtl_rand(&a->random) % 4;
    size_t n = 1 + rtl_rand(&a->random) % 1600;
    if (what == 0) {
        for (size_t i = 0; i < n; i++)
            out[i] = (uint8_t)rtl_rand(&a->random);
        return n;
    }
    if (what == 1 || !a->n_kept)
        return attack_forge(a, out);
    const size_t i = rtl_rand(&a->random) % a->n_kept;
    n = a->lengths[i];
    memcpy(out, a->kept[i], n);
    if (what == 2)
        out[rtl_rand(&a->random) % (rtl_rand(&a->random) % 2 && n > 64 ? 64 : n)] ^=
            (uint8_t)(1 << rtl_rand(&a->random) % 8);
    return n;
}

#endif
