#!/bin/sh
# Builds the fuzz targets with clang and libFuzzer: fuzz/build.sh FOLDER, in the source folder. FOLDER
# gets one program per target, and make_corpus. CC and CFLAGS can be given in the environment.
set -eu
[ $# -eq 1 ] && [ -f src/pipeline.c ] || {
    echo "usage: fuzz/build.sh FOLDER (in the source folder)" >&2
    exit 2
}
out=$1
cc=${CC:-clang}
flags="-std=gnu11 -ffp-contract=off -Wall -Wextra ${CFLAGS:--O1 -g} -fno-omit-frame-pointer -D_GNU_SOURCE
    -DADAPS_VERSION=\"fuzz\" -DADAPS_DATADIR=\"/nonexistent\" -I$out/gen -Isrc
    $(pkg-config --cflags libprotobuf-c libzmq inih libsodium libxxhash liblz4 jansson)"
libs="$(pkg-config --libs libprotobuf-c libzmq inih libsodium libxxhash liblz4 jansson) -lXNNPACK -lpthreadpool -lglpk -lzfp -lm"
sanitize="-fsanitize=address,undefined -fno-sanitize-recover=undefined"

mkdir -p "$out/gen/onnx" "$out/gen/plan" "$out/gen/wire" "$out/obj"
protoc-c --c_out="$out/gen" -Isrc src/onnx/onnx.proto src/plan/plan.proto src/wire/wire.proto

# Only what is older than its source (after a change of a header: remove FOLDER/obj).
objects=
compile() {
    object=$out/obj/$(echo "${1#"$out"/}" | tr / _ | sed 's/\.c$/.o/')
    objects="$objects $object"
    if [ ! "$object" -nt "$1" ]; then
        $cc $flags $sanitize -fsanitize=fuzzer-no-link -c "$1" -o "$object"
    fi
}
for source in $(find src -name '*.c' ! -name '*.pb-c.c' ! -path 'src/cli/*' | LC_ALL=C sort) "$out/gen/onnx/onnx.pb-c.c" \
    "$out/gen/plan/plan.pb-c.c" "$out/gen/wire/wire.pb-c.c"; do
    compile "$source"
done

for target in fuzz/fuzz_*.c; do
    name=$(basename "$target" .c)
    $cc $flags $sanitize -fsanitize=fuzzer "$target" fuzz/limit.c $objects $libs \
        -Wl,--wrap=LLVMFuzzerTestOneInput -o "$out/$name"
done
$cc $flags $sanitize -Itests fuzz/make_corpus.c tests/support/model_builder.c $objects $libs \
    -o "$out/make_corpus"
