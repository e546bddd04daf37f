"""Text in: whole records, numbers, columns; each against the plain way of doing it."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.io import text_records
from labelwalk.io.arrow_columns import parse_numbers
from labelwalk.io.examples import ColumnError, Columns
from labelwalk.io.rows import InputError, JsonRows, as_label_text, to_class_names
from labelwalk.io.text_formats import read_csv, read_ndjson
from labelwalk.io.text_records import count_lines, read_blocks, split_records

FIELDS = st.text(st.sampled_from('ab1." ,\n\r;é'), max_size=6)


def written(rows: list[list[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode()


def all_rows(path: Path, **options: object) -> list[dict[str, str | None]]:
    found = []
    for batch in read_csv(str(path), **options):  # type: ignore[arg-type]
        assert not batch.faults
        found += batch.rows.to_table({}, {}).to_pylist()
    return found


class TestBlocks:
    @given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=20), st.integers(1, 50))
    def test_no_byte_is_lost_and_no_record_is_cut(
        self, rows: list[tuple[str, str]], size: int
    ) -> None:
        content = written([list(row) for row in rows])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text_records, "BLOCK_BYTES", size)
            patch.setattr(text_records, "_open", lambda path: io.BytesIO(content))
            found = list(read_blocks("any.csv", b","))
        assert b"".join(block.content for block in found) == content
        for block in found:
            assert content[block.offset :].startswith(block.content)
            assert block.line == count_lines(content[: block.offset])
        texts = [one.content.decode() for one in found]
        parsed = [row for text in texts for row in csv.reader(io.StringIO(text, newline=""))]
        assert parsed == list(csv.reader(io.StringIO(content.decode(), newline="")))

    @given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=20))
    def test_records_are_those_of_the_csv_module(self, rows: list[tuple[str, str]]) -> None:
        content = written([list(row) for row in rows])
        found = list(split_records(content, b","))
        parsed = [next(csv.reader(io.StringIO(one.text.decode(), newline=""))) for one in found]
        assert parsed == [
            row for row in csv.reader(io.StringIO(content.decode(), newline="")) if row
        ]
        for one in found:
            assert count_lines(content[: one.end]) == one.lines_end

    def test_a_quote_that_is_never_closed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(text_records, "MAX_RECORD_BYTES", 100)
        path = tmp_path / "a.csv"
        path.write_text('x,y\n1,"2\n' + "3,4\n" * 100)
        with pytest.raises(InputError, match="line 2: no record ends within"):
            list(read_blocks(str(path), b","))

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_bytes(b"\xef\xbb\xbfx,y\r\n1,2\r\n")
        assert all_rows(path) == [{"x": "1", "y": "2"}]
        path.write_bytes("x,y\n1,2\n".encode("utf-16"))
        with pytest.raises(InputError, match="UTF-16"):
            all_rows(path)

    @pytest.mark.parametrize("suffix", [".gz", ".zst"])
    def test_compressed(self, suffix: str, tmp_path: Path) -> None:
        content = b"x,y\n" + b"1,2\n" * 1000
        path = tmp_path / f"a.csv{suffix}"
        packed = (
            gzip.compress(content)
            if suffix == ".gz"
            else pa.Codec("zstd").compress(content, asbytes=True)
        )
        path.write_bytes(packed)
        assert len(all_rows(path)) == 1000
        path.write_bytes(packed[:-9])
        with pytest.raises(InputError, match="damaged or truncated"):
            all_rows(path)

    def test_a_file_that_became_shorter(self, tmp_path: Path) -> None:
        path = tmp_path / "a.ndjson"
        path.write_text('{"x": 1}\n')
        with pytest.raises(InputError, match="has 9 bytes, but 100 bytes were read before"):
            list(read_blocks(str(path), None, 100, 5))


class TestRecords:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (b"a\rb\rc", [b"a", b"b", b"c"]),
            (b"a\r\nb\n\nc\r", [b"a", b"b", b"c"]),
            (b'5" pipe,1\n2,3\n', [b'5" pipe,1', b"2,3"]),
            (b'a,"x""\n""y",b\n"\r"\n', [b'a,"x""\n""y",b', b'"\r"']),
            (b'a,"open\nb\n', [b'a,"open\nb\n']),
            (b"  \n\t\n", [b"  ", b"\t"]),
        ],
    )
    def test_where_they_end(self, text: bytes, expected: list[bytes]) -> None:
        assert [one.text for one in split_records(text, b",")] == expected

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
    @pytest.mark.parametrize(
        "text",
        [
            "x,y\r1,2\r3,4\r",
            "x,y\n1,2\r3,4\n5\n6,7\n",
            'x,y\n1,5" pipe\n2\n3,"a\nb"\n4,5\n',
            "x,y\n1,2\n  \n3,4\n",
        ],
    )
    def test_faults_are_the_same_however_it_is_cut(self, text: str, size: int) -> None:
        rows: list[dict[str, str]] = []
        faults = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text_records, "BLOCK_BYTES", size)
            patch.setattr(text_records, "_open", lambda path: io.BytesIO(text.encode()))
            for batch in read_csv("any.csv"):
                faults += [(fault.where, fault.row) for fault in batch.faults]
                rows += batch.rows.to_table({}, {}).to_pylist()
        plain = list(csv.reader(io.StringIO(text, newline="")))[1:]
        assert rows == [dict(zip("xy", row, strict=True)) for row in plain if len(row) == 2]
        assert [row for _, row in faults] == [",".join(row) for row in plain if len(row) == 1]


class TestCsv:
    @given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=20), st.integers(1, 60))
    def test_fields_come_as_they_are_written(self, rows: list[tuple[str, str]], size: int) -> None:
        content = written([["a", "b", "c"], *(["-", *row] for row in rows)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text_records, "BLOCK_BYTES", size)
            patch.setattr(text_records, "_open", lambda path: io.BytesIO(content))
            found = all_rows(Path("any.csv"))
        expected = [{"a": "-", "b": b or None, "c": c or None} for b, c in rows]
        assert found == expected

    def test_every_position_is_a_place_to_go_on_from(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text('x,y\n1,2\n\n3\n4,"5\n6"\n7,8\n')
        batch = next(read_csv(str(path)))
        assert [(f.at, f.where, f.row) for f in batch.faults] == [(1, "line 4", "3")]
        assert [batch.where(i) for i in range(3)] == ["line 2", "line 5", "line 7"]
        assert list(read_csv(str(path), position=batch.after(None))) == []
        whole = batch.rows.to_table({}, {}).to_pylist()
        for n in range(4):
            left = [
                row
                for rest in read_csv(str(path), position=batch.after(n))
                for row in rest.rows.to_table({}, {}).to_pylist()
            ]
            assert left == whole[n:]

    def test_without_names(self, tmp_path: Path) -> None:
        path = tmp_path / "a.tsv"
        path.write_text("1\t2\n3\t4\n")
        assert all_rows(path, delimiter="\t", header=False) == [
            {"1": "1", "2": "2"},
            {"1": "3", "2": "4"},
        ]

    def test_unnamed_columns_are_no_features(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text(",x\n0,1.5\n")
        batch = next(read_csv(str(path)))
        assert Columns().select_features(batch.rows.names) == ("x",)

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_bytes(b"x,y\n1,2\n\xff,3\n4\n5,6\n")
        batch = next(read_csv(str(path)))
        assert [(fault.at, fault.where) for fault in batch.faults] == [(1, "line 3"), (1, "line 4")]
        assert len(batch.rows) == 2


class TestNDJSON:
    def test_every_position_is_a_place_to_go_on_from(self, tmp_path: Path) -> None:
        path = tmp_path / "a.ndjson"
        path.write_text('{"x": 1}\n\n{"x":\n[1]\n{"x": 2}\n{"x": 3}\n{"x": 4}')
        batch = next(read_ndjson(str(path)))
        assert [(fault.at, fault.where) for fault in batch.faults] == [(1, "line 3"), (1, "line 4")]
        for n in range(4):
            rest = list(read_ndjson(str(path), position=batch.after(n)))
            assert [v for one in rest for v in one.rows.values("x")] == [1, 2, 3, 4][n:]

    def test_objects_go_out_letter_by_letter(self) -> None:
        text = '{"x":1.50 , "s":"\\u00e9", "d": {"a": [1]} } '
        rows = JsonRows([text, "{}"], [json.loads(text), {}], ["x", "s", "d"])
        first, second = rows.to_json_lines(
            {}, {"label": ["cat", None], "sure": np.array([0.5, 0.25])}
        )
        assert first == '{"x":1.50 , "s":"\\u00e9", "d": {"a": [1]}, "label": "cat", "sure": 0.5}'
        assert second == '{"label": null, "sure": 0.25}'


class TestNumbers:
    @given(st.lists(st.floats(-1e150, 1e150) | st.sampled_from(["x", "", " 1.5", "nan", "1e999"])))
    def test_text_is_read_as_python_reads_it(self, values: list[float | str]) -> None:
        texts = [v if isinstance(v, str) else repr(v) for v in values]
        column = pa.chunked_array([pa.array([text or None for text in texts], pa.string())])
        numbers, bad = parse_numbers(column, 0)
        for i, text in enumerate(texts):
            if text in ("x", "", "nan", "1e999"):
                assert i in bad
            else:
                assert numbers[i, 0] == float(text)
                assert i not in bad

    def test_one_bad_value_does_not_change_the_others(self) -> None:
        texts = ["+1", ".5", "1.", "-0", "1e3", "Infinity"]
        alone = [parse_numbers(pa.chunked_array([[text]]), 0)[0][0, 0] for text in texts]
        together, _ = parse_numbers(pa.chunked_array([[*texts, "x"]]), 0)
        np.testing.assert_array_equal(together[:-1, 0], alone)

    @pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 2)])
    def test_lists(self, kind: pa.DataType) -> None:
        column = pa.chunked_array([pa.array([[1, 2], None, [3, 4]], kind)])
        numbers, bad = parse_numbers(column, 2)
        assert numbers[[0, 2]].tolist() == [[1, 2], [3, 4]]
        assert list(bad) == [1]

    def test_lists_of_other_widths_and_empty_places(self) -> None:
        column = pa.chunked_array([pa.array([[1, 2], [3], [None, 4], [5, float("nan")]])])
        _, bad = parse_numbers(column, 2)
        assert {i: value for i, (value, _) in bad.items()} == {1: "1", 2: None, 3: "nan"}

    def test_kinds_that_are_no_numbers(self) -> None:
        column = pa.chunked_array([pa.array([b"raw", b"bytes"], pa.binary())])
        _, bad = parse_numbers(column, 0)
        assert len(bad) == 2
        assert "of type binary is not a number" in bad[0].problem


class TestColumns:
    NAMES = ("id", "f1", "f2", "g", "label")

    def test_by_default_all_that_is_nothing_else(self) -> None:
        assert Columns(id="id").select_features(self.NAMES) == ("f1", "f2", "g")

    def test_order_is_that_of_the_patterns(self) -> None:
        assert Columns(features=("g", "f*")).select_features(self.NAMES) == ("g", "f1", "f2")

    @pytest.mark.parametrize(
        ("columns", "said"),
        [
            (Columns(features=("h*",)), "--features 'h\\*': no such column"),
            (Columns(label="y"), "--label-column 'y'"),
            (Columns(drop=("nope",)), "--drop 'nope'"),
            (Columns(features=("*",)), "'label' has two roles"),
            (Columns(drop=("*",)), "No column is left as a feature"),
        ],
    )
    def test_what_cannot_be(self, columns: Columns, said: str) -> None:
        with pytest.raises(ColumnError, match=said):
            columns.select_features(self.NAMES)


class TestWords:
    def test_the_same_label_in_every_format(self) -> None:
        assert {as_label_text(value) for value in (3, 3.0, "3")} == {"3"}
        assert as_label_text(float("nan")) is None
        with pytest.raises(ValueError, match="neither text nor a number"):
            as_label_text([1])

    def test_known_numbers_stay_numbers(self) -> None:
        assert to_class_names(["3", "04", "-7", "x"], (3,)) == [3, "04", -7, "x"]
