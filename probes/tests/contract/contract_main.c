/* Runs the tests of the platform contract. They also test standard input: when the program prints
 * "say something", the caller must write the line "something" and close standard input.
 *   contract [emulated]     emulated: under wine or qemu, which may refuse a few calls */
#include "contract/contract.h"

#include "pure/text.h"

bool emulated;

bool capable(const char *word)
{
    struct plat_identity self;
    plat_identify(&self);
    return comma_list_has(self.capabilities, word);
}

int main(int count, char **words)
{
    static const struct unit_test *const tables[] = {
        contract_process_tests, contract_thread_tests, contract_address_tests, contract_tcp_tests,
        contract_udp_tests, contract_round_trip_tests, contract_watch_tests,
        contract_program_tests, contract_undo_tests};
    emulated = count == 2 && strcmp(words[1], "emulated") == 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (plat_start() != 0)
        return 2;
    return run_tables(tables, sizeof tables / sizeof tables[0], "contract");
}
