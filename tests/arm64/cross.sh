# shellcheck shell=sh
# Sourced. cross_environment ROOT TRIPLET: what configure needs to build for a sysroot, in the environment;
# sets libraries, the folder that the sysroot's libraries are in.
cross_environment() {
    libraries=$1/usr/lib/$2
    # Before the compiler's own C library, which is that of this machine's release.
    CC="$2-gcc --sysroot=$1 -B$libraries -L$libraries -isystem $1/usr/include/$2 -isystem $1/usr/include"
    # Where the sysroot is on this machine stands in nothing that is built.
    CC="$CC -ffile-prefix-map=$1="
    PKG_CONFIG=pkg-config
    PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$1/usr/share/pkgconfig
    PKG_CONFIG_PATH=
    PKG_CONFIG_SYSROOT_DIR=$1
    PKG_CONFIG_SYSTEM_LIBRARY_PATH=$libraries
    PKG_CONFIG_SYSTEM_INCLUDE_PATH=$1/usr/include
    export CC PKG_CONFIG PKG_CONFIG_LIBDIR PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_SYSTEM_LIBRARY_PATH \
        PKG_CONFIG_SYSTEM_INCLUDE_PATH
}
