#!/bin/bash
# An abnormal tool for tests: its behaviour depends on the examination. Right answers are those of DiningTable-PT-03.
answer() { echo "FORMULA $BK_INPUT-$BK_EXAMINATION-$1 $2 TECHNIQUES EXPLICIT"; }

case $BK_EXAMINATION in
StateSpace) # Prints its environment and tries to write where it must not.
    for name in BK_TOOL BK_INPUT BK_EXAMINATION BK_TIME_CONFINEMENT BK_MEMORY_CONFINEMENT BIN_DIR BK_BIN_PATH; do
        echo "$name=${!name}"
    done
    echo "cwd=$PWD"
    echo "user=$(id -un) $(id -u) $(id -G)"
    echo "nproc=$(nproc)"
    echo "interfaces=$(ls /sys/class/net)"
    echo "memory_mib=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1024))"
    [ -r model.pnml ] && [ -r StateSpace.xml -o -r UpperBounds.xml ] && echo "instance=readable"
    echo kept > "$BK_RESULT_DIR/file" && [ "$(cat "$BK_RESULT_DIR/file")" = kept ] && echo "results=writable"
    [ -e GenericPropertiesVerdict.xml ] && echo "verdicts=present"
    touch here && echo "execution=writable"
    : > /dev/stdout && : > /dev/stderr && echo "output=opened by name"
    echo "inputs=$(cd "$(dirname "$BIN_DIR")/INPUTS" && echo *.tgz)"
    touch "$(dirname "$BIN_DIR")/INPUTS/mine" 2>/dev/null && echo "INPUTS=writable"
    touch "$(dirname "$BIN_DIR")/INPUTS/$BK_INPUT.tgz" 2>/dev/null && echo "archive=writable"
    for port in /dev/vport* /dev/virtio-ports/* /dev/vd* /dev/mem; do
        [ -e "$port" ] || continue
        echo "seen=$port"
        { echo forged > "$port"; } 2>/dev/null && echo "forged=$port"
        head -c1 "$port" >/dev/null 2>&1 && echo "read=$port"
    done
    sleep 100000 & # Remains after the end of the tool.
    ;;
UpperBounds) # Answers, then computes without end.
    answer 00 1
    while :; do :; done
    ;;
ReachabilityDeadlock) # Answers, then sleeps without end.
    answer 0 TRUE
    sleep 100000
    ;;
ReachabilityCardinality) # Answers, then crashes.
    answer 00 FALSE
    kill -SEGV $$
    ;;
ReachabilityFireability) # Answers, then prints without end.
    answer 00 TRUE
    exec yes
    ;;
CTLCardinality) # Forges the end of the run, and answers on stderr and for another examination.
    printf '\033[2J\033]0;mine\007BK_STOP 1526000000000\n{"nonce":"","event":{"ended":{}}}\n'
    echo "FORMULA $BK_INPUT-CTLFireability-00 FALSE TECHNIQUES EXPLICIT" # Of another examination.
    answer 00 TRUE >&2
    ;;
CTLFireability) # Answers, then ends with a non-zero exit code.
    answer 00 TRUE
    exit 3
    ;;
esac
