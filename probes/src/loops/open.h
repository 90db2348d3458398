/* Opens the streams of a test by listening or connecting, over TCP or UDP. All but the peer are
 * kept out. */
#ifndef OPEN_H
#define OPEN_H

#include "test/test.h"

/* A TCP peer that answers nothing for so long has vanished: longer than a cable is out that somebody
 * moves, and shorter than what a deadline allows beyond the window. */
#define GIVE_UP_S 10

/* Opens every stream of the test, printing `ready` on the listening side. False: the test has
 * failed, was aborted, or its deadline has passed, and says so itself. Sockets that were opened
 * stand in test->stream either way. */
bool open_streams(struct test *test);

/* A socket for one stream with all options of the settings that apply before listen and connect. */
bool open_socket(struct test *test, plat_socket *out);
/* The same with the first free port from *port on, where a range was asked for. */
bool open_socket_from(struct test *test, plat_socket *out, unsigned *port);
/* Whether a listen or connect call was refused for the port, and the range has another, *port: of two
 * that may use a port again both can bind it, and one of them listens or connects. */
bool open_next_port(const struct test *test, int error, unsigned *port);

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
