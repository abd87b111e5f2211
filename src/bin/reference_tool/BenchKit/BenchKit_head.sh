#!/bin/bash
# The reference tool as BenchKit starts it: no arguments, in the unpacked instance folder.
# bin/strategy holds its arguments, such as "bfs" or "dfs --max-states 0".
read -r -a strategy < "$BK_BIN_PATH/strategy" || [ "${#strategy[@]}" -gt 0 ] || exit 1
exec "$BK_BIN_PATH/mcc-reference-tool" --strategy "${strategy[@]}"
