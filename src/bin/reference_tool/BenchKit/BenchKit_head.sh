#!/bin/bash
# BenchKit starts this script without arguments in the folder of the unpacked instance.
# bin/strategy has the arguments of the reference tool, such as "bfs" or "dfs --max-states 0".
read -r -a strategy < "$BK_BIN_PATH/strategy" || [ "${#strategy[@]}" -gt 0 ] || exit 1
exec "$BK_BIN_PATH/mcc-reference-tool" --strategy "${strategy[@]}"
