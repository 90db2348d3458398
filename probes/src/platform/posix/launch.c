/* Lets a forked child become another program, with its path, its environment and its signals. */
#define _GNU_SOURCE
#include "platform/posix/launch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "platform/plat.h"
#include "platform/posix/posix.h"

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
