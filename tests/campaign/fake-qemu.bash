# QEMU's stand-in: speaks QMP and the guest agent's protocol on the sockets it inherits, and runs no machine.
# Sourced by the QEMU that tests/campaign puts on PATH; what follows there says what it does, in these words.
# It starts no process, so that nothing of it outlives its SIGKILL.

# $(fd NAME) would be a process: the numbers are read once, from `-chardev socket,id=NAME,fd=N`.
for word; do
    if [[ $word =~ ^socket,id=(mcc\.)?([a-z]+),fd=([0-9]+)$ ]]; then declare "${BASH_REMATCH[2]}=${BASH_REMATCH[3]}"; fi
done
: "${qmp:?}" "${console:?}"
# A machine over ssh has no ports of the agent.
[[ " $* " == *,hostfwd=* ]] || : "${control:?}" "${stdout:?}" "${stderr:?}"

# Answers QMP up to and including the command $1.
answer_until() {
    local line command id
    while read -r line <&"$qmp"; do
        [[ $line =~ \"execute\":\"([a-z_-]+)\" ]] && command=${BASH_REMATCH[1]}
        # As QEMU does: an answer carries the id of what it answers.
        id=
        if [[ $line =~ \"id\":\"([^\"]+)\" ]]; then id=",\"id\":\"${BASH_REMATCH[1]}\""; fi
        case $command in
        query-cpus-fast) echo "{\"return\":[{\"thread-id\":$$}]$id}" >&"$qmp" ;;
        human-monitor-command) echo "{\"return\":\"TCP[HOST_FORWARD] 9 127.0.0.1 ${forwarded:?} 10.0.2.15 22\"$id}" >&"$qmp" ;;
        query-status) echo "{\"return\":{\"status\":\"${status:-running}\"}$id}" >&"$qmp" ;;
        *) echo "{\"return\":{}$id}" >&"$qmp" ;;
        esac
        [[ $command != "$1" ]] || return 0
    done
    exit 3
}

power_on() {
    echo '{"QMP":{"version":{}}}' >&"$qmp"
    answer_until cont
}

# An event of QEMU's: name, data.
event() { echo "{\"event\":\"$1\",\"data\":${2:-{\}}}" >&"$qmp"; }

# What the agent says: event, more members.
say() { echo "{\"nonce\":\"$nonce\",\"event\":\"$1\"${2:+,$2}}" >&"$control"; }

ready() { say ready '"kernel":"6.1","cpu_flags":["sse4_2","avx"],"memory_kib":16000000'; }

# Hears a request; the job's brings the nonce.
hear() {
    local line
    read -r line <&"$control" || exit 3
    if [[ $line =~ \"nonce\":\"([0-9a-f]+)\" ]]; then nonce=${BASH_REMATCH[1]}; fi
}

prepared() { hear; say prepared; }
started() { hear; say started; }
ended() { say ended '"exit":{"code":0},"memory_kib":1000,"oom_kills":0,"left_behind":0'; }
drained() { say drained "\"stdout_bytes\":${1:-0},\"stderr_bytes\":0"; }

# For good, or so many seconds: nothing is ever read from there.
linger() { read -r ${1:+-t "$1"} <&"$console"; }

# All of it, the tool printing $1.
whole_run() {
    power_on; ready; prepared; started
    printf %s "$1" >&"$stdout"
    ended; drained "${#1}"
    answer_until quit
}
