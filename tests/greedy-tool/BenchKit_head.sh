#!/bin/bash
# A tool for tests that answers and then writes to its disk. Right answers are those of DiningTable-PT-03.
answer() { echo "FORMULA $BK_INPUT-$BK_EXAMINATION-$1 $2 TECHNIQUES EXPLICIT"; }

case $BK_EXAMINATION in
ReachabilityDeadlock) # Fills its disk.
    answer 0 TRUE
    head -c 100G /dev/zero > ~/all
    ;;
UpperBounds) # Uses 90 % of 64 MiB, and answers after all of it is on the disk.
    head -c 58M /dev/zero > ~/most
    sync ~/most
    answer 00 1
    ;;
CTLFireability) # Ends while its writes are in the memory of its guest only; they exceed the limit later.
    answer 00 TRUE
    head -c 100M /dev/zero > ~/later
    ;;
esac
