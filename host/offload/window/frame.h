/* frame.h : frames of the wire protocol as a host makes and reads them, with the CPU's CRC. */
#ifndef FRAME_H
#define FRAME_H
#include "hls/card/packet.h"
#include <stdbool.h>

/* Fills in magic, len and both CRCs of h and puts it before the payload [payload_bytes] that stands
 * at frame + 64. Returns the length of the frame. */
size_t frame_put_header(struct pkt_header h, size_t payload_bytes, uint8_t *frame);

/* Is it a whole and undamaged frame of this protocol? bytes [n], any. */
bool frame_whole(const uint8_t *bytes, size_t n);

/* The tag of a packet: that of the bucket, continued with the job's secret and the packet's first
 * element and number of elements. */
uint32_t frame_tag(uint32_t tag, uint64_t nonce, uint64_t at, uint32_t count);

/* Of a packet whose result all may see, who then know this tag, but must not know the next: secret [2], of the job. */
uint32_t frame_secret_tag(uint32_t tag, const uint64_t secret[2], uint64_t at, uint32_t count);

/* "another description than the others'", for a NAK's reason. */
const char *frame_nak_reason(uint32_t status);

#endif
