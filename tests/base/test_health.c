/* What a machine says of its health, from made-up trees of sysfs and procfs. */
#include "base/health.h"
#include "base/machine.h"
#include "base/cgroup.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[256];

static void shell(const char *command)
{
    char line[2000];
    snprintf(line, sizeof line, "cd '%s' && set -e; %s", folder, command);
    ck_assert_int_eq(system(line), 0);
}

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adaps-health-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    shell("rm -rf -- \"$PWD\"");
}

static struct ad_health look(void)
{
    struct ad_health found;
    ad_health_look(folder, &found);
    return found;
}

START_TEST(words)
{
    char text[100], small[12];
    ck_assert_str_eq(ad_throttle_words(0, text, sizeof text), "");
    ck_assert_str_eq(ad_throttle_words(AD_UNDER_VOLTAGE, text, sizeof text), "under-voltage");
    ck_assert_str_eq(ad_throttle_words(AD_FREQUENCY_CAPPED, text, sizeof text), "frequency capped");
    ck_assert_str_eq(ad_throttle_words(AD_THROTTLED, text, sizeof text), "throttled");
    ck_assert_str_eq(ad_throttle_words(AD_SOFT_TEMPERATURE, text, sizeof text),
                     "soft temperature limit");
    ck_assert_str_eq(ad_throttle_words(0xf, text, sizeof text),
                     "under-voltage, frequency capped, throttled, soft temperature limit");
    ck_assert_str_eq(ad_throttle_words(0x50000, text, sizeof text), ""); /* not now */
    ck_assert_str_eq(ad_throttle_words(0x50000 >> AD_SINCE_BOOT, text, sizeof text),
                     "under-voltage, throttled");
    ck_assert_str_eq(ad_throttle_words(0xf, small, sizeof small), "under-volta");
}
END_TEST

/* A machine that says nothing. */
START_TEST(nothing)
{
    struct ad_health found = look();
    ck_assert(!found.power_known && !found.swap_known && !found.segments_known);
    ck_assert_str_eq(found.governor, "");
    ck_assert_str_eq(found.model, "");
    ck_assert(found.quota_cores == 0);
}
END_TEST

START_TEST(firmware)
{
    shell("mkdir -p sys/devices/platform/soc/soc:firmware; echo 50005 "
          ">sys/devices/platform/soc/soc:firmware/get_throttled");
    struct ad_health found = look();
    ck_assert(found.power_known);
    ck_assert_uint_eq(found.throttled, 0x50005);
    shell("echo e0008 >sys/devices/platform/soc/soc:firmware/get_throttled");
    ck_assert_uint_eq(look().throttled, 0xe0008);
    shell("echo fff0fff0 >sys/devices/platform/soc/soc:firmware/get_throttled");
    ck_assert_uint_eq(look().throttled, 0); /* no such bits */
    shell("echo nonsense >sys/devices/platform/soc/soc:firmware/get_throttled");
    ck_assert(!look().power_known);
    /* Where newer boards have it. */
    shell("rm -r sys; mkdir -p sys/devices/platform/soc@107c000000/soc:firmware; echo 4 "
          ">sys/devices/platform/soc@107c000000/soc:firmware/get_throttled");
    ck_assert_uint_eq(look().throttled, AD_THROTTLED);
}
END_TEST

START_TEST(monitor)
{
    shell("mkdir -p sys/class/hwmon/hwmon0 sys/class/hwmon/hwmon3; echo cpu_thermal "
          ">sys/class/hwmon/hwmon0/name; echo rpi_volt >sys/class/hwmon/hwmon3/name; echo 0 "
          ">sys/class/hwmon/hwmon3/in0_lcrit_alarm");
    ck_assert(look().power_known);
    ck_assert_uint_eq(look().throttled, 0);
    shell("echo 1 >sys/class/hwmon/hwmon3/in0_lcrit_alarm");
    ck_assert_uint_eq(look().throttled, 0x10001);
}
END_TEST

/* The program is asked where there is no file, and not waited for when it hangs. */
START_TEST(program)
{
    shell("mkdir -p usr/bin; printf '#!/bin/sh\\n[ \"$1\" = get_throttled ] && echo "
          "throttled=0x80008\\n' >usr/bin/vcgencmd; chmod +x usr/bin/vcgencmd");
    ck_assert(look().power_known);
    ck_assert_uint_eq(look().throttled, 0x80008);
    shell("printf '#!/bin/sh\\necho VCHI initialization failed\\n' >usr/bin/vcgencmd");
    ck_assert(!look().power_known);
    shell("printf '#!/bin/sh\\nexec tail -f /dev/null\\n' >usr/bin/vcgencmd");
    ck_assert(!look().power_known);
    shell("mkdir -p sys/devices/platform/soc/soc:firmware; echo 2 "
          ">sys/devices/platform/soc/soc:firmware/get_throttled");
    ck_assert_uint_eq(look().throttled, AD_FREQUENCY_CAPPED);
}
END_TEST

START_TEST(governor)
{
    shell("for i in 0 1 2; do mkdir -p sys/devices/system/cpu/cpu$i/cpufreq; echo performance "
          ">sys/devices/system/cpu/cpu$i/cpufreq/scaling_governor; done");
    ck_assert_str_eq(look().governor, "performance");
    shell("echo ondemand >sys/devices/system/cpu/cpu1/cpufreq/scaling_governor");
    ck_assert_str_eq(look().governor, "ondemand");
    shell("echo powersave >sys/devices/system/cpu/cpu2/cpufreq/scaling_governor; echo intel_pstate "
          ">sys/devices/system/cpu/cpu2/cpufreq/scaling_driver");
    ck_assert_str_eq(look().governor, "powersave");
    ck_assert_str_eq(look().driver, "intel_pstate");
}
END_TEST

