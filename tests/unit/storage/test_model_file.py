"""The model file: nothing lost, nothing believed unchecked, nothing half written."""

from __future__ import annotations

import ast
import errno
import hashlib
import json
import os
import random
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from labelwalk.storage import model_file
from labelwalk.storage.model_file import ModelFileError, digest, read, write

Array = NDArray[Any]

HEADER = {"kind": "test", "labels": ["Žofie", "李", "🙂", None], "sink": 0.1, "deep": {"n": [1, 2]}}
ARRAYS = {
    "f": np.arange(12.0).reshape(3, 4),
    "counts": np.arange(5),
    "ages": np.arange(7, dtype=np.int32),
    "pixels": np.arange(200, dtype=np.uint8),
    "mask": np.array([True, False, True]),
}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def stored_arrays(draw: st.DrawFn) -> Array:
    dtype = draw(st.sampled_from(["<f8", ">f8", "<i8", ">i8", "<i4", ">i4", "|u1", "|b1"]))
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
    array: Array = draw(hnp.arrays(dtype, draw(shapes)))
    form = draw(st.sampled_from(["plain", "fortran", "sliced", "reversed", "read-only"]))
    if form == "fortran":
        return np.asfortranarray(array) if array.ndim > 1 else array
    if form == "sliced" and array.ndim:
        return array[::2]
    if form == "reversed" and array.ndim:
        return array[..., ::-1]
    array.flags.writeable = form != "read-only"
    return array


def forge(path: Path, text: bytes, data: bytes = b"", version: int = model_file.VERSION) -> Path:
    """A file with any header at all and a right checksum."""
    prefix = len(b"LABELWALK\n") + 20
    padding = bytes(-(prefix + len(text)) % 64)
    data += bytes(-len(data) % 64)
    size = prefix + len(text) + len(padding) + len(data) + 32
    body = b"LABELWALK\n" + struct.pack("<IQQ", version, size, len(text)) + text + padding + data
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


def listing(*entries: dict[str, Any]) -> bytes:
    return json.dumps({"arrays": list(entries), "header": {}}).encode()


def entry(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "dtype": "<f8", "shape": [2]} | changes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a model.labelwalk"


class TestRoundTrip:
    @given(
        st.dictionaries(st.text(), json_values, max_size=4),
        st.dictionaries(st.text(), stored_arrays(), max_size=4),
    )
    def test_everything_comes_back(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "model"
            write(target, header, arrays)
            content = target.read_bytes()
            header_back, arrays_back = read(target)
            assert os.listdir(folder) == ["model"]
        assert header_back == header
        assert arrays_back.keys() == arrays.keys()
        for name, array in arrays.items():
            back = arrays_back[name]
            assert back.dtype == array.dtype.newbyteorder("=")
            assert back.shape == array.shape
            assert back.tobytes() == array.astype(back.dtype).tobytes()
            assert back.flags.writeable
            assert back.flags.owndata
            assert back.flags.c_contiguous
        assert digest(header, arrays) == hashlib.sha256(content).hexdigest()
        assert digest(header_back, arrays_back) == digest(header, arrays)

    def test_same_state_same_bytes(self, path: Path) -> None:
        other = path.with_name("other")
        write(path, HEADER, ARRAYS)
        write(other, dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items())))
        assert path.read_bytes() == other.read_bytes()

    def test_one_bit_makes_another_digest(self) -> None:
        changed = ARRAYS["f"].copy()
        changed[0, 0] = -0.0
        assert digest(HEADER, ARRAYS | {"f": changed}) != digest(HEADER, ARRAYS)
        assert digest(HEADER | {"sink": 0.2}, ARRAYS) != digest(HEADER, ARRAYS)

    def test_arrays_are_aligned_and_raw(self, path: Path) -> None:
        write(path, HEADER, ARRAYS)
        content = path.read_bytes()
        for array in ARRAYS.values():
            assert content.index(array.tobytes()) % 64 == 0

    def test_arrays_do_not_hang_on_the_file(self, path: Path) -> None:
        write(path, HEADER, ARRAYS)
        _, first = read(path)
        first["f"][:] = -1.0
        path.unlink()
        write(path, HEADER, ARRAYS)
        _, second = read(path)
        np.testing.assert_array_equal(second["f"], ARRAYS["f"])

    def test_a_string_as_path_and_an_older_file(self, path: Path) -> None:
        write(str(path), {"n": 1}, ARRAYS)
        write(str(path), {"n": 2}, {})
        assert read(str(path)) == ({"n": 2}, {})

    def test_permissions_stay(self, path: Path) -> None:
        write(path, {}, {})
        path.chmod(0o640)
        write(path, {}, {})
        assert path.stat().st_mode & 0o777 == 0o640

    def test_a_link_still_points_to_the_file(self, path: Path) -> None:
        link = path.with_name("current")
        write(path, {"n": 1}, {})
        link.symlink_to(path)
        write(link, {"n": 2}, {})
        assert link.is_symlink()
        assert read(path)[0] == {"n": 2}


