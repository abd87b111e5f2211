#!/usr/bin/env bash
# Starts the disk of this kit as in the contest.   ./BenchKitStart.sh [DISK]   Then run in another terminal:
#   ssh -i key -p 2222 mcc@127.0.0.1      (or root@127.0.0.1, to install packages)
# Changes are kept on the disk. Set CORES=4 for a concurrent tool; BUS=ide or NIC=e1000 if your disk needs them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
disk=${1:-$here/disk.vmdk}
accel=tcg
[ ! -w /dev/kvm ] || accel=kvm:tcg
case ${BUS:-virtio} in
virtio) device() { echo "virtio-blk-pci,drive=$1"; } ;;
ide) device() { echo "ide-hd,drive=$1"; } ;;
*) echo "BUS must be virtio or ide" >&2; exit 2 ;;
esac
case ${NIC:-virtio} in
virtio) nic=virtio-net-pci ;;
*) nic=$NIC ;;
esac
args=(-nodefaults -display none -serial mon:stdio -machine "pc,accel=$accel" -cpu SandyBridge -m "${MEMORY:-16384}M"
    -smp "${CORES:-1}" -drive "if=none,id=disk,file=$disk" -device "$(device disk)" -device VGA,addr=2
    -netdev user,id=net,hostfwd=tcp:127.0.0.1:2222-:22 -device "$nic,netdev=net,addr=3")
if [ -e "$here/inputs.vmdk" ]; then
    # Writes are discarded, so that the inputs disk does not change.
    args+=(-drive "if=none,id=inputs,snapshot=on,file=$here/inputs.vmdk" -device "$(device inputs)")
fi
exec qemu-system-x86_64 "${args[@]}"
