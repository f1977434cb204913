/* job_gpu.c : gradients on GPUs: one for each rank (several may share one), and by what codes travel
 * between them. */
#include "job/job_gpu.h"
#include "base/err.h"
#include "comm/comm_node.h"
#include "comm/gpu/mates_choose.h"
#include "vec/gpu/gpu.h"

/* Has every rank a GPU? 1, 0 (why is filled on ranks that have none), or a negative errno. */
static int all_have_one(struct comm *c, char *why, size_t size)
{
    int8_t none = !gpu_here(why, size);
    TRY(comm_max_i8(c, &none, 1));
    return !none;
}

static int take(struct job *j)
{
    const int place = comm_rank_on_node(j->comm);
    TRY(place);
    err_hold();
    const int rc = gpu_open(place);
    j->on_gpu = rc == 0;
    return comm_agree(j->comm, rc);
}

int job_gpu(struct job *j, enum job_if wanted)
{
    if (wanted == JOB_NO)
        return 0;
    const int here = wanted == JOB_YES ? 1 : all_have_one(j->comm, j->device, sizeof j->device);
    if (here <= 0)
        return here;
    TRY(take(j));
    err_hold();
    const bool cards = j->cards.where || node_sum_wanted(j->node_word);
    return comm_agree(j->comm, mates_choose(j->comm, cards, codec_rescales(&j->codec), j->group,
                                            &j->algo, &j->codec.ops, j->device, sizeof j->device));
}
