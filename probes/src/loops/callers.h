/* Keeps the connections to a TCP listener until their preface has shown the token. Then the owner
 * (the code that uses this file) takes them over. A connection without the token is closed without
 * an answer, and counted. A caller is the other end of such a connection. */
#ifndef CALLERS_H
#define CALLERS_H

#include "test/test.h"

#define CALLERS_MAX 16

struct caller {
    plat_socket socket;
    struct plat_address peer;
    uint64_t until_ns;      /* deadline of the preface; the peer is never later */
    bool trusted, answered; /* set by the owner: it has the token; its answer was sent */
    uint64_t got_bytes;     /* of the preface; later used by the owner */
    unsigned char preface[DATAPORT_PREFACE];
};

struct callers {
    struct test *test;
    plat_socket listener;              /* accepts without blocking */
    struct caller caller[CALLERS_MAX]; /* oldest first */
    unsigned count;
};

/* Waits until until_ns for the listener and all callers, then calls `hear` for those with data; `hear`
 * may dismiss its caller. */
typedef void (*callers_hear)(struct callers *callers, unsigned index);
void callers_wait(struct callers *callers, uint64_t until_ns, callers_hear hear);
/* Reads no further than the preface, whose bytes are never counted. True: it is complete, has the
 * token, and names a stream of the test. False: not yet, or the caller was dismissed. */
bool callers_preface(struct callers *callers, unsigned index, unsigned *stream);
/* Closes a caller's socket if it still has one; by reset if it is not trusted. */
void callers_dismiss(struct callers *callers, unsigned index);

#endif
