/* number.h : real numbers as text with a decimal point, whatever locale the program has set
 * (setlocale is the program's). */
#ifndef NUMBER_H
#define NUMBER_H
#include <stddef.h>

/* As strtod(). */
double number_read(const char *text, char **end);

/* x with so many significant digits, as printf's %.*g; to [size]. Returns as snprintf. */
int number_print(char *to, size_t size, int digits, double x);

#endif
