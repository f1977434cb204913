/* drive.h : Runs a card for one program, in messages of hls/card/simlink.h over a socket. */
#ifndef DRIVE_H
#define DRIVE_H
#include "sim/kernel_port.h"
#include "sim/shell.h"

/* Serves fd until the program ends the session, a success. mm: implements reduce_mm. Returns 0,
 * or a negative errno after reporting. */
int drive(const struct shell_ops *ops, const struct kernel_ops *mm, const char *wave, int fd);

#endif
