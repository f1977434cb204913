/* job_gpu.h : the GPUs of a job whose gradients are there. */
#ifndef JOB_GPU_H
#define JOB_GPU_H
#include "job/job.h"

/* All ranks, the words read and the same: takes a GPU for each if they are wanted, and the algorithm
 * and the codec's vec_ops by which codes travel between them; job->on_gpu and job->device say how it
 * came out. Returns as job_settle(). */
int job_gpu(struct job *job, enum job_if wanted);

#endif
