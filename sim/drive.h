/* drive.h : a card for one program alone, which gives it frames and time over a socket, in the
 * words of hls/card/simlink.h. */
#ifndef DRIVE_H
#define DRIVE_H
#include "sim/kernel_port.h"
#include "sim/shell.h"

/* mm: its reduce_mm. Until the other end of fd has had enough, which is no failure. Returns 0 or a negative errno with
 * a line. */
int drive(const struct shell_ops *ops, const struct kernel_ops *mm, const char *wave, int fd);

#endif
