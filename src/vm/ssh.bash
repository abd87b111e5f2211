# The control session on an original disk. It sends the events of the guest agent, one JSON object per line. The host sends
# this text after the session has begun, and then calls the functions. They start no program while the tool runs, to use no CPU
# time of the tool and to give no program the session's streams.
nonce=
send_event() { printf '{"nonce":"%s",%s}\n' "$nonce" "$1"; }
number() { # FILE NAME: sets REPLY to the number after NAME
    local name
    while read -r name REPLY _; do [ "$name" = "$2" ] && return; done < "$1"
    REPLY=0
    return 1
}
# Before the instance is named. A process whose program its user cannot read is closed to other processes of that user (no
# ptrace, no pidfd_getfd, no /proc/PID/fd or mem). So both sessions run a copy of bash that can only be executed.
make_folder() { # FOLDER
    local mode=700
    [ $EUID != 0 ] || mode=711
    mkdir -m $mode "$1" && mkfifo "$1/end" && chmod 622 "$1/end" && cp "$BASH" "$1/bash" && chmod 111 "$1/bash"
}
open() { # FOLDER USER: waits until the tool's session has opened the pipe, then removes the folder
    uid=$(id -u "$2") && echo open && exec 7< "$1/end" && rm -rf "$1" && send_ready
}
send_ready() {
    local kernel flags name
    read -r kernel < /proc/sys/kernel/osrelease
    while read -r name _ flags; do [ "$name" = flags ] && break; done < /proc/cpuinfo
    number /proc/meminfo MemTotal:
    send_event "\"event\":\"ready\",\"kernel\":\"$kernel\",\"cpu_flags\":[\"${flags// /\",\"}\"],\"memory_kib\":$REPLY"
}
await_preparation() { # The tool's session sends its exit status and messages through the pipe.
    local code= reason=
    read -r -n 2000 code reason <&7
    reason=${reason//\\/\\\\}
    reason=${reason//\"/\\\"}
    if [ "$code" = 0 ]; then send_event '"event":"prepared"'
    else send_event "\"event\":\"failed\",\"reason\":\"${reason//[^[:print:]]/ }\""; fi
}
used_memory() { # Sets used and peak: memory in use by the whole guest, KiB
    number /proc/meminfo MemTotal:; local total=$REPLY
    number /proc/meminfo MemAvailable:; used=$((total - REPLY)); [ "$used" -le "$peak" ] || peak=$used
}
peak=0
processes() { # Sets own: the numbers of the processes of the tool's user
    local process
    own=" "
    for process in /proc/[0-9]*; do
        number "$process/status" Uid: && [ "$REPLY" = "$uid" ] && own+="${process#/proc/} "
    done 2> /dev/null
}
sample() {
    local user nice system wait
    read -r _ user nice system _ wait _ < /proc/stat
    used_memory
    send_event "\"event\":\"sample\",\"memory_kib\":$used,\"cpu_ms\":$(((user + nice + system) * 10)),\"io_wait_ms\":$((wait * 10))"
}
watch_tool() {
    local before ooms code exit='"signal":9' left=0 process
    processes; before=$own
    number /proc/vmstat oom_kill; ooms=$REPLY
    send_event '"event":"started"'
    # The tool's session sends the exit status through the pipe. If the session ends, the pipe ends.
    while read -r -t 1 -n 20 code <&7; [ $? -gt 128 ]; do sample; done
    code=${code//[!0-9]/}
    [ -z "$code" ] || exit="\"code\":$((10#0${code:0:3} % 256))"
    used_memory
    # Other processes that were started since then keep the tool's streams open.
    processes
    for process in $own; do
        [[ $before == *" $process "* ]] || { kill -9 "$process" && left=$((left + 1)); } 2> /dev/null
    done
    number /proc/vmstat oom_kill
    send_event "\"event\":\"ended\",\"exit\":{$exit},\"memory_kib\":$peak,\"oom_kills\":$((REPLY - ooms)),\"left_behind\":$left"
}
# After the end of the tool, and of its processes. Regular files with a fixed name only; what exceeds a limit is cut. Of each
# file the length is sent first. The programs get no stream of the session except its errors.
send_evidence() { # FOLDER MOST_OF_A_FILE MOST_OF_ALL PART, in bytes
    local folder=$1 most=$2 left=$3 part=$4 position kind file bytes sent size
    if [ -d "$folder" ] && [ ! -L "$folder" ]; then
        for position in {00..99}; do
            for kind in certificate witness; do
                file=$position.$kind.json
                [ -f "$folder/$file" ] && [ ! -L "$folder/$file" ] && [ -r "$folder/$file" ] || continue
                bytes=$(stat -c %s "$folder/$file" < /dev/null 7<&-)
                [ "$bytes" -le "$most" ] || bytes=$most
                [ "$bytes" -le "$left" ] || bytes=$left
                left=$((left - bytes))
                send_event "\"event\":\"evidence-file\",\"file\":\"$file\",\"bytes\":$bytes"
                for ((sent = 0; sent < bytes; sent += part)); do
                    size=$((bytes - sent))
                    [ "$size" -le "$part" ] || size=$part
                    send_event "\"event\":\"evidence-part\",\"base64\":\"$(read_part "$folder/$file" "$part" $((sent / part)) "$size" < /dev/null 7<&-)\""
                done
            done
        done
    fi
    send_event '"event":"evidence-sent"'
}
read_part() { # FILE PART NUMBER SIZE
    dd if="$1" iflag=nofollow,nonblock bs="$2" skip="$3" count=1 2> /dev/null | head -c "$4" | base64 -w 0
}
