/* Holds the host's lock on macOS and FreeBSD by a file that the kernel locks for this process.
 * While a process holds the lock, other controllers do not measure with this host. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/shared.h"

/* All users share this file. Everybody may create files in its folder, so this name may belong to a
 * link to somebody's file, to a pipe, or to another user's file. */
static const char lock_path[] = "/tmp/netlab-host.lock";
static int lock_file = -1;
#define LINES_BYTES 300

/* Opens the file, or creates it. Only a file that this call created is made writable for others, so
 * that all users exclude each other. Returns -1 if it fails, with the reason in errno. */
static int open_lock(void)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        int fresh = open(lock_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fresh >= 0 && fchmod(fresh, 0666) == 0)
            return fresh;
        if (fresh >= 0 || errno != EEXIST)
            return fresh; /* if fchmod failed, only processes of this user can lock the file */
        /* O_NONBLOCK: do not wait for another process to open the other end of a pipe. */
        fresh = open(lock_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fresh >= 0 || errno != ENOENT)
            return fresh;
    }
    return -1;
}

/* Whether the file may be used as the lock: a regular file with one name. A file with a second name
 * (a hard link) may be somebody else's. *own: whether the file belongs to this user. */
static bool is_lock(int file, bool *own)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1)
        return false;
    *own = status.st_uid == geteuid();
    return true;
}

/* The first line of the file is the text about the holder; the second line is the number of the
 * process that wrote the text. If that process has ended, the lock is now held by a user who may
 * not write to the file. */
static void read_holder(int file, char *holder, size_t capacity)
{
    char lines[LINES_BYTES];
    ssize_t got = pread(file, lines, sizeof lines - 1, 0);
    lines[got > 0 ? got : 0] = 0;
    const char *second = strchr(lines, '\n');
    const long writer = second != NULL ? strtol(second + 1, NULL, 10) : 0;
    const bool lives = writer > 0 && (kill((pid_t)writer, 0) == 0 || errno != ESRCH);
    lock_text_clean(lines);
    snprintf(holder, capacity, "%s", lives ? lines : "another user");
}

static int write_owner(int file, const char *owner)
{
    char lines[LINES_BYTES];
    int length = snprintf(lines, sizeof lines, "%.250s\n%ld\n", owner, (long)getpid());
    if (ftruncate(file, 0) != 0 || pwrite(file, lines, (size_t)length, 0) != length)
        return errno;
    return 0;
}

/* The file is never removed: otherwise two processes could lock two files with the same name. */
int plat_lock_take(const char *owner, char *holder, size_t holder_capacity)
{
    bool own = false;
    int error = 0;
    if (lock_file >= 0)
        return 0;
    int opened = open_lock();
    if (opened < 0)
        return errno;
    if (!is_lock(opened, &own))
        error = EPERM;
    else if (flock(opened, LOCK_EX | LOCK_NB) != 0)
        error = errno;
    else if (own) /* another user's file is locked, but never written */
        error = write_owner(opened, owner);
    if (error == EWOULDBLOCK)
        read_holder(opened, holder, holder_capacity);
    if (error != 0)
        close(opened);
    else
        lock_file = opened;
    return error == EWOULDBLOCK ? PLAT_LOCKED : error;
}

void plat_lock_release(void)
{
    bool own = false;
    if (lock_file < 0)
        return;
    if (is_lock(lock_file, &own) && own && ftruncate(lock_file, 0) != 0)
        own = false; /* the owner's line stays, but its process number shows that it is old */
    close(lock_file);
    lock_file = -1;
}
