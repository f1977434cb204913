/* cost_card.c : seconds of a bucket through a card in the network: packets up, results down. */
#include "hls/card/card.h"
#include "hls/card/packet.h"
#include "job/cost.h"
#include <math.h>

enum {
    UDP_HEADERS = 28, /* IP and UDP */
    ETHERNET = 38     /* header, check sum, preamble, gap */
};

/* Payload beats of a frame that a path of this MTU takes in one piece. */
static int frame_beats(int mtu)
{
    const int room = (mtu - UDP_HEADERS - PKT_HEADER_BYTES) / PKT_BEAT_BYTES;
    return room < 1 ? 1 : room < CARD_BEATS ? room : CARD_BEATS;
}

size_t cost_frame_bytes(int mtu)
{
    return PKT_HEADER_BYTES + (size_t)frame_beats(mtu) * PKT_BEAT_BYTES;
}

/* Return the rate of a rank's packets: that of its own port, or of its share of the card's. */
static double rank_bps(const struct cost_cluster *cluster)
{
    const double port = cluster->card_link_bps > 0 ? cluster->card_link_bps : cluster->link_bps;
    return fmin(cluster->link_bps, port / cluster->n_ranks);
}

void cost_card(const struct cost_job *job, const struct cost_cluster *cluster, size_t n,
               struct cost *sum)
{
    const struct cost_rates *rates = &job->rates[0];
    const struct vec_sum *codes = codec_card_sum(&job->codecs[0]);
    const size_t in = mf_width(codes->in), out = mf_width(codes->out);
    const size_t each =
        (size_t)frame_beats(cluster->mtu) * PKT_BEAT_BYTES * 8 / (in > out ? in : out);
    const double frames = (double)((n + each - 1) / each);
    const double headers = frames * (UDP_HEADERS + PKT_HEADER_BYTES);
    const double up = (double)vec_bytes(codes->in, n) + headers,
                 down = (double)vec_bytes(codes->out, n) + headers;
    const double rtt = cluster->card_rtt_s > 0 ? cluster->card_rtt_s : 2 * cluster->latency_s;
    const double carried = (up > down ? up : down) + frames * ETHERNET;
    const double wire = cost_wire_s(cluster, sum, carried, rank_bps(cluster) / 8);
    const double window = cluster->card_slots > 0 ? frames / cluster->card_slots * rtt : 0;
    const double bytes = 4 * (double)n;
    const double card =
        cluster->n_ranks * (up - frames * UDP_HEADERS) * cost_at(&cluster->card_s, bytes);
    const double messages =
        (up + down) * cost_at(&rates->port_s, bytes) + 2 * frames * rates->message_s;
    /* a card on the ranks' cores receives, adds and sends for each rank what that sends and gets */
    const double adds = cluster->card_on_host ? (double)vec_bytes(codes->in, n) * rates->add_s : 0;
    const double port = cluster->card_on_host ? 2 * messages : messages;
    const double decodes = bytes * rates->decode_s;
    const double slowest = wire > window   ? wire > card ? wire : card
                           : window > card ? window
                                           : card;
    sum->steps += 2;
    sum->bytes += (uint64_t)(up > down ? up : down);
    sum->latency_s += rtt, sum->wire_s += slowest;
    sum->port_s += port, sum->add_s += adds, sum->cast_s += decodes;
    sum->reduce_s +=
        rtt + cost_together(slowest, port + adds + decodes, cost_at(&rates->unhidden, bytes));
}
