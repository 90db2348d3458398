/* Checks whether this system can send and receive datagrams in the way a test asks for. */
#ifndef METHODS_H
#define METHODS_H

#include "test/test.h"

/* Whether this system and this account support the requested method; if not, the test fails. */
bool methods_known(struct test *test);
/* Return the name of the test's method, as in docs/protocol.md. */
const char *methods_of_sending(const struct settings *settings);
const char *methods_of_receiving(const struct settings *settings);

#endif