class TestRefusedToWrite:
    @pytest.mark.parametrize(
        "header",
        [{"x": float("nan")}, {"x": float("inf")}, {"x": {1, 2}}, {"x": np.int64(3)}, {"x": b""}],
    )
    def test_header_beyond_json(self, path: Path, header: dict[str, Any]) -> None:
        with pytest.raises(ModelFileError, match=r"a model.*header cannot be written as JSON"):
            write(path, header, {})
        assert not path.exists()

    @pytest.mark.parametrize("header", [{"x": (1, 2)}, {"x": {1: "one"}}])
    def test_header_that_json_would_change(self, path: Path, header: dict[str, Any]) -> None:
        with pytest.raises(ModelFileError, match="would change in a JSON round trip"):
            write(path, header, {})

    @pytest.mark.parametrize(
        "array",
        [
            np.zeros(2, np.float32),
            np.array(["a"]),
            np.array([object()]),
            np.zeros(2, np.complex128),
        ],
    )
    def test_dtype(self, path: Path, array: Array) -> None:
        with pytest.raises(ModelFileError, match=r"array 'x' has dtype .*astype"):
            write(path, {}, {"x": array})
        with pytest.raises(ModelFileError, match="array 'x' has dtype"):
            digest({}, {"x": array})

    def test_name(self, path: Path) -> None:
        with pytest.raises(ModelFileError, match="array name 3 is not a string"):
            write(path, {}, {3: np.zeros(2)})  # type: ignore[dict-item]


class TestDamage:
    def test_every_flipped_byte_is_noticed(self, path: Path) -> None:
        write(path, HEADER, ARRAYS)
        content = path.read_bytes()
        positions = {
            *range(60),
            *range(60, len(content), 7),
            *range(len(content) - 40, len(content)),
        }
        for position in sorted(positions):
            for flip in (0x01, 0x80, 0xFF):
                damaged = bytearray(content)
                damaged[position] ^= flip
                path.write_bytes(damaged)
                with pytest.raises(ModelFileError, match="a model"):
                    read(path)

    def test_every_truncation_is_noticed(self, path: Path) -> None:
        write(path, HEADER, ARRAYS)
        content = path.read_bytes()
        lengths = {*range(120), *range(120, len(content), 11), len(content) - 1}
        for length in sorted(lengths):
            path.write_bytes(content[:length])
            with pytest.raises(ModelFileError, match="a model"):
                read(path)

    def test_trailing_bytes_are_noticed(self, path: Path) -> None:
        write(path, HEADER, ARRAYS)
        path.write_bytes(path.read_bytes() + b"\0")
        with pytest.raises(ModelFileError, match="bytes where"):
            read(path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is not a labelwalk model file"),
            (b"\x80\x04}q\x00.", "is not a labelwalk model file"),
            (b"LABELWALK\n", "has 10 bytes where 62 are expected"),
        ],
    )
    def test_other_files(self, path: Path, content: bytes, message: str) -> None:
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=message):
            read(path)

    def test_checksum(self, path: Path) -> None:
        write(path, HEADER, ARRAYS)
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(ModelFileError, match=r"damaged.*restore it from a copy"):
            read(path)

    def test_a_newer_format(self, path: Path) -> None:
        forge(path, listing(), version=model_file.VERSION + 1)
        with pytest.raises(
            ModelFileError, match=r"format version 5.*reads versions 3 to 4; upgrade labelwalk"
        ):
            read(path)

    def test_an_older_format(self, path: Path) -> None:
        forge(path, listing(), version=model_file.OLDEST_VERSION - 1)
        expected = r"format version 2.*with the version that wrote it"
        with pytest.raises(ModelFileError, match=expected):
            read(path)

    def test_no_file_and_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"nowhere cannot be read .*check the path"):
            read(tmp_path / "nowhere")
        with pytest.raises(ModelFileError, match="cannot be read"):
            read(tmp_path)


