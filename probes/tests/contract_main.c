/* Runs the tests of the platform contract. Standard input is part of them: whoever starts this
 * answers the line "say something" with "something" and its end. */
#include "contract.h"

bool capable(const char *word)
{
    struct plat_identity self;
    plat_identify(&self);
    size_t length = strlen(word);
    for (const char *at = self.capabilities; (at = strstr(at, word)) != NULL; at += length)
        if ((at == self.capabilities || at[-1] == ',') && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

int main(void)
{
    static const struct unit_test *const tables[] = {
        contract_process_tests, contract_thread_tests, contract_address_tests, contract_tcp_tests,
        contract_udp_tests};
    setvbuf(stdout, NULL, _IONBF, 0);
    if (plat_start() != 0)
        return 2;
    return run_tables(tables, sizeof tables / sizeof tables[0], "contract");
}
