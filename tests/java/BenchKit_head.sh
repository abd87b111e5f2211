#!/bin/bash
case $BK_EXAMINATION in
StateSpace) java -cp "$BK_BIN_PATH" StateSpace ;;
*) echo DO_NOT_COMPETE ;;
esac