class TestForgery:
    """The checksum is right, the content is not."""

    def test_the_forge_itself_is_sound(self, path: Path) -> None:
        _, arrays = read(forge(path, listing(entry()), np.array([1.0, 2.0]).tobytes()))
        np.testing.assert_array_equal(arrays["x"], [1.0, 2.0])

    @pytest.mark.parametrize(
        "changes",
        [
            {"shape": [9]},
            {"shape": [2**59]},
            {"shape": [2**61 + 2]},  # 8 * (2^61 + 2) is 16 once it has wrapped around 2^64
            {"shape": [2**32, 2**32]},
            {"shape": [0, 2**70]},
            {"shape": [0, 2**62, 2**62]},
            {"shape": [True, 2]},
            {"shape": ["2"]},
            {"shape": [1] * 99 + [2]},
            {"shape": [-2]},
            {"shape": [-1, -2]},
            {"shape": [2.0]},
            {"shape": 2},
            {"shape": None},
            {"dtype": "|O"},
            {"dtype": "O"},
            {"dtype": ">f8"},
            {"dtype": "<f4"},
            {"dtype": "|V8"},
            {"dtype": "<U4"},
            {"dtype": "<M8[s]"},
            {"dtype": ["<f8"]},
            {"dtype": {"names": ["a"]}},
            {"name": 3},
            {"offset": 0},
        ],
    )
    def test_entries(self, path: Path, changes: dict[str, Any]) -> None:
        forge(path, listing(entry(**changes)), bytes(16))
        with pytest.raises(ModelFileError, match="a model"):
            read(path)

    def test_missing_field(self, path: Path) -> None:
        short = entry()
        del short["dtype"]
        with pytest.raises(ModelFileError, match="its list of arrays has the invalid entry"):
            read(forge(path, listing(short), bytes(16)))

    def test_too_little_and_too_much(self, path: Path) -> None:
        with pytest.raises(ModelFileError, match="array 'y' is longer than the file"):
            read(forge(path, listing(entry(), entry(name="y")), bytes(16)))
        with pytest.raises(ModelFileError, match="arrays do not fill the file"):
            read(forge(path, listing(entry()), bytes(65)))

    def test_double_names(self, path: Path) -> None:
        with pytest.raises(ModelFileError, match="two arrays with the same name"):
            read(forge(path, listing(entry(), entry()), bytes(80)))

    def test_truth_beyond_0_and_1(self, path: Path) -> None:
        forge(path, listing(entry(dtype="|b1")), b"\x01\x02")
        with pytest.raises(ModelFileError, match="boolean values"):
            read(path)

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"null",
            b"[]",
            b"{}",
            b'{"arrays": [], "header": []}',
            b'{"arrays": {}, "header": {}}',
            b'{"arrays": [3], "header": {}}',
            b'{"arrays": [], "header": {"x": NaN}}',
            b'{"arrays": [], "header": {"x": -Infinity}}',
            b'{"arrays": [], "header": {}, "more": 1}',
            b"\xff\xfe",
            b"[" * 100_000,
            b"9" * 10_000,
        ],
    )
    def test_header(self, path: Path, text: bytes) -> None:
        with pytest.raises(ModelFileError, match="another program wrote it"):
            read(forge(path, text))

    def test_header_longer_than_the_file(self, path: Path) -> None:
        body = b"LABELWALK\n" + struct.pack("<IQQ", model_file.VERSION, 62, 2**63)
        path.write_bytes(body + hashlib.sha256(body).digest())
        with pytest.raises(ModelFileError, match="does not fit"):
            read(path)


ENDLESS_WRITER = """
import os, sys, types
import numpy as np
package = sys.modules["labelwalk"] = types.ModuleType("labelwalk")  # without its slow imports
package.__path__ = [os.path.dirname(os.path.dirname(sys.argv[1]))]
from labelwalk.storage import model_file
n = int(sys.argv[3])
while True:
    n += 1
    model_file.write(sys.argv[2], {"n": n}, {"x": np.full(200_000, n), "y": np.full(9, n)})
    print(n, flush=True)
"""


