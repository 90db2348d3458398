/* Runs other programs as children of this process on Windows, each in a job of its own. */
#include "platform/windows/windows.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "pure/text.h"

#define PATH_MAX_UNITS 32767 /* longest environment variable, and longest command line */
#define PIPE_BYTES 65536
#define KILLED_CODE 1 /* exit code of a program that was ended by its job */

/* Places of plat_program.system. */
enum { PROCESS, JOB, OUTPUT /* OUTPUT: of descriptor 1; OUTPUT + 1: of descriptor 2 */ };

/* What a program is started with. `given`: its standard input, output and errors; `read`: the ends
 * from which this process reads its output and errors. */
struct launch {
    HANDLE read[2], given[3];
    wchar_t file[1024];
    wchar_t *line;
};

/* ---- which program, and its words ---- */

static int widen(const char *text, wchar_t *into, size_t capacity)
{
    int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, into, (int)capacity);
    return length > 0 ? 0 : (int)GetLastError();
}

static bool is_absolute(const wchar_t *name)
{
    return (name[0] != 0 && name[1] == L':' && (name[2] == L'\\' || name[2] == L'/')) ||
           (name[0] == L'\\' && name[1] == L'\\');
}

/* Searches only PATH: Windows itself would search the agent's folder and the working directory
 * first. Refuses batch files: a shell would run them and would split their arguments once more. */
static int find_file(const char *name, wchar_t *into, DWORD capacity)
{
    wchar_t wide[300];
    int error = widen(name, wide, sizeof wide / sizeof wide[0]);
    if (error != 0)
        return error;
    if (!is_absolute(wide) && wcspbrk(wide, L"\\/:") != NULL)
        return ERROR_FILE_NOT_FOUND;
    wchar_t *path = calloc(PATH_MAX_UNITS + 1, sizeof *path);
    if (path == NULL)
        return ERROR_NOT_ENOUGH_MEMORY;
    GetEnvironmentVariableW(L"PATH", path, PATH_MAX_UNITS);
    DWORD length = SearchPathW(path, wide, L".exe", capacity, into, NULL);
    error = length == 0 ? (int)GetLastError() : length >= capacity ? ERROR_FILENAME_EXCED_RANGE : 0;
    free(path);
    const wchar_t *type = error == 0 ? wcsrchr(into, L'.') : NULL;
    if (type != NULL && (_wcsicmp(type, L".bat") == 0 || _wcsicmp(type, L".cmd") == 0))
        error = ERROR_BAD_EXE_FORMAT;
    return error;
}

static int make_line(char *const *words, wchar_t **out)
{
    size_t room = 1, used = 0;
    for (unsigned i = 0; words[i] != NULL; i++)
        room += 2 * strlen(words[i]) + 4;
    char *line = calloc(1, room);
    *out = calloc(room, sizeof **out);
    int error = line == NULL || *out == NULL ? ERROR_NOT_ENOUGH_MEMORY : 0;
    for (unsigned i = 0; error == 0 && words[i] != NULL; i++) {
        if (i > 0)
            line[used++] = ' ';
        used += text_quote(words[i], line + used);
    }
    if (error == 0)
        error = widen(line, *out, room);
    free(line);
    return error;
}

/* ---- starting ---- */

static int open_handles(struct launch *launch)
{
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    launch->given[0] = CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                   &inherited, OPEN_EXISTING, 0, NULL);
    if (launch->given[0] == INVALID_HANDLE_VALUE) {
        launch->given[0] = NULL;
        return (int)GetLastError();
    }
    for (int i = 0; i < 2; i++)
        if (!CreatePipe(&launch->read[i], &launch->given[1 + i], NULL, PIPE_BYTES) ||
            !SetHandleInformation(launch->given[1 + i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT))
            return (int)GetLastError();
    return 0;
}

static void close_handle(HANDLE *handle)
{
    if (*handle != NULL)
        CloseHandle(*handle);
    *handle = NULL;
}

/* The program inherits only the listed handles, because other handles may be inheritable, too. It
 * starts suspended, so that it does not run before it is in its job. */
static int create_process(struct launch *launch, PROCESS_INFORMATION *made)
{
    STARTUPINFOEXW startup = {.StartupInfo = {.cb = sizeof startup,
                                              .dwFlags = STARTF_USESTDHANDLES,
                                              .hStdInput = launch->given[0],
                                              .hStdOutput = launch->given[1],
                                              .hStdError = launch->given[2]}};
    const DWORD flags = CREATE_SUSPENDED | CREATE_NO_WINDOW | EXTENDED_STARTUPINFO_PRESENT;
    SIZE_T size = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    startup.lpAttributeList = malloc(size);
    if (startup.lpAttributeList == NULL)
        return ERROR_NOT_ENOUGH_MEMORY;
    int error = 0;
    if (!InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &size)) {
        error = (int)GetLastError();
    } else {
        if (!UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                       launch->given, sizeof launch->given, NULL, NULL) ||
            !CreateProcessW(launch->file, launch->line, NULL, NULL, TRUE, flags, NULL, NULL,
                            &startup.StartupInfo, made))
            error = (int)GetLastError();
        DeleteProcThreadAttributeList(startup.lpAttributeList);
    }
    free(startup.lpAttributeList);
    return error;
}

