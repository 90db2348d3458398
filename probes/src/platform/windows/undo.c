/* The folder and the files of the undo log on Windows. The log has commands that undo changes of
 * this host (platform/plat.h). */
#include "platform/windows/windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define PATH_UNITS (PLAT_UNDO_PATH + PLAT_UNDO_NAME + 2)

static int say_why(int error, const char *path, const char *sentence, char *why, size_t capacity)
{
    char text[120];
    plat_describe(error, text, sizeof text);
    snprintf(why, capacity, "%s: %s", path, sentence != NULL ? sentence : text);
    return error;
}

static int wide_path(const struct plat_undo_folder *folder, const char *name,
                     wchar_t into[PATH_UNITS])
{
    char path[PLAT_UNDO_PATH + PLAT_UNDO_NAME + 2];
    snprintf(path, sizeof path, "%s%s%s", folder->path, name[0] != 0 ? "\\" : "", name);
    int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, into, PATH_UNITS);
    return length > 0 ? 0 : (int)GetLastError();
}

/* ---- the folder ---- */

/* Refuses a link: CreateFileW opens the link itself, not the folder to which the link leads. */
static int check_folder(const wchar_t *path, const char **wrong)
{
    BY_HANDLE_FILE_INFORMATION about;
    HANDLE folder = CreateFileW(path, FILE_READ_ATTRIBUTES,
                                FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (folder == INVALID_HANDLE_VALUE)
        return (int)GetLastError();
    int error = GetFileInformationByHandle(folder, &about) ? 0 : (int)GetLastError();
    CloseHandle(folder);
    if (error == 0 && ((about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0 ||
                       (about.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)) {
        *wrong = "this is a link or a file, not a folder";
        error = ERROR_ACCESS_DENIED;
    }
    return error;
}

/* The folder has the rights of the account's profile: other accounts cannot write there, except
 * administrators. */
int plat_undo_folder_open(struct plat_undo_folder *out, bool make, char *why, size_t capacity)
{
    static const char *const names[] = {"netlab", "undo"};
    wchar_t path[PATH_UNITS];
    const char *wrong = NULL;
    memset(out, 0, sizeof *out);
    DWORD length = GetEnvironmentVariableW(L"LOCALAPPDATA", path, PATH_UNITS);
    if (length == 0 || length >= PATH_UNITS)
        return say_why(ERROR_PATH_NOT_FOUND, "LOCALAPPDATA", "it names no folder", why, capacity);
    windows_text(path, out->path, sizeof out->path - sizeof "\\netlab\\undo");
    int error = out->path[0] != 0 ? 0 : ERROR_FILENAME_EXCED_RANGE;
    for (int i = 0; error == 0 && i < 2; i++) {
        const size_t used = strlen(out->path);
        snprintf(out->path + used, sizeof out->path - used, "\\%s", names[i]);
        error = wide_path(out, "", path);
        if (error == 0 && make && !CreateDirectoryW(path, NULL) &&
            GetLastError() != ERROR_ALREADY_EXISTS)
            error = (int)GetLastError();
        if (error == 0)
            error = check_folder(path, &wrong);
    }
    return error == 0 ? 0 : say_why(error, out->path, wrong, why, capacity);
}

void plat_undo_folder_close(struct plat_undo_folder *folder)
{
    folder->path[0] = 0;
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
    wchar_t pattern[PATH_UNITS];
    WIN32_FIND_DATAW found;
    unsigned count = 0;
    if (wide_path(folder, "*", pattern) != 0)
        return 0;
    HANDLE list = FindFirstFileW(pattern, &found);
    if (list == INVALID_HANDLE_VALUE)
        return 0;
    do {
        char name[3 * MAX_PATH];
        windows_text(found.cFileName, name, sizeof name);
        if (count < most && is_name(name))
            memcpy(names[count++], name, PLAT_UNDO_NAME + 1);
    } while (FindNextFileW(list, &found));
    FindClose(list);
    qsort(names, count, sizeof names[0], compare_names);
    return count;
}

/* ---- files: a file is locked if another process has opened it and does not share it ---- */

static int open_file(const struct plat_undo_folder *folder, const char *name, DWORD access,
                     DWORD share, DWORD how, struct plat_undo_file *out)
{
    wchar_t path[PATH_UNITS];
    int error = wide_path(folder, name, path);
    if (error != 0)
        return error;
    HANDLE file = CreateFileW(path, access, share, NULL, how,
                              FILE_ATTRIBUTE_NORMAL | FILE_FLAG_WRITE_THROUGH |
                                  FILE_FLAG_OPEN_REPARSE_POINT,
                              NULL);
    if (file == INVALID_HANDLE_VALUE)
        return (int)GetLastError();
    out->system = (intptr_t)file;
    memmove(out->name, name, sizeof out->name);
    return 0;
}

int plat_undo_create(const struct plat_undo_folder *folder, struct plat_undo_file *out)
{
    unsigned char random[PLAT_UNDO_NAME / 2];
    char name[PLAT_UNDO_NAME + 1];
    int error = plat_random(random, sizeof random);
    if (error != 0)
        return error;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(name + 2 * i, 3, "%02x", random[i]);
    return open_file(folder, name, GENERIC_READ | GENERIC_WRITE, 0, CREATE_NEW, out);
}

int plat_undo_open(const struct plat_undo_folder *folder, const char *name, bool alone,
                   struct plat_undo_file *out)
{
    BY_HANDLE_FILE_INFORMATION about;
    if (!is_name(name))
        return ERROR_FILE_NOT_FOUND;
    int error = open_file(folder, name, alone ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ,
                          alone ? 0 : FILE_SHARE_READ, OPEN_EXISTING, out);
    if (error == ERROR_SHARING_VIOLATION)
        return PLAT_LOCKED;
    if (error != 0)
        return error;
    if (!GetFileInformationByHandle((HANDLE)out->system, &about) ||
        (about.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 || about.nNumberOfLinks != 1) {
        plat_undo_close(folder, out, false);
        return ERROR_ACCESS_DENIED;
    }
    return 0;
}

static OVERLAPPED where_is(uint64_t at)
{
    OVERLAPPED where;
    memset(&where, 0, sizeof where);
    where.Offset = (DWORD)at;
    where.OffsetHigh = (DWORD)(at >> 32);
    return where;
}

ptrdiff_t plat_undo_read(const struct plat_undo_file *file, uint64_t at, void *into, size_t length)
{
    OVERLAPPED where = where_is(at);
    DWORD got = 0;
    if (ReadFile((HANDLE)file->system, into, (DWORD)length, &got, &where))
        return (ptrdiff_t)got;
    const DWORD error = GetLastError();
    return error == ERROR_HANDLE_EOF ? 0 : -(ptrdiff_t)error;
}

int plat_undo_write(const struct plat_undo_file *file, uint64_t at, const void *bytes, size_t length)
{
    OVERLAPPED where = where_is(at);
    DWORD put = 0;
    if (!WriteFile((HANDLE)file->system, bytes, (DWORD)length, &put, &where))
        return (int)GetLastError();
    if (put != length)
        return ERROR_DISK_FULL;
    return FlushFileBuffers((HANDLE)file->system) ? 0 : (int)GetLastError();
}

void plat_undo_close(const struct plat_undo_folder *folder, struct plat_undo_file *file, bool remove)
{
    wchar_t path[PATH_UNITS];
    CloseHandle((HANDLE)file->system);
    if (remove && wide_path(folder, file->name, path) == 0)
        DeleteFileW(path);
}

/* ---- the keeper, which would undo entries of a killed agent: Windows has none ---- */

int plat_undo_keep(struct plat_undo_keeper *keeper, const struct plat_undo_folder *folder,
                   const struct plat_undo_file *file)
{
    (void)keeper, (void)folder, (void)file;
    return 0;
}

void plat_undo_dismiss(struct plat_undo_keeper *keeper)
{
    (void)keeper;
}
