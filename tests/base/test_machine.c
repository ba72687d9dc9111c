/* Which board a machine is. */
#include "base/machine.h"
#include "support/run_suite.h"

START_TEST(boards_by_name)
{
    static const struct {
        const char *model, *cpu, *architecture, *board;
    } cases[] = {
        {"Raspberry Pi 5 Model B Rev 1.0", "Cortex-A76", "aarch64", "pi5"},
        {"Raspberry Pi 500 Rev 1.0", "Cortex-A76", "aarch64", "pi5"},
        {"Raspberry Pi Compute Module 5 Rev 1.0", "Cortex-A76", "aarch64", "pi-cm5"},
        {"Raspberry Pi 4 Model B Rev 1.4", "Cortex-A72", "aarch64", "pi4"},
        {"Raspberry Pi 3 Model B Plus Rev 1.3", "Cortex-A53", "armv7l", "pi3"},
        {"Raspberry Pi Zero 2 W Rev 1.0", "Cortex-A53", "aarch64", "pi-zero-2"},
        {"Radxa ROCK 5B", "Cortex-A55", "aarch64", ""},
        {"", "Intel(R) N100", "x86_64", "n100"},
        {"", "AMD EPYC", "x86_64", "x86"},
        {"", "", "riscv64", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(
            ad_machine_board_named(cases[i].model, cases[i].cpu, cases[i].architecture),
            cases[i].board);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machine");
    TCase *t = tcase_create("machine");
    tcase_add_test(t, boards_by_name);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
