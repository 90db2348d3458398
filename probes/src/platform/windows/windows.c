/* Starts netprobe on Windows, reads its input, writes its output, and reads the registry. */
#include "platform/windows/windows.h"

#include <bcrypt.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <string.h>
#include <timeapi.h>

/* ---- the process ---- */

int plat_start(void)
{
    WSADATA data;
    int error = WSAStartup(MAKEWORD(2, 2), &data);
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    /* Without this call, time-outs and waits have a resolution of 15.6 ms. A failure is ignored. */
    timeBeginPeriod(1);
    return error;
}

/* Standard input is a pipe, a file or a console. Only a thread of its own can wait for all three
 * kinds, because a synchronous read of a pipe cannot have a time-out. */
static struct {
    plat_mutex lock;
    plat_cond changed;
    bool started, ended;
    size_t begin, used;
    char bytes[65536];
} input;

static void read_input(void *argument)
{
    HANDLE handle = GetStdHandle(STD_INPUT_HANDLE);
    char bytes[4096];
    DWORD got;
    (void)argument;
    while (ReadFile(handle, bytes, sizeof bytes, &got, NULL) && got > 0) {
        plat_mutex_lock(&input.lock);
        while (sizeof input.bytes - input.used < got)
            plat_cond_wait(&input.changed, &input.lock, plat_now_ns() + SECOND_NS);
        for (DWORD i = 0; i < got; i++)
            input.bytes[(input.begin + input.used++) % sizeof input.bytes] = bytes[i];
        plat_cond_wake(&input.changed);
        plat_mutex_unlock(&input.lock);
    }
    plat_mutex_lock(&input.lock);
    input.ended = true;
    plat_cond_wake(&input.changed);
    plat_mutex_unlock(&input.lock);
}

/* Only the thread that reads requests calls this function. The reading thread is never joined: it
 * may be waiting when the process ends, and then ends with the process. */
static bool start_input(void)
{
    plat_thread reader;
    if (input.started)
        return true;
    input.started = plat_thread_start(&reader, read_input, NULL) == 0;
    if (input.started)
        CloseHandle(reader);
    return input.started;
}

ptrdiff_t plat_input_read(void *into, size_t capacity, int timeout_ms)
{
    const uint64_t until_ns = plat_now_ns() + (uint64_t)timeout_ms * MILLISECOND_NS;
    char *next = into;
    if (!start_input())
        return 0;
    plat_mutex_lock(&input.lock);
    while (input.used == 0 && !input.ended && plat_now_ns() < until_ns)
        plat_cond_wait(&input.changed, &input.lock, until_ns);
    ptrdiff_t got = input.used < capacity ? (ptrdiff_t)input.used : (ptrdiff_t)capacity;
    for (ptrdiff_t i = 0; i < got; i++)
        next[i] = input.bytes[(input.begin + (size_t)i) % sizeof input.bytes];
    input.begin = (input.begin + (size_t)got) % sizeof input.bytes;
    input.used -= (size_t)got;
    bool ended = input.ended;
    plat_cond_wake(&input.changed);
    plat_mutex_unlock(&input.lock);
    return got == 0 && !ended ? PLAT_TIMED_OUT : got;
}

int plat_output_write(const void *bytes, size_t length)
{
    HANDLE handle = GetStdHandle(STD_OUTPUT_HANDLE);
    const char *next = bytes;
    while (length > 0) {
        DWORD put = 0;
        if (!WriteFile(handle, next, (DWORD)length, &put, NULL))
            return (int)GetLastError();
        next += put;
        length -= put;
    }
    return 0;
}

int plat_random(void *into, size_t length)
{
    NTSTATUS status = BCryptGenRandom(NULL, into, (ULONG)length, BCRYPT_USE_SYSTEM_PREFERRED_RNG);
    return status == 0 ? 0 : ERROR_GEN_FAILURE;
}

void windows_text(const wchar_t *wide, char *into, size_t capacity)
{
    into[0] = 0;
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, into, (int)capacity, NULL, NULL) == 0)
        into[0] = 0;
}

bool windows_registry_text(const wchar_t *key, const wchar_t *name, char *into, size_t capacity)
{
    wchar_t wide[256];
    DWORD bytes = sizeof wide;
    into[0] = 0;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ | RRF_SUBKEY_WOW6464KEY, NULL,
                     wide, &bytes) != ERROR_SUCCESS)
        return false;
    windows_text(wide, into, capacity);
    return into[0] != 0;
}

bool windows_registry_number(const wchar_t *key, const wchar_t *name, uint64_t *value)
{
    DWORD number, bytes = sizeof number;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_DWORD | RRF_SUBKEY_WOW6464KEY, NULL,
                     &number, &bytes) != ERROR_SUCCESS)
        return false;
    *value = number;
    return true;
}

/* ---- functions of Windows that no import library contains ---- */

typedef LONG(WINAPI *get_version)(OSVERSIONINFOW *);

/* Returns a function as a data pointer; callers copy it into a function pointer, which every
 * compiler accepts. */
void *windows_native(const char *name)
{
    HMODULE library = GetModuleHandleW(L"ntdll.dll");
    FARPROC function = library != NULL ? GetProcAddress(library, name) : NULL;
    void *pointer;
    memcpy(&pointer, &function, sizeof pointer);
    return pointer;
}

void windows_version(unsigned *major, unsigned *minor, unsigned *build)
{
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    void *function = windows_native("RtlGetVersion");
    get_version get;
    memcpy(&get, &function, sizeof get);
    if (get != NULL)
        get(&version);
    *major = version.dwMajorVersion;
    *minor = version.dwMinorVersion;
    *build = version.dwBuildNumber;
}
