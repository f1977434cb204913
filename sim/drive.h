/* drive.h : Runs a card for one program, which sends frames and clocks to it over a
 * socket, in messages of hls/card/simlink.h. */
#ifndef DRIVE_H
#define DRIVE_H
#include "sim/kernel_port.h"
#include "sim/shell.h"

/* Serves fd until the program ends the session, which is a success. mm: implementation of
 * reduce_mm. Returns 0, or a negative errno after reporting. */
int drive(const struct shell_ops *ops, const struct kernel_ops *mm, const char *wave, int fd);

#endif
