/* Keeps those who call a TCP listener until their preface has shown the token. The owner takes
 * them over then; who does not show it is closed in silence, and counted. */
#ifndef CALLERS_H
#define CALLERS_H

#include "test/test.h"

#define CALLERS_MAX 16

struct caller {
    plat_socket socket;
    struct plat_address peer;
    uint64_t until_ns;      /* without a preface by then it is not the peer */
    bool trusted, answered; /* set by the owner: the token was right; all it is owed was sent */
    uint64_t got_bytes;     /* of the preface; then the owner's */
    unsigned char preface[DATAPORT_PREFACE];
};

struct callers {
    struct test *test;
    plat_socket listener;              /* accepts without blocking */
    struct caller caller[CALLERS_MAX]; /* the oldest first */
    unsigned count;
};

/* Waits until until_ns for the listener and for everybody who called, then hears those who have
 * said something; `hear` may dismiss the one that it hears. */
typedef void (*callers_hear)(struct callers *callers, unsigned index);
void callers_wait(struct callers *callers, uint64_t until_ns, callers_hear hear);
/* Reads no further than the preface, whose bytes are never counted. True: it is there, has the
 * token, and names a stream of the test. False: not yet, or the caller is gone. */
bool callers_preface(struct callers *callers, unsigned index, unsigned *stream);
/* Closes a caller's socket, if it has one still: by reset if it is not trusted. */
void callers_dismiss(struct callers *callers, unsigned index);

#endif