/* The job ends all its processes when its last handle is closed. If this process ends, the system
 * closes this process's handles. */
static int make_job(HANDLE *job)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits;
    memset(&limits, 0, sizeof limits);
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    *job = CreateJobObjectW(NULL, NULL);
    if (*job == NULL || !SetInformationJobObject(*job, JobObjectExtendedLimitInformation, &limits,
                                                 sizeof limits))
        return (int)GetLastError();
    return 0;
}

static int start_in_job(struct launch *launch, HANDLE job, PROCESS_INFORMATION *made)
{
    int error = create_process(launch, made);
    if (error != 0)
        return error;
    if (!AssignProcessToJobObject(job, made->hProcess) ||
        ResumeThread(made->hThread) == (DWORD)-1) {
        error = (int)GetLastError();
        TerminateProcess(made->hProcess, KILLED_CODE);
        CloseHandle(made->hProcess);
    }
    CloseHandle(made->hThread);
    return error;
}

/* Sets what the program inherits. A program that crashes then shows no window that somebody would
 * have to close. This process can still read its token: getenv uses the C library's copy of the
 * variables. */
static void prepare_heritage(void)
{
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
    SetEnvironmentVariableW(L"NETPROBE_TOKEN", NULL);
    SetEnvironmentVariableW(L"LC_ALL", L"C");
}

int plat_program_start(struct plat_program *out, char *const *words)
{
    struct launch launch;
    PROCESS_INFORMATION made;
    HANDLE job = NULL;
    memset(&launch, 0, sizeof launch);
    prepare_heritage();
    int error = find_file(words[0], launch.file, sizeof launch.file / sizeof launch.file[0]);
    if (error == 0)
        error = make_line(words, &launch.line);
    if (error == 0)
        error = open_handles(&launch);
    if (error == 0)
        error = make_job(&job);
    if (error == 0)
        error = start_in_job(&launch, job, &made);
    if (error == 0) {
        out->pid = made.dwProcessId;
        out->system[PROCESS] = (intptr_t)made.hProcess;
        out->system[JOB] = (intptr_t)job;
        for (int i = 0; i < 2; i++) {
            out->system[OUTPUT + i] = (intptr_t)launch.read[i];
            launch.read[i] = NULL;
        }
        job = NULL;
    }
    for (int i = 0; i < 2; i++)
        close_handle(&launch.read[i]);
    for (int i = 0; i < 3; i++)
        close_handle(&launch.given[i]);
    close_handle(&job);
    free(launch.line);
    return error;
}

/* ---- while it runs ---- */

/* A read of a pipe waits, so only as much is read as the pipe holds. */
ptrdiff_t plat_program_read(struct plat_program *program, unsigned descriptor, void *into, size_t most)
{
    intptr_t *output = &program->system[OUTPUT + descriptor - 1];
    DWORD held = 0, got = 0;
    if (*output == 0)
        return 0;
    if (PeekNamedPipe((HANDLE)*output, NULL, 0, NULL, &held, NULL)) {
        if (held == 0)
            return PLAT_TIMED_OUT;
        if (ReadFile((HANDLE)*output, into, held < most ? held : (DWORD)most, &got, NULL) && got > 0)
            return (ptrdiff_t)got;
    }
    CloseHandle((HANDLE)*output);
    *output = 0;
    return 0;
}

/* Windows cannot wait for a pipe and a process at once, so this call does not return when the
 * program prints something. */
bool plat_program_wait(struct plat_program *program, uint64_t until_ns)
{
    const uint64_t now = plat_now_ns();
    const uint64_t left_ns = until_ns > now ? until_ns - now : 0;
    const uint64_t left_ms = (left_ns + MILLISECOND_NS - 1) / MILLISECOND_NS;
    return WaitForSingleObject((HANDLE)program->system[PROCESS],
                               left_ms > 3600000 ? 3600000 : (DWORD)left_ms) != WAIT_TIMEOUT;
}

/* Windows cannot ask a program without a window to end. */
void plat_program_stop(struct plat_program *program, bool at_once)
{
    (void)at_once;
    TerminateJobObject((HANDLE)program->system[JOB], KILLED_CODE);
}

void plat_program_close(struct plat_program *program, struct plat_program_end *out)
{
    HANDLE process = (HANDLE)program->system[PROCESS], job = (HANDLE)program->system[JOB];
    FILETIME began, ended, system, user;
    DWORD code;
    memset(out, 0, sizeof *out);
    if (WaitForSingleObject(process, 0) == WAIT_OBJECT_0 && GetExitCodeProcess(process, &code)) {
        out->known = true;
        out->code = code;
        out->timed = GetProcessTimes(process, &began, &ended, &system, &user);
    }
    if (out->timed) {
        out->user_ns = windows_hundred_ns(user) * 100;
        out->system_ns = windows_hundred_ns(system) * 100;
    }
    for (int i = 0; i < 2; i++)
        if (program->system[OUTPUT + i] != 0)
            CloseHandle((HANDLE)program->system[OUTPUT + i]);
    close_handle(&process);
    close_handle(&job);
}
