#!/usr/bin/env python3
"""Compares `image build --container` with `tar -x` and `mke2fs -d` on the same layer.

benches/container.py HARNESS REFERENCE [MEGABYTES]     needs root; ROUNDS sets the number of rounds
"""

import gzip
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

harness, reference = (str(Path(word).resolve()) for word in sys.argv[1:3])
megabytes = int(sys.argv[3]) if len(sys.argv) > 3 else 500
rounds = int(os.environ.get("ROUNDS", 3))


def layer() -> bytes:
    """Files of 1 KB to 4 MB, half of their bytes random, with a start script and the host's bash."""
    chance, out, left = random.Random(2018), io.BytesIO(), megabytes << 20
    with tarfile.open(fileobj=out, mode="w") as tar:

        def add(name: str, content: bytes) -> None:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))

        add("bin/bash", Path("/bin/bash").read_bytes())
        add("home/mcc/BenchKit/BenchKit_head.sh", b"#!/bin/bash\necho CANNOT_COMPUTE\n")
        number = 0
        while left > 0:
            size = min(left, int(2 ** chance.uniform(10, 22)))
            content = b"".join(chance.randbytes(64) + bytes(64) for _ in range(size // 128 + 1))[:size]
            add(f"opt/{number % 50}/{number}", content)
            number, left = number + 1, left - size
    return out.getvalue()


def write_layout(folder: Path) -> Path:
    """An OCI layout with the layer; returns the layer's file."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)

    def blob(content: bytes, kind: str) -> dict:
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        media_type = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    plain = layer()
    packed = blob(gzip.compress(plain, 6, mtime=0), "layer.v1.tar+gzip")
    ids = [f"sha256:{hashlib.sha256(plain).hexdigest()}"]
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ids}}
    manifest = {"schemaVersion": 2, "config": blob(json.dumps(config).encode(), "config.v1+json"), "layers": [packed]}
    index = {"schemaVersion": 2, "manifests": [blob(json.dumps(manifest).encode(), "manifest.v1+json")]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return blobs / packed["digest"].removeprefix("sha256:")


def seconds(command: list, folder: Path) -> float:
    subprocess.run(["rm", "-rf", "root", "disk", "image"], cwd=folder, check=True)
    subprocess.run(["sync"], check=True)
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.monotonic() - begin


with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
    folder = Path(name)
    packed = write_layout(folder / "oci")
    bare = f"mkdir root && tar -xzpf {packed} -C root && truncate -s 8G disk && mke2fs -q -F -t ext4 -d root disk"
    build = [harness, "image", "build", "--container", "oci", "--reference", reference, "--out", "image"]
    times = [(seconds(build, folder), seconds(["bash", "-c", bare], folder)) for _ in range(rounds)]
    own, other = (sorted(column)[rounds // 2] for column in zip(*times))
    print(f"container of {megabytes} MB: {own:.2f} s; tar -x and mke2fs -d: {other:.2f} s")
    print(f"ratio {own / other:.2f} (aim: at most 1.5)")
