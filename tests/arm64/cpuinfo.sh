#!/bin/sh
# Prints a /proc/cpuinfo as of a board with four cores of a kind: XNNPACK chooses its kernels by it.
#
#   tests/arm64/cpuinfo.sh CPU      cortex-a53, cortex-a72, cortex-a76 (arm64) or cortex-a7 (armhf)
set -eu

features="fp asimd evtstrm crc32 cpuid" version=8
case ${1-} in
    cortex-a7) version=7 part=0xc07 features="half thumb fastmult vfp edsp neon vfpv3 vfpv4 idiva idivt" ;;
    cortex-a53) part=0xd03 ;;
    cortex-a72) part=0xd08 ;;
    cortex-a76) part=0xd0b features="$features atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp" ;;
    *)
        echo "$0: unknown processor '${1-}'" >&2
        exit 2
        ;;
esac
for core in 0 1 2 3; do
    printf '%s\t: %s\n' processor $core Features "$features" 'CPU implementer' 0x41 \
        'CPU architecture' $version 'CPU variant' 0x0 'CPU part' $part 'CPU revision' 3
    echo
done
