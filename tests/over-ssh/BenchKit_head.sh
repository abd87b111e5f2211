#!/bin/bash
# The tool on the original disk of the tests: its behaviour depends on the examination.
answer() { echo "FORMULA $BK_INPUT-$BK_EXAMINATION-$1 $2 TECHNIQUES EXPLICIT"; }

case $BK_EXAMINATION in
StateSpace | ReachabilityDeadlock) # The reference tool.
    exec bash "$BK_BIN_PATH/reference_head.sh"
    ;;
UpperBounds) # Answers, then kills every session of its user, also that of the harness.
    answer 00 1
    sleep 1
    kill -9 -1
    ;;
ReachabilityCardinality) # Prints its environment.
    echo BK_STOP 1526000000000
    answer 00 TRUE >&2
    echo "cwd=$PWD user=$(id -un) inputs=$(cd "$BK_BIN_PATH/../INPUTS" && echo DiningTable-PT-03*) instance=$(ls model.pnml)"
    touch "$BK_BIN_PATH/../INPUTS/mine" && echo "INPUTS=writable"
    (exec 3<> /dev/tcp/10.0.2.2/22) && echo "network=open"
    exit 7
    ;;
ReachabilityFireability) # Leaves processes that keep its output open, one in its own session.
    answer 00 TRUE
    setsid sleep 100000 &
    (while :; do sleep 1; done) &
    exit 3
    ;;
CTLCardinality) # Answers, then uses all memory.
    answer 00 TRUE
    tail /dev/zero
    ;;
LTLCardinality) # Answers, then fills its disk.
    answer 00 TRUE
    head -c 100G /dev/zero > ~/all
    ;;
CTLFireability) # Answers, then computes without end.
    answer 00 TRUE
    while :; do :; done
    ;;
esac
