/* What the suites share: skipping, and where the built things lie. */
#ifndef CT_TEST_H
#define CT_TEST_H

#include <check.h>

/* Says why a test cannot run here and counts it as skipped. Call it once, then return from the test. */
void ct_test_skip(const char *reason);

/* The folder of the built programs: the runner's own, absolute. Tests run in the project's root. */
const char *ct_test_bin_dir(void);

#endif
