/* Opens the streams of a test by listening or connecting, over TCP or UDP. All but the peer are
 * kept out. */
#ifndef OPEN_H
#define OPEN_H

#include "test/test.h"

/* Opens every stream of the test, printing `ready` on the listening side. False: the test has
 * failed, was aborted, or its deadline has passed, and says so itself. Sockets that were opened
 * stand in test->stream either way. */
bool open_streams(struct test *test);

/* A socket for one stream with all options of the settings that apply before listen and connect. */
bool open_socket(struct test *test, plat_socket *out);

/* Whether the test goes on: not halted, and its deadline has not passed. */
bool open_may_go_on(struct test *test, uint64_t until_ns);
/* When who connects gives up. */
uint64_t open_until_ns(const struct test *test);

bool open_tcp_listen(struct test *test);
bool open_tcp_connect(struct test *test);
/* A mirror of connections: the listener itself is the stream's socket, and callers are the
 * loop's. */
bool open_tcp_callers(struct test *test);
bool open_udp_listen(struct test *test);
bool open_udp_connect(struct test *test);

/* In the stream's own thread. The asker goes on from another port; the mirror waits for it to.
 * False: the test has failed or is halted. */
bool open_udp_elsewhere(struct stream *stream);
bool open_udp_rehear(struct stream *stream);

#endif
