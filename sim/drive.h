/* drive.h : runs a card for one program, in messages of hls/card/simlink.h over a socket. */
#ifndef DRIVE_H
#define DRIVE_H
#include "sim/kernel_port.h"
#include "sim/shell.h"

/* Serves socket fd. Returns 0 when the program ends the session, or a negative errno after
 * reporting. mm: implements the kernels on memory. */
int drive(const struct shell_ops *ops, const struct kernel_ops *mm, const char *wave, int fd);

#endif
