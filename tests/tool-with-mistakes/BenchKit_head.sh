#!/bin/bash
# A tool with ten intended mistakes in the otherwise right answers of the reference tool.
answers() { "$BK_BIN_PATH/mcc-reference-tool" --strategy bfs; }

case $BK_EXAMINATION in
StateSpace) # 1: more tokens in a place than in a marking.
    answers | sed 's/MAX_TOKEN_IN_PLACE 1 /MAX_TOKEN_IN_PLACE 7 /'
    ;;
UpperBounds) # 2: -1 is for StateSpace. 3: a wrong bound.
    answers | sed -e 's/\(-UpperBounds-00\) [0-9]* /\1 -1 /' -e 's/\(-UpperBounds-01\) [0-9]* /\1 9 /'
    ;;
ReachabilityDeadlock) # 4: no underscore. 5: a process left behind.
    echo "CANNOT COMPUTE"
    sleep 1000 &
    ;;
ReachabilityCardinality) # 6: answers on stderr do not count.
    answers >&2
    ;;
ReachabilityFireability) # 7: a buffer that is never flushed.
    buffer=$(answers)
    while :; do :; done
    echo "$buffer"
    ;;
CTLCardinality) # 8: no output.
    ;;
CTLFireability) # 9: the keyword inside a result line.
    answers | sed 's/\(-CTLFireability-00\) .*/\1 CANNOT_COMPUTE TECHNIQUES EXPLICIT/'
    ;;
*) # 10: a cache for the next run, which starts without it.
    echo state > "$HOME/.planted-cache"
    echo "DO_NOT_COMPETE"
    ;;
esac
