#!/bin/sh
# adaps serve --frigate: answers, whoever asks and whatever; who may reach it; lost agents; its end.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck source=tests/support/agent.sh
. "$src/tests/support/agent.sh"
client=$build/tests/support/frigate_client
server=
trap '[ -z "$server" ] || kill "$server"; [ -z "$agent" ] || kill "$agent"; wait; cd /; rm -rf "$work"' EXIT

# serve OPTION...: a server in the background. Sets server (its process) and address ("" when it did not start); what it says
# is in $work/log.
serve() {
    rm -f serving
    mkfifo serving
    adaps serve --preset yolov8 --ready-fd 3 "$@" 3>serving 2>log &
    server=$!
    address=
    read -r address <serving
    [ -n "$address" ] || not_ok "adaps serve $* does not start: $(cat log)"
}

# end_server SIGNAL: ends it; its exit status.
end_server() {
    kill "-$1" "$server"
    wait "$server"
    code=$?
    server=
    return "$code"
}

asks() {
    "$client" "$address" "$@"
}

"$build/tests/support/small_model" finder finder.onnx
socket=ipc://$work/socket

# what cannot be served, and where
status 2 "it must be told where to listen" adaps serve finder.onnx
has err "--frigate ENDPOINT" "and says so"
status 2 "it serves one network" adaps serve --frigate "$socket"
for bad in tcp://0.0.0.0:5555 'tcp://*:5555' tcp://192.168.1.2:5555 'tcp://[::]:5555'; do
    status 2 "other machines cannot reach it: $bad" adaps serve --preset yolov8 --frigate "$bad" finder.onnx
    has err "Frigate has no keys" "and why"
done
status 2 "no other transport" adaps serve --preset yolov8 --frigate inproc://it finder.onnx
has err "it must be tcp://127.0.0.1:PORT or ipc:///FILE" "and which there are"
status 2 "a whole path" adaps serve --preset yolov8 --frigate ipc://socket finder.onnx
status 2 "a path that the kernel takes" adaps serve --preset yolov8 --frigate "ipc://$work/$(printf '%0120d' 1)" finder.onnx
echo precious >file
status 4 "no file is replaced that is not a socket" adaps serve --preset yolov8 --frigate "ipc://$work/file" finder.onnx
has err "the file is not a socket" "and says so"
check "the file is what it was" grep -qx precious file
status 4 "the folder has to be there" adaps serve --preset yolov8 --frigate "ipc://$work/gone/socket" finder.onnx
status 3 "the network has to be a detector" adaps serve --frigate "$socket" "$src/models/digits.onnx"
status 2 "--local has no devices" adaps serve --preset yolov8 --local -d some.conf --frigate "$socket" finder.onnx
status 2 "classes are the network's" adaps serve --preset yolov8 --classes 2 --frigate "$socket" finder.onnx

# answers
serve --frigate "$socket" finder.onnx
check "it tells where it listens" test "$address" = "$socket"
for order in nhwc nchw; do
    for type in uint8 float32; do
        status 0 "the 20 best of more, as $order of $type" asks check "$order" "$type" 20
        sed 's/^/# /' out
    done
done
status 0 "several clients at a time" asks crowd 8 10

# what is wrong is refused, with zeros, and does no harm
refused() {
    why=$1
    shift
    status 0 "answered: $why" "$@"
    says out '^zeros {"shape":\[20,6\],"dtype":"float32","error":"a request is refused: ' "with zeros"
    has out "$why" "and the reason"
    has log "$why" "which is in the log"
}
shape='"shape": [1, 32, 64, 3]'
refused "not a JSON object" asks ask 'none of it' 6144
refused "not a JSON object" asks ask '[1, 2]' 6144
refused "not a JSON object" asks ask '' 6144
refused "more than 4096" asks ask "$(printf '%05000d' 1)" 6144
refused 'no shape of four numbers' asks ask '{"dtype": "uint8"}' 6144
refused 'no shape of four numbers' asks ask '{"shape": [1, 32, 64], "dtype": "uint8"}' 6144
refused 'no shape of four numbers' asks ask '{"shape": [1, -32, -64, 3], "dtype": "uint8"}' 6144
refused 'no shape of four numbers' asks ask '{"shape": [1, 32, 64, 1e30], "dtype": "uint8"}' 6144
refused 'numbers of type (none)' asks ask "{$shape}" 6144
refused 'numbers of type float64' asks ask "{$shape, \"dtype\": \"float64\"}" 6144
refused "the picture is 1x32x32x3, the network takes 1x32x64x3 or 1x3x32x64" \
    asks ask '{"shape": [1, 32, 32, 3], "dtype": "uint8"}' 3072
