#!/bin/bash
case $BK_EXAMINATION in
StateSpace) python3 "$BK_BIN_PATH/state_space.py" ;;
*) echo DO_NOT_COMPETE ;;
esac
