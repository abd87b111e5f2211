# The fixed workloads of `doctor --measure`, executed in a machine by bash as root. $SCALE multiplies their size.
# After each workload one line of 48 bytes is printed: its name, and user and system time as the guest counts them.
export LC_ALL=C
TIMEFORMAT='%U %S'
cd /var/tmp || exit 2

measure() {
    local name=$1 used
    # An error message of a workload would be part of the times, so it makes the line unreadable, and the measurement ends.
    used=$({ time "$@" >/dev/null; } 2>&1)
    printf '%-47s\n' "$name $used"
}

compute() { awk -v n=$((SCALE * 400000)) 'BEGIN { for (i = 0; i < n; i++) x = (x * 16807 + i) % 2147483647; print x }'; }
memory() { awk -v n=$((SCALE * 60000)) 'BEGIN { for (i = 0; i < n; i++) a[i] = i; for (i = 0; i < n; i++) s += a[(i * 7919) % n]; print s }'; }
syscalls() { dd if=/dev/zero of=/dev/null bs=1 count=$((SCALE * 60000)) status=none; }
disk() {
    dd if=/dev/zero of=measured bs=1M count=$((SCALE * 12)) conv=fsync status=none &&
        dd if=measured of=/dev/null bs=1M iflag=direct status=none && rm measured
}
processes() { for ((i = 0; i < SCALE * 60; i++)); do /bin/true; done; }
threads() {
    local i
    for i in 1 2 3 4; do
        awk -v n=$((SCALE * 100000)) 'BEGIN { for (i = 0; i < n; i++) x = (x * 16807 + i) % 2147483647; print x }' &
    done
    wait
}

for workload in compute memory syscalls disk processes threads; do measure $workload; done