class TestAtomicity:
    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
    def test_killed_while_writing(self, path: Path) -> None:
        write(path, {"n": 0}, {"x": np.full(200_000, 0), "y": np.full(9, 0)})
        dice = random.Random(0)
        confirmed, half_written = 0, 0
        for _ in range(30):
            confirmed = self.write_until_killed(path, confirmed, dice.uniform(0, 0.03))
            half_written += self.sweep(path)
            if half_written >= 5:
                break
        assert half_written > 0, "no kill came in the middle of a write: the test proved nothing"

    def write_until_killed(self, path: Path, n: int, delay: float) -> int:
        command = [sys.executable, "-c", ENDLESS_WRITER, model_file.__file__, str(path), str(n)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(delay)
            os.kill(child.pid, signal.SIGKILL)
            confirmed = [n + 1, *(int(line) for line in child.stdout.read().splitlines())]
        header, arrays = read(path)
        assert header["n"] in (confirmed[-1], confirmed[-1] + 1)
        assert (arrays["x"] == header["n"]).all()
        assert (arrays["y"] == header["n"]).all()
        assert len(arrays["x"]) == 200_000
        return int(header["n"])

    def sweep(self, path: Path) -> int:
        left = [file for file in path.parent.iterdir() if file != path]
        for file in left:
            assert file.name.startswith(".labelwalk-")
            file.unlink()
        return len(left)

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_a_failing_step_leaves_the_old_file(
        self, path: Path, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(path, HEADER, ARRAYS)

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, step, full)
            with pytest.raises(ModelFileError, match=r"cannot be written \(No space left"):
                write(path, {"n": 2}, {})
        assert digest(*read(path)) == digest(HEADER, ARRAYS)
        assert os.listdir(path.parent) == [path.name]

    def test_a_read_only_file_is_respected(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(path, HEADER, ARRAYS)
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(ModelFileError, match="the existing file is read-only"):
            write(path, {"n": 2}, {})
        assert digest(*read(path)) == digest(HEADER, ARRAYS)

    @pytest.mark.parametrize(("number", "fails"), [(errno.EINVAL, False), (errno.EIO, True)])
    def test_a_folder_that_cannot_be_synchronised(
        self, path: Path, number: int, fails: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fsync = os.fsync

        def only_files(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, "not here")
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", only_files)
        if fails:
            with pytest.raises(ModelFileError, match="not here"):
                write(path, HEADER, ARRAYS)
        else:
            write(path, HEADER, ARRAYS)
        assert digest(*read(path)) == digest(HEADER, ARRAYS)

    def test_interrupted_from_the_keyboard(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(path, HEADER, ARRAYS)

        def interrupt(_: int) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", interrupt)
            with pytest.raises(KeyboardInterrupt):
                write(path, {"n": 2}, {})
        assert digest(*read(path)) == digest(HEADER, ARRAYS)
        assert os.listdir(path.parent) == [path.name]

    def test_a_folder_in_the_way(self, tmp_path: Path) -> None:
        folder = tmp_path / "taken"
        folder.mkdir()
        (folder / "inside").write_text("kept")
        with pytest.raises(ModelFileError, match=r"taken cannot be written .*path of a file"):
            write(folder, HEADER, ARRAYS)
        assert (folder / "inside").read_text() == "kept"
        assert os.listdir(tmp_path) == ["taken"]

    def test_no_such_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"cannot be written .*existing, writable folder"):
            write(tmp_path / "nowhere" / "model", HEADER, ARRAYS)
        (tmp_path / "file").write_text("")
        with pytest.raises(ModelFileError, match="cannot be written"):
            write(tmp_path / "file" / "model", HEADER, ARRAYS)

    @pytest.mark.parametrize("what", ["file", "folder"])
    def test_no_permission(self, path: Path, what: str) -> None:
        write(path, HEADER, ARRAYS)
        guarded = path if what == "file" else path.parent
        mode = guarded.stat().st_mode
        guarded.chmod(0o555)
        try:
            if os.access(guarded, os.W_OK):
                pytest.skip("this user may write everywhere")
            with pytest.raises(ModelFileError, match="cannot be written"):
                write(path, {"n": 2}, {})
        finally:
            guarded.chmod(mode)
        assert digest(*read(path)) == digest(HEADER, ARRAYS)
        assert os.listdir(path.parent) == [path.name]


def test_nothing_in_the_source_executes_what_it_reads() -> None:
    tree = ast.parse(Path(model_file.__file__).read_text(encoding="utf-8"))
    modules, called = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(str(node.module).split(".")[0])
        elif isinstance(node, ast.Name):
            called.add(node.id)
        elif isinstance(node, ast.Attribute):
            called.add(node.attr)
    assert not modules & {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
    assert not called & {"eval", "exec", "compile", "__import__", "load", "save", "savez"}
