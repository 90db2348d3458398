/* Runs other programs as children of this process on Linux, macOS and FreeBSD. Each program has a
 * keeper: another child, which kills the program when this process (the agent) ends. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Folders that are searched after PATH, because the PATH of a login without a profile may lack them. */
#define MORE_FOLDERS "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define DESCRIPTORS_MAX 65536 /* closed one by one if the system has no call that closes all */

/* ---- before the fork ---- */

static size_t count_folders(const char *path)
{
    size_t count = 1;
    for (; *path != 0; path++)
        count += *path == ':';
    return count;
}

static bool is_variable(const char *entry, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static char **make_environment(void)
{
    static char locale[] = "LC_ALL=C";
    size_t count = 0, kept = 0;
    while (environ != NULL && environ[count] != NULL)
        count++;
    char **entries = calloc(count + 2, sizeof *entries);
    if (entries == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_variable(environ[i], "NETPROBE_TOKEN") && !is_variable(environ[i], "LC_ALL"))
            entries[kept++] = environ[i];
    entries[kept] = locale;
    return entries;
}

int posix_launch_prepare(struct posix_launch *launch, size_t name_length)
{
    struct rlimit files;
    launch->path = getenv("PATH") != NULL ? getenv("PATH") : "";
    launch->descriptors = DESCRIPTORS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < DESCRIPTORS_MAX)
        launch->descriptors = (int)files.rlim_cur;
    const size_t count = count_folders(launch->path) + count_folders(MORE_FOLDERS);
    launch->paths =
        calloc(1, strlen(launch->path) + sizeof MORE_FOLDERS + count * (name_length + 2));
    launch->environment = make_environment();
    return launch->paths == NULL || launch->environment == NULL ? ENOMEM : 0;
}

void posix_launch_end(struct posix_launch *launch)
{
    free(launch->paths);
    free(launch->environment);
}

pid_t posix_fork_keeper(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t process = fork();
    const int error = errno;
    if (process != 0)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return process;
}

/* ---- for a child as well: only async-signal-safe calls ---- */

static char *put_bytes(char *into, const char *text, size_t length)
{
    memcpy(into, text, length);
    return into + length;
}

/* Leaves out relative paths: the child runs in "/", where they would mean other files than in the
 * working directory of this process. */
void posix_launch_find(struct posix_launch *launch, const char *name)
{
    const char *const folders[] = {launch->path, MORE_FOLDERS};
    const size_t name_length = strlen(name);
    char *next = launch->paths;
    if (name[0] == '/') {
        next = put_bytes(next, name, name_length + 1);
    } else if (strchr(name, '/') == NULL) {
        for (int i = 0; i < 2; i++)
            for (const char *at = folders[i]; *at != 0; at += *at == ':') {
                const size_t length = strcspn(at, ":");
                if (at[0] == '/')
                    next = put_bytes(put_bytes(put_bytes(next, at, length), "/", 1), name, name_length + 1);
                at += length;
            }
    }
    *next = 0;
}

void posix_launch_close(const struct posix_launch *launch, int first)
{
    if (posix_close_from(first))
        return;
    for (int i = first; i < launch->descriptors; i++)
        close(i);
}

/* execve itself resets only signals with a handler, so ignored signals would stay ignored. */
void posix_launch_reset_signals(void)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Tries the paths in their order. Like a shell, it skips a file that may not be executed, and returns
 * EACCES only if no later path can be executed. */
int posix_launch_execute(const struct posix_launch *launch, char *const *words)
{
    bool refused = false;
    for (const char *path = launch->paths; *path != 0; path += strlen(path) + 1) {
        execve(path, words, launch->environment);
        if (errno == EACCES)
            refused = true;
        else if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG)
            return errno;
    }
    return refused ? EACCES : ENOENT;
}

/* ---- programs ---- */

#define REPORT 3 /* the child's descriptor for the reason why nothing was started */
#define GROUP_NS (5 * SECOND_NS)

/* Places of plat_program.system. */
enum { LIFELINE, KEEPER, OUTPUT /* OUTPUT: of descriptor 1; OUTPUT + 1: of descriptor 2 */ };

/* Descriptors with which a program is started: /dev/null, and the ends of pipes, reading end
 * first. */
enum end {
    NOTHING,
    OUTPUT_READ, OUTPUT_WRITE, ERRORS_READ, ERRORS_WRITE,
    REPORT_READ, REPORT_WRITE,
    LIFELINE_READ, LIFELINE_WRITE,
    ENDS
};

