#ifndef CT_ERFC_TABLE_H
#define CT_ERFC_TABLE_H

/* The complementary error function and its slope at multiples of 1/128 from 7/8 to 6. */

enum { CT__ERFC_ROWS = 657 };

extern const double ct__erfc_table[CT__ERFC_ROWS][2];

#endif
