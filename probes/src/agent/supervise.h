/* The supervisor reads counters at the edges of the window, and ends the test in time. It is the
 * thread that leads one test. The window is the time that is measured; its edges are its begin and
 * its end. */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include "test/test.h"

/* Each function returns when the test has nothing more to do, because it succeeded, failed, or was
 * stopped. */
void supervise_sending(struct test *test);
void supervise_receiving(struct test *test);
void supervise_asking(struct test *test);
void supervise_mirroring(struct test *test);
/* Sends one packet each way (kind=check). */
void supervise_check(struct test *test);

#endif
