# The functions of the control session on an original disk. They send the events of the guest agent, one JSON object per
# line. The host sends this text after the session has begun. The loop uses builtins only, to use no CPU time of the tool.
nonce=
send_event() { printf '{"nonce":"%s",%s}\n' "$nonce" "$1"; }
number() { # FILE NAME: sets REPLY to the number after NAME
    local name
    while read -r name REPLY _; do [ "$name" = "$2" ] && return; done < "$1"
    REPLY=0
}
used_memory() { # Sets used and peak: memory in use by the whole guest, KiB
    number /proc/meminfo MemTotal:; local total=$REPLY
    number /proc/meminfo MemAvailable:; used=$((total - REPLY)); [ "$used" -le "$peak" ] || peak=$used
}
peak=0
send_ready() {
    local kernel flags name
    read -r kernel < /proc/sys/kernel/osrelease
    while read -r name _ flags; do [ "$name" = flags ] && break; done < /proc/cpuinfo
    number /proc/meminfo MemTotal:
    send_event "\"event\":\"ready\",\"kernel\":\"$kernel\",\"cpu_flags\":[\"${flags// /\",\"}\"],\"memory_kib\":$REPLY"
}
report_preparation() { # STATUS REASON
    local reason=${2//\\/\\\\}
    reason=${reason//\"/\\\"}
    if [ "$1" = 0 ]; then send_event '"event":"prepared"'
    else send_event "\"event\":\"failed\",\"reason\":\"${reason//[^[:print:]]/ }\""; fi
}
# The tool's session waits at the first pipe and reports the tool's end through the second.
make_pipes() { pipes=$1; mkdir -m 700 "$pipes" && mkfifo "$pipes/go" "$pipes/end"; }
own_processes() { # Sets own: the numbers of this user's processes
    local process
    own=" "
    for process in /proc/[0-9]*; do [ -O "$process" ] && own+="${process#/proc/} "; done
}
sample() {
    local user nice system wait
    read -r _ user nice system _ wait _ < /proc/stat
    used_memory
    send_event "\"event\":\"sample\",\"memory_kib\":$used,\"cpu_ms\":$(((user + nice + system) * 10)),\"io_wait_ms\":$((wait * 10))"
}
watch_tool() {
    local before ooms code wrapper left=0 process name
    own_processes; before=$own
    number /proc/vmstat oom_kill; ooms=$REPLY
    exec 7<> "$pipes/end" 8> "$pipes/go" # Waits until the tool's session has opened the pipe.
    send_event '"event":"started"'
    echo go >&8
    exec 8>&-
    while ! read -r -t 1 code wrapper <&7; do sample; done
    code=${code//[!0-9]/}
    used_memory
    # Other processes that were started since then keep the tool's streams open.
    own_processes
    for process in $own; do
        [[ $before == *" $process "* || $process = "$wrapper" ]] && continue
        { read -r name < "/proc/$process/comm"; } 2> /dev/null || continue
        [[ $name == sshd* ]] || { kill -9 "$process" && left=$((left + 1)); } 2> /dev/null
    done
    number /proc/vmstat oom_kill
    send_event "\"event\":\"ended\",\"exit\":{\"code\":$((10#0${code:0:3}))},\"memory_kib\":$peak,\"oom_kills\":$((REPLY - ooms)),\"left_behind\":$left"
}