/* All that a child needs. */
struct launch {
    int end[ENDS];
    struct posix_launch how;
    char *const *words;
    int parent;
};

/* ---- before the fork ---- */

/* Moves a descriptor above REPORT, because the child replaces all descriptors up to REPORT. A new
 * descriptor can have such a low number if this process was started without standard
 * descriptors. */
static int move_up(int *descriptor)
{
    if (*descriptor > REPORT)
        return posix_failed(fcntl(*descriptor, F_SETFD, FD_CLOEXEC));
    int moved = fcntl(*descriptor, F_DUPFD_CLOEXEC, REPORT + 1);
    int error = posix_failed(moved);
    close(*descriptor);
    *descriptor = moved;
    return error;
}

static int open_ends(int end[ENDS])
{
    int error = 0;
    end[NOTHING] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    error = posix_failed(end[NOTHING]);
    for (int i = OUTPUT_READ; error == 0 && i < ENDS; i += 2)
        error = posix_failed(pipe(end + i));
    for (int i = NOTHING; error == 0 && i < ENDS; i++)
        error = move_up(&end[i]);
    for (int i = OUTPUT_READ; error == 0 && i <= ERRORS_READ; i += 2)
        error = posix_failed(fcntl(end[i], F_SETFL, O_NONBLOCK));
    return error;
}

static void close_end(struct launch *launch, enum end end)
{
    if (launch->end[end] >= 0)
        close(launch->end[end]);
    launch->end[end] = -1;
}

static int prepare_launch(struct launch *launch, char *const *words)
{
    memset(launch, 0, sizeof *launch);
    for (int i = 0; i < ENDS; i++)
        launch->end[i] = -1;
    launch->words = words;
    launch->parent = (int)getpid();
    int error = posix_launch_prepare(&launch->how, strlen(words[0]));
    if (error != 0)
        return error;
    posix_launch_find(&launch->how, words[0]);
    return open_ends(launch->end);
}

static void end_launch(struct launch *launch)
{
    for (int i = 0; i < ENDS; i++)
        close_end(launch, i);
    posix_launch_end(&launch->how);
}

/* ---- in a child: only async-signal-safe calls ---- */

static int take_descriptors(const struct launch *launch)
{
    static const enum end own[] = {NOTHING, OUTPUT_WRITE, ERRORS_WRITE, REPORT_WRITE};
    for (int i = 0; i <= REPORT; i++)
        if (dup2(launch->end[own[i]], i) < 0)
            return errno;
    posix_launch_close(&launch->how, REPORT + 1);
    return posix_failed(fcntl(REPORT, F_SETFD, FD_CLOEXEC));
}

static _Noreturn void become_program(const struct launch *launch)
{
    setpgid(0, 0);
    posix_child_begins(launch->parent);
    posix_launch_reset_signals();
    int error = take_descriptors(launch);
    if (error == 0)
        error = posix_failed(chdir("/"));
    if (error == 0)
        error = posix_launch_execute(&launch->how, launch->words);
    _exit(write(REPORT, &error, sizeof error) == sizeof error ? 127 : 126);
}

/* Waits until no process of a killed group is left, but at most GROUP_NS: a process of another
 * account cannot be killed, and a zombie that nobody reaps still counts as a process of the
 * group. */
static void await_group(pid_t group)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const uint64_t until_ns = plat_now_ns() + GROUP_NS;
    while ((kill(-group, 0) == 0 || errno == EPERM) && plat_now_ns() < until_ns)
        nanosleep(&pause, NULL);
}

/* The keeper kills the program's whole group when the agent has ended, in whatever way. It notices
 * the end by the lifeline, a pipe whose writing end only the agent has: the keeper's read returns
 * when the writing end is closed. The keeper has no controlling terminal, and only SIGKILL can end
 * it. The undo log (commands that undo changes of a killed agent) has a keeper with a lifeline of
 * its own, and runs the commands when all writing ends of that lifeline are closed. The program's
 * keeper holds such an end until the group is gone: otherwise the program could make a change after
 * the change was undone. */
static _Noreturn void become_keeper(const struct launch *launch, pid_t group)
{
    const int undo = posix_undo_lifeline();
    char byte;
    setsid();
    dup2(launch->end[LIFELINE_READ], STDIN_FILENO);
    if (undo >= 0)
        dup2(undo, STDOUT_FILENO);
    posix_launch_close(&launch->how, (undo >= 0 ? STDOUT_FILENO : STDIN_FILENO) + 1);
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        ;
    kill(-group, SIGKILL);
    kill(group, SIGKILL);
    if (undo >= 0)
        await_group(group);
    _exit(0);
}

