/* The keeper of the undo log on Linux, macOS and FreeBSD undoes the entries of a killed agent. It
 * is a child process of the agent. An entry is a command that undoes a change of this host; the
 * entries are in slots of the agent's file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/posix/launch.h"
#include "platform/posix/posix.h"
#include "platform/posix/undo.h"
#include "platform/undo.h"
#include "pure/undo_entry.h"

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
