/* The folder, the files and the keeper of the undo log on Linux, macOS and FreeBSD. The log has
 * commands that undo changes of this host; each is an entry, in a slot of its agent's file. The
 * keeper is a child process of the agent that undoes the entries of a killed agent. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pure/undo_entry.h"

#define LOCK_TRIES 50 /* of 10 ms each: a process that lists entries locks a file briefly */

static const char outer_name[] = "netlab", inner_name[] = "undo";

/* macOS: fsync alone leaves the data in the disk's own cache. Some file systems cannot sync a
 * folder and return EINVAL. */
static int posix_undo_sync(int descriptor)
{
#ifdef F_FULLFSYNC
    if (fcntl(descriptor, F_FULLFSYNC) == 0)
        return 0;
#endif
    while (fsync(descriptor) != 0)
        if (errno != EINTR)
            return errno == EINVAL ? 0 : errno;
    return 0;
}

/* ---- the folder ---- */

static int say_why(int error, const char *path, const char *sentence, char *why, size_t capacity)
{
    char text[120];
    plat_describe(error, text, sizeof text);
    snprintf(why, capacity, "%s: %s", path, sentence != NULL ? sentence : text);
    return error;
}

static int make_folder(int parent, const char *name)
{
    if (mkdirat(parent, name, 0700) != 0)
        return errno == EEXIST ? 0 : errno;
    return posix_undo_sync(parent);
}

/* Makes a folder if it is missing. Its parent must belong to this account. */
static int make_in_own(char *path)
{
    struct stat status;
    char *slash = strrchr(path, '/');
    if (stat(path, &status) == 0)
        return 0;
    if (errno != ENOENT)
        return errno;
    *slash = 0;
    int parent = open(slash == path ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = posix_failed(parent);
    *slash = '/';
    if (error != 0)
        return error;
    error = posix_failed(fstat(parent, &status));
    if (error == 0 && status.st_uid != geteuid())
        error = EACCES;
    if (error == 0)
        error = make_folder(parent, slash + 1);
    close(parent);
    return error;
}

static int make_base(char *path)
{
    int error = 0;
    for (char *end = path; error == 0 && end != NULL;) {
        end = strchr(end + 1, '/');
        if (end != NULL)
            *end = 0;
        if (strrchr(path, '/')[1] != 0)
            error = make_in_own(path);
        if (end != NULL)
            *end = '/';
    }
    return error;
}

/* $XDG_STATE_HOME, or ~/.local/state. */
static int base_path(char into[PLAT_UNDO_PATH])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (state != NULL && state[0] == '/')
        length = snprintf(into, PLAT_UNDO_PATH, "%s", state);
    else if (home != NULL && home[0] == '/')
        length = snprintf(into, PLAT_UNDO_PATH, "%s/.local/state", home);
    if (length < 0)
        return ENOENT;
    return length < PLAT_UNDO_PATH - (int)sizeof "/netlab/undo" ? 0 : ENAMETOOLONG;
}

/* Opens the folder `name` in the folder *at, closes *at, and makes *at the new folder. Refuses a
 * folder to which other accounts may write: they could add commands, which this process would
 * run. */
static int enter(int *at, const char *name, bool make, const char **wrong)
{
    struct stat status;
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int next = openat(*at, name, flags), error = posix_failed(next);
    if (error == ENOENT && make) {
        error = make_folder(*at, name);
        if (error == 0)
            error = posix_failed(next = openat(*at, name, flags));
    }
    if (error != 0 && fstatat(*at, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISDIR(status.st_mode)) {
        *wrong = "this is a link or a file, not a folder";
        error = EPERM;
    }
    if (error == 0)
        error = posix_failed(fstat(next, &status));
    if (error == 0 && status.st_uid != geteuid()) {
        *wrong = "the folder belongs to another account";
        error = EPERM;
    } else if (error == 0 && (status.st_mode & 022) != 0) {
        *wrong = "other accounts may write to the folder";
        error = EPERM;
    }
    close(*at);
    *at = next;
    return error;
}

/* Opens the folder in which the log's folders are. It must belong to root or to this account: with
 * sudo, HOME may be the home of the account that called sudo. */
static int enter_base(const char *path, int *at, const char **wrong)
{
    struct stat status;
    *at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*at < 0 || fstat(*at, &status) != 0)
        return errno;
    if (status.st_uid == geteuid() || status.st_uid == 0)
        return 0;
    *wrong = "the folder belongs to another account";
    return EPERM;
}

