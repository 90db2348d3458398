/* Opens the streams of a test by listening or connecting, over TCP or UDP. Only the peer, which has
 * the token of the test, is accepted. An asker sends requests and measures round trips; a mirror
 * answers requests. */
#ifndef OPEN_H
#define OPEN_H

#include "test/test.h"

/* A TCP peer that does not answer for this long has vanished. It is longer than replugging a cable
 * takes, and shorter than the time that a deadline allows after the window. */
#define GIVE_UP_S 10

/* Opens every stream of the test, and prints `ready` on the listening side. Returns false if the
 * test has failed, was aborted, or its deadline has passed, and the test's error is set. Open
 * sockets are in test->stream in any case. */
bool open_streams(struct test *test);

/* Makes a socket for one stream with all options that must be set before listen and connect. */
bool open_socket(struct test *test, plat_socket *out);
/* Does the same as open_socket, but takes the first free port that is *port or above, if a range of
 * ports was requested. *port becomes this port. */
bool open_socket_from(struct test *test, plat_socket *out, unsigned *port);
/* Whether a listen or connect call failed because of its port, and the requested range has a
 * further port, which becomes *port. A bind call may succeed before: two sockets that may reuse a
 * port can both bind to it, but only one of them can listen or connect. */
bool open_next_port(const struct test *test, int error, unsigned *port);

/* Whether the test continues: it is not halted, and until_ns has not come. */
bool open_may_go_on(struct test *test, uint64_t until_ns);
/* The time at which the connecting side gives up. */
uint64_t open_until_ns(const struct test *test);

bool open_tcp_listen(struct test *test);
bool open_tcp_connect(struct test *test);
/* For a mirror with kind=connect: the listening socket becomes the stream's socket, and the
 * mirror's loop accepts connections. */
bool open_tcp_callers(struct test *test);
bool open_udp_listen(struct test *test);
bool open_udp_connect(struct test *test);

/* Called in the stream's thread when an asker changes its port: open_udp_elsewhere in the asker,
 * and open_udp_rehear in the mirror. The mirror waits for a hello (the datagram that opens a
 * stream) from the new port. Returns false if the test has failed or is halted. */
bool open_udp_elsewhere(struct stream *stream);
bool open_udp_rehear(struct stream *stream);

#endif
