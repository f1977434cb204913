/* protocol.h : numbers the version of all formats that ranks of a job exchange. Raise it when a
 * message, a packed layout or the meaning of a code changes. A job refuses ranks with another
 * number.
 *
 * tests/comm/test_protocol.c computes PROTOCOL_CRC from packet.def, packed codes and the messages
 * of jobs. If the value has changed, the test fails and prints the new one. Store it with a new
 * version number, or under the old number if only the test itself has changed. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#define PROTOCOL     8
#define PROTOCOL_CRC 0x3d59a8afu

#endif