int plat_undo_folder_open(struct plat_undo_folder *out, bool make, char *why, size_t capacity)
{
    int at = -1;
    const char *wrong = NULL;
    memset(out, 0, sizeof *out);
    out->system = -1;
    int error = base_path(out->path);
    if (error == ENOENT)
        return say_why(error, "HOME", "it names no folder", why, capacity);
    if (error == 0 && make)
        error = make_base(out->path);
    if (error == 0)
        error = enter_base(out->path, &at, &wrong);
    const char *const names[] = {outer_name, inner_name};
    for (int i = 0; error == 0 && i < 2; i++) {
        const size_t used = strlen(out->path);
        snprintf(out->path + used, sizeof out->path - used, "/%s", names[i]);
        error = enter(&at, names[i], make, &wrong);
    }
    out->system = at;
    if (error == 0)
        return 0;
    plat_undo_folder_close(out);
    return say_why(error, out->path, wrong, why, capacity);
}

void plat_undo_folder_close(struct plat_undo_folder *folder)
{
    if (folder->system >= 0)
        close((int)folder->system);
    folder->system = -1;
}

static bool is_name(const char *name)
{
    return strlen(name) == PLAT_UNDO_NAME && strspn(name, "0123456789abcdef") == PLAT_UNDO_NAME;
}

static int compare_names(const void *first, const void *second)
{
    return strcmp(first, second);
}

