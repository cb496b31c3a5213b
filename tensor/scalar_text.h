/* Text of numbers, for the scalar types. */
#ifndef CT_SCALAR_TEXT_H
#define CT_SCALAR_TEXT_H

/* Puts '.' in place of the locale's decimal point, whatever that is, in a text made by "%g". */
void ct__point(char *text);

#endif
