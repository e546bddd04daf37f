"""What a process does to its files, call by call, and what a power cut would leave of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

CALLS = "openat,close,pwrite64,write,ftruncate,fdatasync,fsync,unlink,rename"
LINE = re.compile(rb"^\d+ +(\w+)\((.*)\) += (-?\d+)")
TEXT = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"')
BEGUN = b" <unfinished ...>"
RESUMED = re.compile(rb"<\.\.\. \w+ resumed>(.*)")
SAID = 1


@dataclass(frozen=True)
class Call:
    """One call: what was done to which file."""

    name: str
    path: str
    content: bytes = b""
    at: int = 0


def recorded(command: list[str], folder: Path, log: Path) -> list[Call]:
    """Run a command, and return all it did to the files of a folder, and what it said."""
    tracer = ["strace", "-f", "-qq", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-o", str(log)]
    subprocess.run([*tracer, *command], check=True, stdout=subprocess.DEVNULL)
    return list(_calls(log.read_bytes(), str(folder)))


def _whole_lines(log: bytes) -> Iterator[bytes]:
    """Yield calls when they are done, also those during which another thread did something."""
    begun: dict[bytes, bytes] = {}
    for line in log.split(b"\n"):
        thread, _, said = line.partition(b" ")
        if said.endswith(BEGUN):
            begun[thread] = line.removesuffix(BEGUN)
        elif rest := RESUMED.search(said):
            yield begun.pop(thread) + rest[1]
        else:
            yield line


def _calls(log: bytes, folder: str) -> Iterator[Call]:
    files: dict[int, str] = {}
    written: dict[int, int] = {}  # bytes, of files that are written in order
    for line in _whole_lines(log):
        found = LINE.match(line)
        if found is None:
            continue
        name, arguments, result = found[1].decode(), found[2], int(found[3])
        texts = [
            bytes.fromhex(text.decode().replace("\\x", "")) for text in TEXT.findall(arguments)
        ]
        if result < 0:
            continue
        if name == "openat":
            files[result], written[result] = os.fsdecode(texts[0]), 0
            if b"O_CREAT" in arguments and files[result].startswith(folder):
                yield Call("create", files[result])
        elif name in ("unlink", "rename"):
            if os.fsdecode(texts[0]).startswith(folder):
                assert name == "unlink"
                yield Call(name, os.fsdecode(texts[0]))
        else:
            number = int(arguments.split(b",")[0])
            path = files.get(number, "")
            if name == "write" and number == SAID:
                yield Call("say", "", texts[0])
            elif name == "write" and path.startswith(folder):
                yield Call("write", path, texts[0][:result], written[number])
                written[number] += result
            elif path.startswith(folder):
                yield from _on_file(name, path, arguments, texts, result)


def _on_file(
    name: str, path: str, arguments: bytes, texts: list[bytes], result: int
) -> Iterator[Call]:
    last = arguments.rsplit(b",", 1)[-1].strip()
    if name == "pwrite64":
        yield Call("write", path, texts[0][:result], int(last))
    elif name == "ftruncate":
        yield Call("cut", path, at=int(last))
    elif name in ("fsync", "fdatasync"):
        yield Call("sync", path)
    else:
        assert name == "close", (name, path)


@dataclass
class Disk:
    """Files as the process sees them, and as a power cut would leave them at the least."""

    seen: dict[str, bytearray] = field(default_factory=dict)
    sure: dict[str, bytearray] = field(default_factory=dict)
    waiting: list[Call] = field(default_factory=list)

    def do(self, call: Call) -> None:
        """Take in a call."""
        _do(self.seen, call)
        if call.name == "sync":
            for one in [one for one in self.waiting if one.path == call.path]:
                _do(self.sure, one)
            self.waiting = [one for one in self.waiting if one.path != call.path]
        elif call.name in ("create", "unlink"):  # folders are taken to be written at once
            _do(self.sure, call)
        elif call.name != "say":
            self.waiting.append(call)

    def left(self, how: str, rng: np.random.Generator) -> dict[str, bytearray]:
        """Return what is left: "all" that was written, "sure" alone, or "some" of what is not."""
        if how == "all":
            return self.seen
        files = {path: bytearray(content) for path, content in self.sure.items()}
        if how == "some":
            for call in self.waiting:
                if rng.random() < 0.5:
                    _do(files, call)
        return files


def _do(files: dict[str, bytearray], call: Call) -> None:
    if call.name == "create":
        files.setdefault(call.path, bytearray())
    elif call.name == "unlink":
        files.pop(call.path, None)
    elif call.name == "cut":
        content = files.setdefault(call.path, bytearray())
        del content[call.at :]
        content.extend(bytes(call.at - len(content)))
    elif call.name == "write":
        content = files.setdefault(call.path, bytearray())
        content.extend(bytes(max(0, call.at - len(content))))
        content[call.at : call.at + len(call.content)] = call.content


def put(files: dict[str, bytearray], folder: Path, target: Path) -> None:
    """Write files of one folder into another."""
    target.mkdir()
    for path, content in files.items():
        (target / Path(path).relative_to(folder)).write_bytes(content)
