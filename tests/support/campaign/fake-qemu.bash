# A fake QEMU: implements QMP and the protocol of the guest agent on the inherited sockets, and runs no machine.
# The QEMU that tests/support/campaign puts on PATH sources this file and then calls its functions.
# It starts no process, so that nothing remains after its SIGKILL.

words=$*
# The numbers of the sockets are read once, from `-chardev socket,id=NAME,fd=N`.
for word; do
    if [[ $word =~ ^socket,id=(mcc\.)?([a-z]+),fd=([0-9]+)$ ]]; then declare "${BASH_REMATCH[2]}=${BASH_REMATCH[3]}"; fi
done
: "${qmp:?}" "${console:?}"
# A machine that is used over ssh has no ports of the agent.
[[ " $* " == *,hostfwd=* ]] || : "${control:?}" "${stdout:?}" "${stderr:?}"

# Answers QMP up to and including the command $1.
answer_until() {
    local line command id
    while read -r line <&"$qmp"; do
        [[ $line =~ \"execute\":\"([a-z_-]+)\" ]] && command=${BASH_REMATCH[1]}
        # As in QEMU, an answer has the id of its command.
        id=
        if [[ $line =~ \"id\":\"([^\"]+)\" ]]; then id=",\"id\":\"${BASH_REMATCH[1]}\""; fi
        case $command in
        query-cpus-fast) echo "{\"return\":[{\"thread-id\":$$}]$id}" >&"$qmp" ;;
        human-monitor-command) echo "{\"return\":\"TCP[HOST_FORWARD] 9 127.0.0.1 ${forwarded:?} 10.0.2.15 22\"$id}" >&"$qmp" ;;
        query-status) echo "{\"return\":{\"status\":\"${status:-running}\"}$id}" >&"$qmp" ;;
        migrate | migrate-incoming)
            echo "{\"return\":{}$id}" >&"$qmp"
            event MIGRATION "{\"status\":\"${migration:-completed}\"}"
            ;;
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

# Sends an event of QEMU: name, data.
event() { echo "{\"event\":\"$1\",\"data\":${2:-{\}}}" >&"$qmp"; }

# Sends an event of the guest agent: name, further members.
agent_event() { echo "{\"nonce\":\"$nonce\",\"event\":\"$1\"${2:+,$2}}" >&"$control"; }

ready() {
    # The agent of a restored machine is ready again when the host asks for it.
    [[ " $words " != *' -incoming '* ]] || read_request
    agent_event ready '"kernel":"6.1","cpu_flags":["sse4_2","avx"],"memory_kib":16000000'
}

# Reads a request of the host; that of the job contains the nonce.
read_request() {
    local line
    read -r line <&"$control" || exit 3
    if [[ $line =~ \"nonce\":\"([0-9a-f]+)\" ]]; then nonce=${BASH_REMATCH[1]}; fi
}

prepared() { read_request; agent_event prepared; }
started() { read_request; agent_event started; }
ended() { agent_event ended '"exit":{"code":0},"memory_kib":1000,"oom_kills":0,"left_behind":0'; }
drained() { agent_event drained "\"stdout_bytes\":${1:-0},\"stderr_bytes\":0"; }

# Waits for $1 seconds, or without end: nothing is ever sent to the console.
linger() { read -r ${1:+-t "$1"} <&"$console"; }

# A complete run whose tool prints $1.
whole_run() {
    power_on; ready; prepared; started
    printf %s "$1" >&"$stdout"
    ended; drained "${#1}"
    answer_until quit
}

# The machine whose state is saved: it boots without a fault, and saves its state unless there is a file `saving-fails`.
if [[ $TMPDIR == */saving-* ]]; then
    [[ ! -e ${BASH_SOURCE[0]%/*}/saving-fails ]] || migration=failed
    power_on; ready
    answer_until quit
    exit
fi
