#!/bin/sh
# models/zoo: the list, parameter counts, equal bytes for equal seeds, errors.
zoo=$(realpath "${ZOO:-./models/zoo}")
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

names="lenet5 alexnet vgg16 vgg19 resnet50 mobilenetv2 inceptionv3 resnet101 densenet121 squeezenet
    yolov2 hardcorenas yolov3 unet deeplabv3 xception c3d"
status 0 "the list" "$zoo" --list
for name in $names; do
    says out "^$name$" "$name is in it"
done

# Parameters and multiply-accumulates of the published networks.
status 0 "parameters and multiply-accumulates" "$zoo" --info
while read -r name params macs; do
    says out "^$name  *$params  *$macs\\( \\|$\\)" "$name has $params parameters and $macs MACs"
done <<END
lenet5 61706 416520
alexnet 61100840 714188480
vgg16 138357544 15470264320
vgg19 143667240 19632062464
resnet50 25557032 4089184256
mobilenetv2 3504872 300774272
inceptionv3 23834568 5713216096
resnet101 44549160 7801405440
densenet121 7978856 2834161664
squeezenet 1235496 349151936
yolov2 50655389 14680167424
hardcorenas 5513544 292756576
yolov3 61949149 32932037632
unet 31037698 48171581440
deeplabv3 39638869 31310548992
xception 22855952 8357403496
c3d 79991015 38548959232
END

# The same seed gives the same bytes, another seed others; the default seed is 1.
status 0 "seed 7" "$zoo" lenet5 -o a --seed 7
status 0 "seed 7 again" "$zoo" lenet5 -o b --seed 7
status 0 "seed 8" "$zoo" lenet5 -o c --seed 8
status 0 "no seed" "$zoo" lenet5 -o d
status 0 "seed 1" "$zoo" lenet5 --output=e -s 1
status 0 "to standard output" "$zoo" lenet5 -o -
check "standard output is like the file" cmp d out
check "the same seed, the same bytes" cmp a b
check "another seed, other bytes" sh -c '! cmp -s a c'
check "the default seed is 1" cmp d e
# Pinned: the file must be the same on every machine and after every change of the program.
check "lenet5 of seed 1 is as ever" test "$(cksum <d)" = "3688893472 248123"

# Every parameter is there: 4 bytes each, and little else.
size=$(wc -c <d)
check "lenet5 has its parameters, and little else" test "$size" -ge $((4 * 61706)) -a "$size" -le $((4 * 61706 + 4000))

# Folded batch normalisation: fewer nodes, another file.
status 0 "mobilenetv2" "$zoo" mobilenetv2 -o bn
status 0 "mobilenetv2, folded" "$zoo" mobilenetv2 -o nobn --no-bn
check "with BatchNormalization" grep -q BatchNormalization bn
check "without" sh -c '! grep -q BatchNormalization nobn'

status 2 "an unknown name" "$zoo" nosuchnet -o none
says err nosuchnet "which is in the message"
for name in $names; do
    says err "^$name$" "as is $name"
done
check "and no file" test ! -e none
status 2 "no network" "$zoo"
status 2 "two networks" "$zoo" lenet5 alexnet
status 2 "an unknown option" "$zoo" --nosuchoption
for seed in -1 1x '' 18446744073709551616; do
    status 2 "a seed '$seed'" "$zoo" lenet5 -o none --seed "$seed"
done
status 0 "the largest seed" "$zoo" lenet5 -o max --seed 18446744073709551615
status 1 "no such folder" "$zoo" lenet5 -o no/such/folder
if [ -c /dev/full ]; then
    status 1 "a full disk" sh -c '"$0" lenet5 -o - >/dev/full' "$zoo"
    says err 'standard output' "is reported"
fi
finish
