/* Holds the host's lock on Linux by a listening socket in the abstract namespace. The socket
 * belongs to this network namespace and vanishes when the process ends. While a process holds the
 * lock, other controllers do not measure with this host. */
#define _GNU_SOURCE
#include "platform/shared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static const char lock_name[] = "\0netlab/host";
static int lock_socket = -1;
static char lock_owner[256];
static plat_thread lock_thread;

static struct sockaddr_un lock_address(socklen_t *length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, lock_name, sizeof lock_name - 1);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof lock_name - 1);
    return address;
}

/* Sends the text about the owner of the lock to every process that connects. */
static void answer_for_the_lock(void *argument)
{
    int listener = *(int *)argument;
    for (;;) {
        int asker = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (asker < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (asker < 0)
            return;
        (void)!send(asker, lock_owner, strlen(lock_owner), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(asker);
    }
}

/* Adds the account of the holder, because any account can listen under this name and can send any
 * text. The kernel reports the account that the holder had when it began to listen
 * (SO_PEERCRED). */
static void add_account(int asker, char *holder, size_t capacity)
{
    struct ucred account;
    socklen_t length = sizeof account;
    const size_t used = strlen(holder);
    if (getsockopt(asker, SOL_SOCKET, SO_PEERCRED, &account, &length) == 0 &&
        account.uid != geteuid())
        snprintf(holder + used, capacity - used, "%s(user %u)", used > 0 ? " " : "",
                 (unsigned)account.uid);
}

#define ACCOUNT_BYTES 24 /* enough for " (user 4294967295)" */

static void ask_the_holder(char *holder, size_t capacity)
{
    socklen_t length;
    struct sockaddr_un address = lock_address(&length);
    int asker = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_usec = 200000};
    holder[0] = 0;
    if (asker < 0)
        return;
    setsockopt(asker, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(asker, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(asker, (struct sockaddr *)&address, length) == 0) {
        ssize_t got = recv(asker, holder, capacity - ACCOUNT_BYTES, 0);
        holder[got > 0 ? got : 0] = 0;
        lock_text_clean(holder);
        add_account(asker, holder, capacity);
    }
    close(asker);
}

int plat_lock_take(const char *owner, char *holder, size_t holder_capacity)
{
    socklen_t length;
    struct sockaddr_un address = lock_address(&length);
    if (lock_socket >= 0)
        return 0;
    int fresh = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fresh < 0)
        return errno;
    int error = 0;
    if (bind(fresh, (struct sockaddr *)&address, length) < 0 || listen(fresh, 16) < 0)
        error = errno;
    if (error != 0) {
        close(fresh);
        if (error != EADDRINUSE)
            return error;
        ask_the_holder(holder, holder_capacity);
        return PLAT_LOCKED;
    }
    snprintf(lock_owner, sizeof lock_owner, "%.250s\n", owner);
    lock_socket = fresh;
    error = plat_thread_start(&lock_thread, answer_for_the_lock, &lock_socket);
    if (error != 0) {
        close(fresh);
        lock_socket = -1;
    }
    return error;
}

void plat_lock_release(void)
{
    if (lock_socket < 0)
        return;
    shutdown(lock_socket, SHUT_RDWR);
    plat_thread_join(lock_thread);
    close(lock_socket);
    lock_socket = -1;
}
