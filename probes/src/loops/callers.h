/* Keeps the connections to a TCP listener until their preface has shown the token. The preface is
 * the first bytes of a connection, with the token (a secret that both sides of the test know). Once
 * the token is shown, the owner (the code that uses this file) takes the connection over. A
 * connection without the token is closed without an answer, and counted. A caller is the other end
 * of an accepted connection. */
#ifndef CALLERS_H
#define CALLERS_H

#include "test/test.h"

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
