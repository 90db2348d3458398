/* The conductor: it waits, reads counters at the edges of the window, and ends the test in time. */
#ifndef CONDUCT_H
#define CONDUCT_H

#include "test/test.h"

/* Each returns when the test has nothing more to do: ended well, failed, or told to stop. */
void conduct_sending(struct test *test);
void conduct_receiving(struct test *test);
void conduct_asking(struct test *test);
void conduct_mirroring(struct test *test);
/* One packet each way. */
void conduct_check(struct test *test);

#endif
