# What the scripts of this folder share. They set `here`, this folder, and `work`, a folder of their own
# for models.

# die STATUS MESSAGE...
die() {
    code=$1
    shift
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit "$code"
}

# program VALUE NAME: VALUE if it is not empty, else NAME in this folder or in the checkout.
program() {
    for path in "$1" "./$2" "$here/../$2"; do
        if [ -n "$path" ] && [ -x "$path" ]; then
            realpath "$path"
            return
        fi
    done
    die 2 "no program $2: build it (make), or name it in the environment"
}

model='' network=''
# find_model NAME-OR-FILE: sets model, the file, and network, its name. Those of models/zoo are made in $work.
find_model() {
    case $1 in
        *.onnx)
            [ -r "$1" ] || die 3 "no model $1"
            model=$(realpath "$1")
            network=$(basename "$1" .onnx)
            ;;
        *)
            model=$work/$1.onnx
            network=$1
            zoo=$(program "${ZOO-}" models/zoo)
            [ -e "$model" ] || "$zoo" "$1" -o "$model" >&2 || die 2 "models/zoo has no '$1'"
            ;;
    esac
}