unsigned plat_undo_names(const struct plat_undo_folder *folder, char (*names)[PLAT_UNDO_NAME + 1],
                         unsigned most)
{
    unsigned count = 0;
    int again = openat((int)folder->system, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    if (list == NULL) {
        if (again >= 0)
            close(again);
        return 0;
    }
    for (struct dirent *entry; count < most && (entry = readdir(list)) != NULL;)
        if (is_name(entry->d_name))
            memcpy(names[count++], entry->d_name, PLAT_UNDO_NAME + 1);
    closedir(list);
    qsort(names, count, sizeof names[0], compare_names);
    return count;
}

/* ---- files ---- */

/* Locks the file. Returns 0, an error of flock, or ENOENT if the file was removed before it was
 * locked. */
static int lock_file(int file, int how, unsigned tries)
{
    struct stat status;
    while (flock(file, how | LOCK_NB) != 0) {
        if (errno != EINTR && (errno != EWOULDBLOCK || --tries == 0))
            return errno;
        plat_sleep_ns(10 * MILLISECOND_NS);
    }
    int error = posix_failed(fstat(file, &status));
    return error == 0 && status.st_nlink == 0 ? ENOENT : error;
}

static int create_one(const struct plat_undo_folder *folder, struct plat_undo_file *out)
{
    unsigned char random[PLAT_UNDO_NAME / 2];
    int error = plat_random(random, sizeof random);
    if (error != 0)
        return error;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out->name + 2 * i, 3, "%02x", random[i]);
    int file = openat((int)folder->system, out->name,
                      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    error = posix_failed(file);
    if (error == 0)
        error = lock_file(file, LOCK_EX, LOCK_TRIES);
    if (error == 0)
        error = posix_undo_sync((int)folder->system);
    out->system = file;
    if (error != 0 && file >= 0)
        plat_undo_close(folder, out, true);
    return error;
}

/* Tries three times: a process that lists entries may find the new file before it is locked, and
 * remove it because it is empty. */
int plat_undo_create(const struct plat_undo_folder *folder, struct plat_undo_file *out)
{
    int error = ENOENT;
    for (int i = 0; i < 3 && (error == ENOENT || error == EEXIST || error == EWOULDBLOCK); i++)
        error = create_one(folder, out);
    return error;
}

static bool is_own_file(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           status.st_nlink == 1 && (status.st_mode & 022) == 0;
}

int plat_undo_open(const struct plat_undo_folder *folder, const char *name, bool alone,
                   struct plat_undo_file *out)
{
    if (!is_name(name))
        return ENOENT;
    /* O_NONBLOCK: do not wait for another process to open the other end of a pipe. */
    int file = openat((int)folder->system, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error = posix_failed(file);
    if (error == 0 && !is_own_file(file))
        error = EPERM;
    if (error == 0)
        error = lock_file(file, alone ? LOCK_EX : LOCK_SH, 1);
    if (error != 0 && file >= 0)
        close(file);
    out->system = file;
    memcpy(out->name, name, sizeof out->name);
    return error == EWOULDBLOCK ? PLAT_LOCKED : error;
}

ptrdiff_t plat_undo_read(const struct plat_undo_file *file, uint64_t at, void *into, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = pread((int)file->system, (char *)into + done, length - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -(ptrdiff_t)errno;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ptrdiff_t)done;
}

static int posix_undo_write(int file, unsigned long long at, const void *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t put = pwrite(file, (const char *)bytes + done, length - done, (off_t)(at + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        done += (size_t)put;
    }
    return posix_undo_sync(file);
}

int plat_undo_write(const struct plat_undo_file *file, uint64_t at, const void *bytes, size_t length)
{
    return posix_undo_write((int)file->system, at, bytes, length);
}

void plat_undo_close(const struct plat_undo_folder *folder, struct plat_undo_file *file, bool remove)
{
    if (remove && unlinkat((int)folder->system, file->name, 0) == 0)
        posix_undo_sync((int)folder->system);
    close((int)file->system);
    file->system = -1;
}

/* ---- the keeper ---- */

#define KILLED_NS (3 * SECOND_NS) /* if a killed program runs longer, the system cannot end it */
#define NOT_STARTED 127           /* as in shells: exit code if the program could not be started */

/* Descriptors of the keeper. */
enum { LIFELINE, LOG_FILE, LOG_FOLDER, KEPT };

/* What the keeper needs, made before the fork. After the fork, the keeper makes only
 * async-signal-safe calls. */
struct keeping {
    struct posix_launch how;
    char name[PLAT_UNDO_NAME + 1]; /* of the file */
    int lifeline[2], file, folder;
};

static _Atomic int lifeline_end = -1;

int posix_undo_lifeline(void)
{
    return atomic_load(&lifeline_end);
}

/* ---- in the keeper ---- */

static unsigned char slot_bytes[UNDO_SLOT_BYTES];
static struct undo_entry one_entry;

static enum undo_slot read_slot(unsigned slot)
{
    const struct plat_undo_file file = {.system = LOG_FILE};
    ptrdiff_t got = plat_undo_read(&file, (uint64_t)slot * UNDO_SLOT_BYTES, slot_bytes,
                                   sizeof slot_bytes);
    return got < 0 ? UNDO_DAMAGED : undo_entry_read(slot_bytes, (size_t)got, &one_entry);
}

static _Noreturn void become_undoing(const struct posix_launch *how, char *const *words, int parent)
{
    setpgid(0, 0);
    posix_child_begins(parent);
    posix_launch_reset_signals();
    int nothing = open("/dev/null", O_RDWR);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        dup2(nothing, i);
    posix_launch_close(how, STDERR_FILENO + 1);
    if (nothing >= 0 && chdir("/") == 0)
        posix_launch_execute(how, words);
    _exit(NOT_STARTED);
}

static bool has_ended(pid_t child)
{
    siginfo_t ended;
    memset(&ended, 0, sizeof ended);
    return waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid != 0;
}

static void kill_group(pid_t group)
{
    kill(-group, SIGKILL);
    kill(group, SIGKILL);
}

/* Waits for the end of the program, and kills it at its deadline. */
static struct undo_try await_end(pid_t child, uint64_t deadline_ns)
{
    struct undo_try last = {.ending = UNDO_KILLED};
    uint64_t until_ns = plat_now_ns() + deadline_ns, pause_ns = MILLISECOND_NS;
    bool killed = false, ended;
    int status = 0;
    while (!(ended = has_ended(child))) {
        if (plat_now_ns() >= until_ns && killed)
            break;
        if (plat_now_ns() >= until_ns) {
            kill_group(child);
            killed = true;
            until_ns = plat_now_ns() + KILLED_NS;
        }
        const struct timespec pause = posix_timespec(pause_ns);
        nanosleep(&pause, NULL);
        pause_ns = pause_ns < 32 * MILLISECOND_NS ? 2 * pause_ns : pause_ns;
    }
    kill_group(child);
    if (ended && waitpid(child, &status, 0) == child && !killed) {
        last.ending = WIFSIGNALED(status) ? UNDO_SIGNALLED : UNDO_EXITED;
        last.code = (unsigned)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    return last;
}

static struct undo_try run_entry(struct posix_launch *how)
{
    struct undo_try last = {.ending = UNDO_EXITED, .code = NOT_STARTED};
    char *words[UNDO_WORDS_MAX + 1];
    const int parent = (int)getpid();
    undo_entry_words(&one_entry, words);
    posix_launch_find(how, words[0]);
    pid_t child = fork();
    if (child == 0)
        become_undoing(how, words, parent);
    if (child > 0) {
        setpgid(child, child);
        last = await_end(child, one_entry.deadline_ns);
    }
    last.wall_ns = plat_wall_ns();
    return last;
}

/* Drops the entry if its command succeeded; otherwise writes the outcome into the slot. Returns
 * whether the entry is dropped. */
static bool settle_slot(unsigned slot, const struct undo_try *last)
{
    static const unsigned char zeros[UNDO_FREE_BYTES];
    const unsigned long long at = (unsigned long long)slot * UNDO_SLOT_BYTES;
    unsigned char bytes[UNDO_TRY_BYTES];
    if (last->ending == UNDO_EXITED && last->code == 0)
        return posix_undo_write(LOG_FILE, at, zeros, sizeof zeros) == 0;
    undo_try_write(last, one_entry.number, bytes);
    posix_undo_write(LOG_FILE, at + UNDO_TRY_AT, bytes, sizeof bytes);
    return false;
}

static void undo_all(struct keeping *keeping)
{
    static uint64_t numbers[UNDO_SLOTS];
    bool empty = true;
    for (unsigned slot = 0; slot < UNDO_SLOTS; slot++) {
        const enum undo_slot state = read_slot(slot);
        numbers[slot] = state == UNDO_USED ? one_entry.number : 0;
        empty = empty && state != UNDO_DAMAGED;
    }
    unsigned slot = undo_latest(numbers, UINT64_MAX);
    while (slot < UNDO_SLOTS) {
        struct undo_try last;
        empty = read_slot(slot) == UNDO_USED && (last = run_entry(&keeping->how), true) &&
                settle_slot(slot, &last) && empty;
        slot = undo_latest(numbers, numbers[slot]);
    }
    if (empty && unlinkat(LOG_FOLDER, keeping->name, 0) == 0)
        posix_undo_sync(LOG_FOLDER);
}

/* The lifeline is a pipe. Its writing end is open in the agent, and in the keepers of the agent's
 * programs (program.c) until these programs have ended. If the agent writes a byte, it has dealt
 * with the entries itself. If the pipe is closed without a byte, the keeper undoes the entries. The
 * keeper shares the agent's lock of the file and has no controlling terminal. It is forked with all
 * signals blocked, so from its first instruction only SIGKILL can end it. */
static _Noreturn void become_undo_keeper(struct keeping *keeping)
{
    char byte;
    ssize_t got;
    setsid();
    const int own[KEPT] = {keeping->lifeline[0], keeping->file, keeping->folder};
    for (int i = 0; i < KEPT; i++)
        if (dup2(own[i], i) < 0)
            _exit(1);
    posix_launch_close(&keeping->how, KEPT);
    do
        got = read(LIFELINE, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        undo_all(keeping);
    _exit(0);
}

/* ---- in the agent ---- */

static void reap(pid_t keeper)
{
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void forget(struct plat_undo_keeper *keeper)
{
    if (keeper->process == 0)
        return;
    atomic_store(&lifeline_end, -1);
    close((int)keeper->lifeline);
    keeper->process = 0;
}

/* Copies a descriptor to a number above those that the keeper replaces. */
static int copy_up(intptr_t descriptor, int *copy)
{
    *copy = fcntl((int)descriptor, F_DUPFD_CLOEXEC, KEPT);
    return posix_failed(*copy);
}

static int open_keeping(struct keeping *keeping, const struct plat_undo_folder *folder,
                        const struct plat_undo_file *file)
{
    int ends[2];
    int error = posix_launch_prepare(&keeping->how, UNDO_NAME_MAX);
    memcpy(keeping->name, file->name, sizeof keeping->name);
    if (error == 0)
        error = copy_up(file->system, &keeping->file);
    if (error == 0)
        error = copy_up(folder->system, &keeping->folder);
    if (error != 0)
        return error;
    if (pipe(ends) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        const int failed = copy_up(ends[i], &keeping->lifeline[i]);
        error = error != 0 ? error : failed;
        close(ends[i]);
    }
    return error;
}

static void close_keeping(struct keeping *keeping)
{
    const int own[] = {keeping->lifeline[0], keeping->lifeline[1], keeping->file, keeping->folder};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] >= 0)
            close(own[i]);
    posix_launch_end(&keeping->how);
}

int plat_undo_keep(struct plat_undo_keeper *keeper, const struct plat_undo_folder *folder,
                   const struct plat_undo_file *file)
{
    struct keeping keeping = {.lifeline = {-1, -1}, .file = -1, .folder = -1};
    if (keeper->process > 0 && waitpid((pid_t)keeper->process, NULL, WNOHANG) == 0)
        return 0;
    forget(keeper);
    int error = open_keeping(&keeping, folder, file);
    pid_t process = error == 0 ? posix_fork_keeper() : -1;
    if (process == 0)
        become_undo_keeper(&keeping);
    if (error == 0)
        error = posix_failed(process);
    if (error == 0) {
        keeper->process = process;
        keeper->lifeline = keeping.lifeline[1];
        atomic_store(&lifeline_end, keeping.lifeline[1]);
        keeping.lifeline[1] = -1;
    }
    close_keeping(&keeping);
    return error;
}

void plat_undo_dismiss(struct plat_undo_keeper *keeper)
{
    const pid_t process = (pid_t)keeper->process;
    if (process == 0)
        return;
    if (write((int)keeper->lifeline, "", 1) != 1)
        kill(process, SIGKILL);
    forget(keeper);
    reap(process);
}