/* ---- starting ---- */

static void reap_child(pid_t child)
{
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Returns the error number that the child reports. 0: the pipe was closed without a report, because
 * execve succeeded. */
static int read_report(int report)
{
    int reason = 0;
    ssize_t got;
    do
        got = read(report, &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    return got == sizeof reason ? reason : 0;
}

static int start_child(struct launch *launch, pid_t *child)
{
    *child = fork();
    if (*child < 0)
        return errno;
    if (*child == 0)
        become_program(launch);
    setpgid(*child, *child); /* the child does the same: the group exists, whichever call is first */
    close_end(launch, REPORT_WRITE);
    int error = read_report(launch->end[REPORT_READ]);
    if (error != 0)
        reap_child(*child);
    return error;
}

static int start_keeper(const struct launch *launch, pid_t group, pid_t *keeper)
{
    *keeper = posix_fork_keeper();
    if (*keeper == 0)
        become_keeper(launch, group);
    int error = posix_failed(*keeper);
    if (error != 0) {
        kill(-group, SIGKILL);
        reap_child(group);
    }
    return error;
}

int plat_program_start(struct plat_program *out, char *const *words)
{
    struct launch launch;
    pid_t child, keeper;
    int error = prepare_launch(&launch, words);
    if (error == 0)
        error = start_child(&launch, &child);
    if (error == 0)
        error = start_keeper(&launch, child, &keeper);
    if (error == 0) {
        out->pid = (unsigned)child;
        out->system[KEEPER] = keeper;
        out->system[LIFELINE] = launch.end[LIFELINE_WRITE];
        out->system[OUTPUT] = launch.end[OUTPUT_READ];
        out->system[OUTPUT + 1] = launch.end[ERRORS_READ];
        launch.end[LIFELINE_WRITE] = launch.end[OUTPUT_READ] = launch.end[ERRORS_READ] = -1;
    }
    end_launch(&launch);
    return error;
}

/* ---- while it runs ---- */

ptrdiff_t plat_program_read(struct plat_program *program, unsigned descriptor, void *into, size_t most)
{
    intptr_t *output = &program->system[OUTPUT + descriptor - 1];
    if (*output < 0)
        return 0;
    ssize_t got = read((int)*output, into, most);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return PLAT_TIMED_OUT;
    if (got <= 0) {
        close((int)*output);
        *output = -1;
    }
    return got > 0 ? got : 0;
}

/* Leaves an ended child as a zombie, so that no other process can get its number before
 * plat_program_close. */
bool plat_program_wait(struct plat_program *program, uint64_t until_ns)
{
    struct pollfd polls[2];
    siginfo_t ended;
    memset(&ended, 0, sizeof ended);
    for (int i = 0; i < 2; i++)
        polls[i] = (struct pollfd){.fd = (int)program->system[OUTPUT + i], .events = POLLIN};
    poll(polls, 2, posix_until_ms(until_ns));
    if (waitid(P_PID, (id_t)program->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno != EINTR;
    return ended.si_pid != 0;
}

/* The group has the program's number. The program itself may have moved to another group: then a
 * second call sends it the signal. */
void plat_program_stop(struct plat_program *program, bool at_once)
{
    const pid_t child = (pid_t)program->pid;
    kill(-child, at_once ? SIGKILL : SIGTERM);
    if (at_once || getpgid(child) != child)
        kill(child, at_once ? SIGKILL : SIGTERM);
}

/* Kills the keeper before wait4 frees the program's number. Afterwards a foreign group could get this
 * number, and the keeper would kill that group. */
void plat_program_close(struct plat_program *program, struct plat_program_end *out)
{
    struct rusage usage;
    int status = 0;
    memset(out, 0, sizeof *out);
    kill((pid_t)program->system[KEEPER], SIGKILL);
    reap_child((pid_t)program->system[KEEPER]);
    if (wait4((pid_t)program->pid, &status, WNOHANG, &usage) == (pid_t)program->pid) {
        out->known = out->timed = true;
        out->by_signal = WIFSIGNALED(status);
        out->code = (unsigned)(out->by_signal ? WTERMSIG(status) : WEXITSTATUS(status));
        posix_cpu_ns(&usage, &out->user_ns, &out->system_ns);
    }
    for (int i = 0; i < 2; i++)
        if (program->system[OUTPUT + i] >= 0)
            close((int)program->system[OUTPUT + i]);
    close((int)program->system[LIFELINE]);
}
