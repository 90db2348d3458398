/* Tests the folder, the files and the keeper of the undo log. */
#include "contract/contract.h"

#include "platform/plat.h"

static bool open_folder(struct plat_undo_folder *folder)
{
    char why[300] = "";
    int error = plat_undo_folder_open(folder, true, why, sizeof why);
    CHECK_ERROR(error);
    CHECK_TEXT(why, "");
    return error == 0;
}

static bool has_name(const struct plat_undo_folder *folder, const char *name)
{
    static char names[256][PLAT_UNDO_NAME + 1];
    const unsigned count = plat_undo_names(folder, names, 256);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

TEST(a_file_of_the_undo_log_keeps_what_is_written_until_it_is_removed)
{
    struct plat_undo_folder folder;
    struct plat_undo_file file;
    char bytes[16] = "";
    if (!open_folder(&folder))
        return;
    CHECK_ERROR(plat_undo_create(&folder, &file));
    CHECK(strlen(file.name) == PLAT_UNDO_NAME && has_name(&folder, file.name));
    CHECK_ERROR(plat_undo_write(&file, 8192, "kept", 5));
    plat_undo_close(&folder, &file, false);
    CHECK(has_name(&folder, file.name));
    CHECK_ERROR(plat_undo_open(&folder, file.name, true, &file));
    CHECK(plat_undo_read(&file, 8192, bytes, sizeof bytes) == 5);
    CHECK_TEXT(bytes, "kept");
    CHECK(plat_undo_read(&file, 0, bytes, 4) == 4 && bytes[0] == 0);
    CHECK(plat_undo_read(&file, 90000, bytes, 4) == 0);
    plat_undo_close(&folder, &file, true);
    CHECK(!has_name(&folder, file.name));
    CHECK(plat_is_missing(plat_undo_open(&folder, file.name, false, &file)));
    plat_undo_folder_close(&folder);
}

TEST(a_file_of_the_undo_log_is_locked_as_long_as_it_is_open)
{
    struct plat_undo_folder folder;
    struct plat_undo_file own, first, second;
    if (!open_folder(&folder))
        return;
    CHECK_ERROR(plat_undo_create(&folder, &own));
    CHECK(plat_undo_open(&folder, own.name, false, &first) == PLAT_LOCKED);
    CHECK(plat_undo_open(&folder, own.name, true, &first) == PLAT_LOCKED);
    plat_undo_close(&folder, &own, false);
    CHECK_ERROR(plat_undo_open(&folder, own.name, false, &first));
    CHECK_ERROR(plat_undo_open(&folder, own.name, false, &second)); /* both only read */
    CHECK(plat_undo_open(&folder, own.name, true, &own) == PLAT_LOCKED);
    plat_undo_close(&folder, &first, false);
    plat_undo_close(&folder, &second, false);
    CHECK_ERROR(plat_undo_open(&folder, own.name, true, &own));
    plat_undo_close(&folder, &own, true);
    plat_undo_folder_close(&folder);
}

TEST(a_name_that_no_file_of_the_undo_log_has_is_missing)
{
    static const char *const names[] = {"", "..", "0123456789abcde", "0123456789ABCDEF",
                                        "../../../../hosts", "0123456789abcdef"};
    struct plat_undo_folder folder;
    struct plat_undo_file file;
    if (!open_folder(&folder))
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(plat_is_missing(plat_undo_open(&folder, names[i], false, &file)));
    plat_undo_folder_close(&folder);
}

TEST(a_keeper_that_is_dismissed_holds_no_lock_any_more)
{
    struct plat_undo_folder folder;
    struct plat_undo_file file;
    struct plat_undo_keeper keeper = {0, 0};
    if (!open_folder(&folder))
        return;
    CHECK_ERROR(plat_undo_create(&folder, &file));
    CHECK_ERROR(plat_undo_keep(&keeper, &folder, &file));
    const intptr_t process = keeper.process;
    CHECK_ERROR(plat_undo_keep(&keeper, &folder, &file));
    CHECK(keeper.process == process);
    plat_undo_dismiss(&keeper);
    CHECK(keeper.process == 0);
    plat_undo_close(&folder, &file, false);
    CHECK_ERROR(plat_undo_open(&folder, file.name, true, &file));
    plat_undo_close(&folder, &file, true);
    plat_undo_folder_close(&folder);
}

const struct unit_test contract_undo_tests[] = {
    ENTRY(a_file_of_the_undo_log_keeps_what_is_written_until_it_is_removed),
    ENTRY(a_file_of_the_undo_log_is_locked_as_long_as_it_is_open),
    ENTRY(a_name_that_no_file_of_the_undo_log_has_is_missing),
    ENTRY(a_keeper_that_is_dismissed_holds_no_lock_any_more),
    {NULL, NULL},
};
