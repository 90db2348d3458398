/* Tests addresses and interfaces. */
#include "contract/contract.h"

TEST(addresses_are_read_written_and_compared)
{
    struct plat_address first, second;
    char text[PLAT_ADDRESS_TEXT];
    CHECK(plat_address_parse("192.0.2.7", 5001, &first));
    CHECK(!plat_address_v6(&first));
    CHECK_U64(plat_address_port(&first), 5001);
    plat_address_text(&first, text);
    CHECK_TEXT(text, "192.0.2.7");
    CHECK(plat_address_parse("192.0.2.7", 5001, &second));
    CHECK(plat_address_equal(&first, &second));
    plat_address_set_port(&second, 65535);
    CHECK_U64(plat_address_port(&second), 65535);
    CHECK(!plat_address_equal(&first, &second));
    CHECK(plat_address_parse("192.0.2.8", 5001, &second));
    CHECK(!plat_address_equal(&first, &second));
}

TEST(addresses_of_the_sixth_version_too)
{
    struct plat_address first, second;
    char text[PLAT_ADDRESS_TEXT];
    CHECK(plat_address_parse("2001:db8:0:0::1", 80, &first));
    CHECK(plat_address_v6(&first));
    CHECK_U64(plat_address_port(&first), 80);
    plat_address_text(&first, text);
    CHECK_TEXT(text, "2001:db8::1");
    CHECK(plat_address_parse("2001:db8::2", 80, &second));
    CHECK(!plat_address_equal(&first, &second));
    CHECK(plat_address_parse("192.0.2.7", 80, &second));
    CHECK(!plat_address_equal(&first, &second));
}

TEST(names_and_nonsense_are_no_addresses)
{
    static const char *const wrong[] = {"", "localhost", "192.0.2.256", "2001:db8::g", "[::1]",
                                        "192.0.2.7:80"};
    struct plat_address address;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bool is_parsed = plat_address_parse(wrong[i], 0, &address);
        if (is_parsed)
            printf("  taken for an address: \"%s\"\n", wrong[i]);
        CHECK(!is_parsed);
    }
}

TEST(the_way_to_ourselves_has_an_interface_that_counts)
{
    struct plat_address address;
    char name[PLAT_INTERFACE_NAME] = "";
    struct plat_interface_counts counts;
    CHECK(plat_address_parse("127.0.0.1", 9, &address));
    bool is_known = plat_interface_between(&address, &address, name);
    CHECK(!is_known || name[0] != 0);
    if (is_known)
        printf("  %s, %s\n", name,
               plat_interface_counts(name, &counts) ? "counted" : "not counted");
    CHECK(!plat_interface_counts("no such interface", &counts));
    if (is_known)
        printf("  MTU %llu\n", (unsigned long long)plat_interface_mtu(name));
    CHECK(plat_interface_mtu("no such interface") == 0);
}

TEST(scaling_of_tcp_windows_is_on_or_off_or_not_known)
{
    bool before = false, after = false;
    const bool is_known = plat_window_scaling(&before);
    CHECK(plat_window_scaling(&after) == is_known && before == after);
}

TEST(an_interface_that_nobody_touches_keeps_its_carrier)
{
    struct plat_address address;
    char name[PLAT_INTERFACE_NAME] = "";
    uint64_t before = 0, after = 0;
    CHECK(!plat_carrier_changes("no such interface", &before));
    CHECK(plat_address_parse("127.0.0.1", 9, &address));
    if (!plat_interface_between(&address, &address, name))
        return;
    bool is_known = plat_carrier_changes(name, &before);
    CHECK(plat_carrier_changes(name, &after) == is_known);
    CHECK_U64(after, before);
}

TEST(nobody_steers_what_comes_to_an_interface_that_is_not_there)
{
    char steering[PLAT_STEERING] = "?";
    CHECK(!plat_receive_steering("no such interface", steering));
    CHECK(steering[0] == 0);
    CHECK(!plat_receive_steering("", steering));
}

const struct unit_test contract_address_tests[] = {
    ENTRY(addresses_are_read_written_and_compared),
    ENTRY(addresses_of_the_sixth_version_too),
    ENTRY(names_and_nonsense_are_no_addresses),
    ENTRY(the_way_to_ourselves_has_an_interface_that_counts),
    ENTRY(an_interface_that_nobody_touches_keeps_its_carrier),
    ENTRY(scaling_of_tcp_windows_is_on_or_off_or_not_known),
    ENTRY(nobody_steers_what_comes_to_an_interface_that_is_not_there),
    {NULL, NULL},
};
