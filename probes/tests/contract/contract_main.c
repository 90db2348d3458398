/* Runs the tests of the platform contract. Standard input is part of them: whoever starts this
 * answers the line "say something" with "something" and its end.
 *   contract [emulated]     emulated: by wine or qemu, whose few refusals are then allowed */
#include "contract/contract.h"

#include "platform/comma_list.h"

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
        contract_udp_tests, contract_round_trip_tests, contract_watch_tests};
    emulated = count == 2 && strcmp(words[1], "emulated") == 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (plat_start() != 0)
        return 2;
    return run_tables(tables, sizeof tables / sizeof tables[0], "contract");
}