START_TEST(quota)
{
    shell("mkdir -p proc/self sys/fs/cgroup/a/b; echo 0::/a/b >proc/self/cgroup; echo 'max 100000' "
          ">sys/fs/cgroup/a/b/cpu.max");
    ck_assert(look().quota_cores == 0);
    shell("echo '250000 100000' >sys/fs/cgroup/a/b/cpu.max");
    ck_assert(look().quota_cores == 2.5);
    shell("echo '50000 100000' >sys/fs/cgroup/a/cpu.max");
    ck_assert(look().quota_cores == 0.5); /* the tightest */
    shell("rm -r sys/fs/cgroup/a; mkdir -p sys/fs/cgroup/cpu/x; echo 4:cpu,cpuacct:/x "
          ">proc/self/cgroup; echo -1 >sys/fs/cgroup/cpu/x/cpu.cfs_quota_us; echo 100000 "
          ">sys/fs/cgroup/cpu/x/cpu.cfs_period_us");
    ck_assert(look().quota_cores == 0);
    shell("echo 150000 >sys/fs/cgroup/cpu/x/cpu.cfs_quota_us");
    ck_assert(look().quota_cores == 1.5);
}
END_TEST

START_TEST(swap)
{
    char pages[100];
    shell("mkdir proc; printf 'MemTotal: 900 kB\\nSwapTotal: 1000 kB\\nSwapFree: 250 kB\\n' "
          ">proc/meminfo");
    ck_assert(look().swap_known);
    ck_assert_uint_eq(look().swap_total, 1000 * 1024);
    ck_assert_uint_eq(look().swap_used, 750 * 1024);
    ck_assert_uint_eq(look().swapped, 0);
    snprintf(pages, sizeof pages, "printf 'pgpgin 7\\npswpin 3\\npswpout 4\\n' >proc/vmstat");
    shell(pages);
    ck_assert_uint_eq(look().swapped, 7 * (uint64_t)sysconf(_SC_PAGESIZE));
}
END_TEST

START_TEST(segments)
{
    shell("mkdir -p proc/net; printf 'Ip: A B\\nIp: 1 2\\nTcp: RtoMax InSegs OutSegs "
          "RetransSegs InErrs\\nTcp: -1 7 2000 30 0\\nUdp: OutSegs\\nUdp: 5\\n' >proc/net/snmp");
    ck_assert(look().segments_known);
    ck_assert_uint_eq(look().segments, 2000);
    ck_assert_uint_eq(look().repeated, 30);
}
END_TEST

START_TEST(interface)
{
    struct ad_interface found;
    ad_interface_read(folder, "eth0", &found);
    ck_assert_str_eq(found.name, "eth0");
    ck_assert(!found.wireless && found.mbit == 0 && !found.half_duplex && found.mtu == 0);
    shell("mkdir -p sys/class/net/eth0; cd sys/class/net/eth0; echo 100 >speed; echo half >duplex; "
          "echo 1500 >mtu");
    ad_interface_read(folder, "eth0", &found);
    ck_assert(!found.wireless && found.half_duplex);
    ck_assert_int_eq(found.mbit, 100);
    ck_assert_int_eq(found.mtu, 1500);
    shell("mkdir sys/class/net/eth0/wireless; echo -1 >sys/class/net/eth0/speed; echo unknown "
          ">sys/class/net/eth0/duplex");
    ad_interface_read(folder, "eth0", &found);
    ck_assert(found.wireless && !found.half_duplex);
    ck_assert_int_eq(found.mbit, 0);
    ad_interface_look(folder, -1, &found); /* no socket */
    ck_assert_str_eq(found.name, "");
}
END_TEST

START_TEST(machine)
{
    struct ad_machine found;
    shell(
        "mkdir -p proc sys/class/thermal/thermal_zone0 sys/class/thermal/thermal_zone1 "
        "proc/device-tree; printf 'MemTotal: 900 kB\\nMemAvailable: 300 kB\\nSwapFree: 100 kB\\n' "
        ">proc/meminfo; echo 41000 >sys/class/thermal/thermal_zone0/temp; echo 83500 "
        ">sys/class/thermal/thermal_zone1/temp; echo 1.25 0.5 0.2 1/100 4 >proc/loadavg; printf "
        "'Raspberry Pi 4 Model B Rev 1.4\\0' >proc/device-tree/model");
    ad_machine_look_below(folder, &found);
    ck_assert(found.temperature_c == 83.5);
    ck_assert(found.load1 == 1.25);
    ck_assert_uint_eq(found.memory_total, 900 * 1024);
    ck_assert_uint_eq(found.memory_available, 300 * 1024);
    ck_assert_uint_eq(found.memory_most, 400 * 1024);
    ck_assert(isnan(found.frequency_hz));
    ck_assert_str_eq(look().model, "Raspberry Pi 4 Model B Rev 1.4");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("health");
    TCase *t = tcase_create("health");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, words);
    tcase_add_test(t, nothing);
    tcase_add_test(t, firmware);
    tcase_add_test(t, monitor);
    tcase_add_test(t, program);
    tcase_add_test(t, governor);
    tcase_add_test(t, quota);
    tcase_add_test(t, swap);
    tcase_add_test(t, segments);
    tcase_add_test(t, interface);
    tcase_add_test(t, machine);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
