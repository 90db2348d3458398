/* Holds the host's lock on Windows by a named pipe. The kernel lets only one process make the first
 * instance of a name, and removes the name when that process ends; other processes open the pipe to
 * read the owner. While a process holds the lock, other controllers do not measure with this
 * host. */
#include "platform/windows/windows.h"

#include <stdio.h>
#include <string.h>

#include "platform/shared.h"

static const wchar_t lock_name[] = L"\\\\.\\pipe\\netlab-host";
static const DWORD patience_ms = 200;

static HANDLE lock_pipe = INVALID_HANDLE_VALUE;
static HANDLE lock_over; /* event: the lock is released */
static char lock_owner[256];
static plat_thread lock_thread;

/* Waits for the end of a call on the pipe. False: the call failed or took too long, or the lock is
 * released. */
static bool finished(OVERLAPPED *call, BOOL is_started, DWORD timeout_ms)
{
    HANDLE events[2] = {lock_over, call->hEvent};
    DWORD error = is_started ? ERROR_SUCCESS : GetLastError(), moved;
    if (is_started || error == ERROR_PIPE_CONNECTED)
        return true;
    if (error != ERROR_IO_PENDING)
        return false;
    if (WaitForMultipleObjects(2, events, FALSE, timeout_ms) == WAIT_OBJECT_0 + 1)
        return GetOverlappedResult(lock_pipe, call, &moved, FALSE);
    CancelIoEx(lock_pipe, call);
    GetOverlappedResult(lock_pipe, call, &moved, TRUE);
    return false;
}

/* Sends the owner of the lock to each process that opens the pipe. Then waits a little until that
 * process has read the text, because the end of the connection discards unread data. */
static void answer_for_the_lock(void *argument)
{
    OVERLAPPED call;
    char nothing;
    memset(&call, 0, sizeof call);
    call.hEvent = (HANDLE)argument;
    while (WaitForSingleObject(lock_over, 0) == WAIT_TIMEOUT) {
        if (!finished(&call, ConnectNamedPipe(lock_pipe, &call), INFINITE)) {
            /* A client connected and left before it was served, or the lock was released. */
            DisconnectNamedPipe(lock_pipe);
            WaitForSingleObject(lock_over, 1);
            continue;
        }
        if (finished(&call, WriteFile(lock_pipe, lock_owner, (DWORD)strlen(lock_owner), NULL, &call),
                     patience_ms))
            finished(&call, ReadFile(lock_pipe, &nothing, 1, NULL, &call), patience_ms);
        DisconnectNamedPipe(lock_pipe);
    }
    CloseHandle(call.hEvent);
}

/* Reads the text of the holder, for a limited time: any process may have made a pipe of this name,
 * and might send nothing. */
static void read_holder(HANDLE pipe, char *holder, size_t capacity)
{
    OVERLAPPED call;
    DWORD got = 0;
    memset(&call, 0, sizeof call);
    call.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (call.hEvent == NULL)
        return;
    if (ReadFile(pipe, holder, (DWORD)capacity - 1, NULL, &call) ||
        GetLastError() == ERROR_IO_PENDING) {
        if (WaitForSingleObject(call.hEvent, patience_ms) != WAIT_OBJECT_0)
            CancelIoEx(pipe, &call);
        if (!GetOverlappedResult(pipe, &call, &got, TRUE))
            got = 0;
    }
    CloseHandle(call.hEvent);
    holder[got] = 0;
    lock_text_clean(holder);
}

/* By default, the process that made a pipe may use the rights of each process that opens the pipe.
 * SECURITY_IDENTIFICATION lets the maker only learn our identity (Windows documentation:
 * Impersonation Levels; CreateFile, SECURITY_SQOS_PRESENT). */
static HANDLE open_pipe(void)
{
    return CreateFileW(lock_name, GENERIC_READ, 0, NULL, OPEN_EXISTING,
                       FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, NULL);
}

/* Reads the text of the holder. False: the pipe does not exist, or no longer exists. */
static bool ask_the_holder(char *holder, size_t capacity)
{
    holder[0] = 0;
    for (int attempt = 0; attempt < 3; attempt++) {
        HANDLE pipe = open_pipe();
        if (pipe == INVALID_HANDLE_VALUE) {
            if (GetLastError() == ERROR_FILE_NOT_FOUND)
                return false;
            WaitNamedPipeW(lock_name, patience_ms); /* another process is reading the pipe */
            continue;
        }
        read_holder(pipe, holder, capacity);
        CloseHandle(pipe);
        return true;
    }
    return true;
}

static HANDLE make_pipe(void)
{
    /* The default rights let all local accounts read; remote clients are refused. */
    return CreateNamedPipeW(lock_name,
                            PIPE_ACCESS_DUPLEX | FILE_FLAG_FIRST_PIPE_INSTANCE |
                                FILE_FLAG_OVERLAPPED,
                            PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1,
                            sizeof lock_owner, 0, 0, NULL);
}

int plat_lock_take(const char *owner, char *holder, size_t holder_capacity)
{
    if (lock_pipe != INVALID_HANDLE_VALUE)
        return 0;
    HANDLE fresh = make_pipe();
    if (fresh == INVALID_HANDLE_VALUE) {
        DWORD error = GetLastError();
        if (error != ERROR_ACCESS_DENIED && error != ERROR_PIPE_BUSY)
            return (int)error;
        ask_the_holder(holder, holder_capacity);
        return PLAT_LOCKED;
    }
    HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    lock_over = CreateEventW(NULL, TRUE, FALSE, NULL);
    snprintf(lock_owner, sizeof lock_owner, "%.250s\n", owner);
    lock_pipe = fresh;
    int error = event == NULL || lock_over == NULL ? (int)GetLastError() : 0;
    if (error == 0)
        error = plat_thread_start(&lock_thread, answer_for_the_lock, event);
    if (error != 0) {
        if (event != NULL)
            CloseHandle(event);
        if (lock_over != NULL)
            CloseHandle(lock_over);
        CloseHandle(fresh);
        lock_pipe = INVALID_HANDLE_VALUE;
    }
    return error;
}

void plat_lock_release(void)
{
    if (lock_pipe == INVALID_HANDLE_VALUE)
        return;
    SetEvent(lock_over);
    plat_thread_join(lock_thread);
    CloseHandle(lock_pipe);
    CloseHandle(lock_over);
    lock_pipe = INVALID_HANDLE_VALUE;
}
