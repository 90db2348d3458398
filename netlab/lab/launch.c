/* launch.exe starts a command as the sshd of OpenSSH for Windows does.
 *
 * It runs "c:\windows\system32\cmd.exe" /c "COMMAND" with the command unchanged between the quotes.
 * A job object ends all processes that are left when cmd.exe has ended. The command comes in the
 * environment, because wine would quote the command again on wine's own command line. Without a
 * command, cmd.exe runs interactively. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdio.h>

#define VARIABLE L"NETLAB_LAB_COMMAND"
#define LONGEST 32767 /* Windows' limit of a command line, in characters */

static wchar_t command[LONGEST + 1], line[LONGEST + 1];

static int refuse(const char *what)
{
    fprintf(stderr, "netlab: %s: error %lu\n", what, GetLastError());
    return 255;
}

static HANDLE job_that_ends_with_us(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    HANDLE job = CreateJobObjectW(NULL, NULL);
    limits.BasicLimitInformation.LimitFlags =
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_BREAKAWAY_OK;
    if (job != NULL)
        SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    return job;
}

int main(void)
{
    const wchar_t *cmd = L"\"c:\\windows\\system32\\cmd.exe\"";
    DWORD length = GetEnvironmentVariableW(VARIABLE, command, LONGEST), status = 255;
    STARTUPINFOW start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION child;
    HANDLE job;

    if (length > LONGEST || (length != 0 && length + wcslen(cmd) + 6 > LONGEST)) {
        SetLastError(ERROR_FILENAME_EXCED_RANGE);
        return refuse("the command");
    }
    wcscpy(line, cmd);
    if (length != 0) {
        wcscat(line, L" /c \"");
        wcscat(line, command);
        wcscat(line, L"\"");
    }
    SetEnvironmentVariableW(VARIABLE, NULL);
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    job = job_that_ends_with_us();
    if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &start, &child))
        return refuse("cmd.exe");
    if (job != NULL)
        AssignProcessToJobObject(job, child.hProcess);
    ResumeThread(child.hThread);
    /* With these handles open, a reader of the command's output would wait for this program too. */
    CloseHandle(start.hStdInput);
    CloseHandle(start.hStdOutput);
    CloseHandle(start.hStdError);
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &status);
    ExitProcess(status);
}
