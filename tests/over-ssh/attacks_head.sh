#!/bin/bash
# A hostile tool on the original disk of the tests: its attack depends on the examination.
forge() { "$BK_BIN_PATH/forge" "$1"; }
case $BK_EXAMINATION in
StateSpace) forge failed ;;
ReachabilityDeadlock) forge line ;;
ReachabilityCardinality) forge code ;;
ReachabilityFireability) forge memory ;;
CTLCardinality) forge log ;;
CTLFireability) kill -9 -1 ;;
UpperBounds) # Forges its end and continues to compute and to answer.
    forge ended
    while :; do
        echo "FORMULA $BK_INPUT-UpperBounds-00 1 TECHNIQUES EXPLICIT"
        for ((n = 0; n < 200000; n++)); do :; done
    done
    ;;
esac
sleep 3
exit 4
