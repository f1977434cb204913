/* wave.h : finds out whether a file of waves is whole. */
#ifndef WAVE_H
#define WAVE_H

/* Checks the blocks of a closed FST file, because Verilator ignores failed writes. Does not find a
 * cut in the last block, of names. Returns 0, or -EIO after reporting. */
int wave_check(const char *path);

#endif