refused "the picture is 1x1280x1280x3" asks ask '{"shape": [1, 1280, 1280, 3], "dtype": "float32"}' 19660800
refused "the picture is 2147483647x2147483647x2147483647x2147483647" \
    asks ask '{"shape": [2147483647, 2147483647, 2147483647, 2147483647], "dtype": "float32"}' 0
refused "the picture has 6143 bytes where 6144 are needed" asks ask "{$shape, \"dtype\": \"uint8\"}" 6143
refused "the picture has 6144 bytes where 24576 are needed" asks ask "{$shape, \"dtype\": \"float32\"}" 6144
refused "no tensor" asks ask "{$shape, \"dtype\": \"uint8\"}"
refused "too many parts" asks parts 3
refused "too many parts" asks parts 3000
refused 'does not name it' asks ask '{"model_request": true}'
status 0 "an empty picture has nothing in it" asks ask "{$shape, \"dtype\": \"uint8\"}" 6144
says out '^zeros {"shape":\[20,6\],"dtype":"float32"}$' "which is no error"
status 0 "what is not of a REQ socket is forgotten" asks dealer a b c
status 0 "empty parts, too" asks dealer '' ''
status 0 "and no parts at all" asks dealer ''
status 0 "bytes at random" asks noise 200
status 0 "clients that leave before they are answered" asks gone 20
status 0 "and it still answers" asks check nhwc uint8 5

# Frigate's questions about the model
status 0 "the model is there" asks ask '{"model_request": true, "model_name": "finder.onnx"}'
check "as Frigate wants to hear it" grep -qx 'text {"model_available":true,"model_loaded":true}' out
check "and of the same name" sh -c '! grep "finder.onnx: make sure" log'
status 0 "another name" asks ask '{"model_request": true, "model_name": "yolo.onnx"}'
has log "Frigate asks for the model yolo.onnx; what answers is finder.onnx" "is told"
status 0 "a model is not taken" asks ask '{"model_data": true, "model_name": "yolo.onnx"}' 100
says out '^text {"model_saved":false,"model_loaded":false,' "as Frigate wants to hear it"

# a second server, and one that was killed
status 4 "who listens already is not pushed aside" adaps serve --preset yolov8 --frigate "$socket" finder.onnx
has err "somebody does already" "and says so"
status 0 "the first still answers" asks check nhwc uint8 2
end_server KILL
check "a killed server leaves its socket" test -S socket
serve --frigate "$socket" finder.onnx
status 0 "which the next one replaces" asks check nchw uint8 2
end_server TERM
check "SIGTERM ends it with 0" test "$code" = 0
check "and it takes its socket away" test ! -e socket
has log "pictures answered: 2, without an answer: 0; requests refused: 0" "and says what it has done"

# what counts, by the options of adaps detect
serve --frigate 'tcp://127.0.0.1:*' --conf 1 finder.onnx
says log 'listening on tcp://127.0.0.1:[1-9]' "any port"
status 0 "a picture with one thing of score 1" asks ask "{$shape, \"dtype\": \"uint8\"}" 6144
status 1 "others do not count" asks check nhwc uint8 1
status 0 "noise by TCP, also of old protocols" asks noise 400
status 0 "it answers after it" asks ask "{$shape, \"dtype\": \"uint8\"}" 6144
end_server INT
check "SIGINT ends it with 0" test "$code" = 0

# on an agent, which is lost and comes back
agent_log=$work/agent.log
start "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache
# shellcheck disable=SC2119
devices
port=${endpoint##*:}
adaps plan -d one.conf -o one.plan finder.onnx >out 2>err || not_ok "a plan for the agent"
serve --frigate "$socket" --deadline 20s one.plan
status 0 "on an agent" asks check nhwc uint8 20
sed 's/^/# /' out
kill -KILL "$agent"
wait "$agent"
agent=
status 0 "its agent is lost" asks ask "{$shape, \"dtype\": \"uint8\"}" 6144
says out '^zeros {"shape":\[20,6\],"dtype":"float32","error":"agent ' "zeros, and the reason"
status 0 "nor later" asks ask "{$shape, \"dtype\": \"uint8\"}" 6144
says out '^zeros .*"error"' "there is an answer"
start "$daemon" --listen "tcp://127.0.0.1:$port" --cache cache
check "the session is open again when the agent is there" await asks check nhwc float32 3
has log "the session is open again" "and the log says so"
kill -KILL "$agent"
wait "$agent"
agent=
asks ask "{$shape, \"dtype\": \"uint8\"}" 6144 >out 2>err
end_server TERM
check "SIGTERM ends it with 0 when the agent is lost, too" test "$code" = 0
status 4 "without its agent it does not begin" adaps serve --preset yolov8 --deadline 1s --frigate "$socket" one.plan
check "and leaves no socket" test ! -e socket
finish
