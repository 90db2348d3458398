/* Opens the streams of a test by listening or connecting, over TCP or UDP. Only the peer, which has
 * the token (a secret that both sides of the test know), is accepted. An asker sends requests and
 * measures round trips; a mirror answers requests. */
#ifndef OPEN_H
#define OPEN_H

#include "test/test.h"

/* Opens every stream of the test, and prints `ready` on the listening side. Returns false if the
 * test has failed, was aborted, or its deadline has passed, and the test's error is set. Open
 * sockets are in test->stream in any case. */
bool open_streams(struct test *test);

/* Makes a socket for one stream with all options that must be set before listen and connect. Takes
 * the first free port that is *port or above, if a range of ports was requested; *port becomes this
 * port. */
bool open_socket_from(struct test *test, plat_socket *out, unsigned *port);
/* Whether a listen or connect call failed because of its port, and the requested range has a
 * further port, which becomes *port. A bind call may succeed before: two sockets that may reuse a
 * port can both bind to it, but only one of them can listen or connect. */
bool open_next_port(const struct test *test, int error, unsigned *port);

/* Called in the stream's thread when an asker changes its port: open_udp_elsewhere in the asker,
 * and open_udp_rehear in the mirror. The mirror waits for a hello (the datagram that opens a
 * stream) from the new port. Returns false if the test has failed or is halted. */
bool open_udp_elsewhere(struct stream *stream);
bool open_udp_rehear(struct stream *stream);

/* ---- connections to a TCP listener, until their preface has shown the token ---- */

/* The preface is the first bytes of a connection. Once the token is shown, the owner (the code that
 * uses these functions) takes the connection over. A connection without the token is closed without
 * an answer, and counted. A caller is the other end of an accepted connection. */
#define CALLERS_MAX 16

struct caller {
    plat_socket socket;
    struct plat_address peer;
    uint64_t until_ns;      /* deadline of the preface, which the peer sends at once */
    bool trusted, answered; /* set by the owner: token is right; answer was sent */
    uint64_t got_bytes;     /* of the preface; later used by the owner */
    unsigned char preface[DATAPORT_PREFACE];
};

struct callers {
    struct test *test;
    plat_socket listener;              /* accepts without blocking */
    struct caller caller[CALLERS_MAX]; /* oldest first */
    unsigned count;
};

/* Waits until until_ns for the listener and all callers, then calls `hear` for each caller that has
 * sent data; `hear` may dismiss its caller. */
typedef void (*callers_hear)(struct callers *callers, unsigned index);
void callers_wait(struct callers *callers, uint64_t until_ns, callers_hear hear);
/* Reads a caller's preface, and nothing after it; the preface does not count as received data.
 * Returns true if the preface is complete, has the token, and names a stream of the test. Returns
 * false if it is not complete yet, or if the caller was dismissed. */
bool callers_preface(struct callers *callers, unsigned index, unsigned *stream);
/* Removes a caller and closes its socket if it still has one; by RST if the caller is not
 * trusted. */
void callers_dismiss(struct callers *callers, unsigned index);

#endif
