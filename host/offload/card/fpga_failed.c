/* fpga_failed.c : why a call to a card failed, in one line, kept for who decides what it means. */
#include "offload/card/fpga.h"
#include <stdarg.h>
#include <stdio.h>

int fpga_failed(struct fpga *card, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(card->why, sizeof card->why, format, ap);
    va_end(ap);
    return code;
}
