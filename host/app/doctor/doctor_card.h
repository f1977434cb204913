/* doctor_card.h : do cards answer all ranks, and add? */
#ifndef DOCTOR_CARD_H
#define DOCTOR_CARD_H
#include "app/doctor/doctor.h"

/* Opens a job through cards and takes a step. All ranks call it.
 *   where, fabric   words of train's --offload and --fabric     deadline_s   a silent card is given up
 *   f               rank 0: what was found
 * Returns 0, or a negative errno: -EINVAL with a line: words that no card can have. */
int doctor_card(struct comm *c, const char *where, const char *fabric, double deadline_s,
                struct doctor_finding *f);

#endif
