"""The files of a data set: footers, parts, batches, and the columns that all files share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from labelwalk.distributed.filesystem import DataFile, check_unchanged, with_path_in_errors
from labelwalk.io.examples import ColumnError, Columns, ExampleReader, Examples
from labelwalk.io.rows import InputError
from labelwalk.io.table_formats import batch_of_table, join_tables
from labelwalk.io.task import PREDICTED_PREFIX

MIN_BATCH_ROWS, MAX_BATCH_ROWS = 1 << 8, 1 << 14
BATCH_BYTES = 1 << 24  # a batch has fewer rows if they are wide
GROUP_ROWS, GROUP_BYTES = 1 << 17, 1 << 26  # a written row group ends at one of them
PART_ROWS = 1 << 20  # a part has at least as many rows, and less than half as many more
FOOTER_THREADS = 16
DATASET_BUFFER_BYTES = 1 << 20  # read at a time of each column
ANSWER_COLUMNS = {"label": pa.string(), "confidence": pa.float64(), "outlier": pa.bool_()}
PARQUET_SUFFIXES, ARROW_SUFFIXES = (".parquet", ".pq"), (".arrow", ".feather")

Widths = Mapping[str, int | None]
UNKNOWN_WIDTHS: Widths = {}


class FilePart(NamedTuple):
    """Some row groups of a file."""

    groups: tuple[int, ...]
    first: int  # number of rows before them


class Footer(NamedTuple):
    """The columns of a file and the number of rows of each row group."""

    schema: pa.Schema
    sizes: tuple[int, ...]


class RowSpec(NamedTuple):
    """How rows are read: the roles of columns, and the features and their widths, if known.

    No process sees all rows of a data set, so duplicate ids are not detected and sources have no
    shares: both columns only pass through.
    """

    columns: Columns = Columns()
    unlabeled: str = ""
    features: tuple[str, ...] = ()  # in this order; empty if unknown
    widths: Widths = UNKNOWN_WIDTHS  # lengths of their lists

    def build_reader(self) -> ExampleReader:
        """Return a reader for the rows of one file."""
        columns = self.columns
        drop = *columns.drop, *(name for name in (columns.id, columns.source) if name is not None)
        columns = replace(columns, id=None, source=None, drop=drop)
        widths = dict(self.widths)
        return ExampleReader(columns, self.unlabeled, widths=widths, taught_by=self.features)

    def read(self, batches: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[Examples]:
        """Yield batches as examples, up to the first value that is not a number."""
        return _read_examples(batches, self.build_reader(), first=0)

    def read_file(self, file: DataFile, part: FilePart | None) -> Iterator[Examples]:
        """Yield the rows of a file, or of a part of it."""
        first = part.first if part else 0
        with with_path_in_errors(file.name):
            yield from _read_examples(read_batches(file, part), self.build_reader(), first)


def resolve_schema(
    files: Sequence[DataFile],
    schemas: Sequence[pa.Schema],
    columns: Columns,
    unlabeled: str,
    prefix: str | None,
) -> tuple[RowSpec, str]:
    """Return how the rows of all files are read, and the prefix of the names of new columns.

    A file may lack the column of labels if another file has it: its rows are unlabelled. All other
    columns that are read must be the same in all files.
    """
    if any(columns.label in schema.names for schema in schemas):
        columns = replace(columns, label_optional=True)
    features = columns.select_features(schemas[0].names)
    if prefix is None:
        names = {name for schema in schemas for name in schema.names}
        prefix = PREDICTED_PREFIX if names & ANSWER_COLUMNS.keys() else ""
    for file, schema in zip(files, schemas, strict=True):
        with with_path_in_errors(file.name):
            _check_features(schema, schemas[0], features)
            add_answer_columns(schema, prefix)
            for name in columns.select_features(schema.names):
                if name not in features:
                    raise ColumnError(
                        f"column {name!r} would be a feature, but the first file has no such "
                        "column. List the features that all files share with --features."
                    )
    spec = RowSpec(columns, unlabeled, features)
    return spec._replace(widths=_measure_widths(files, spec)), prefix


def _measure_widths(files: Sequence[DataFile], spec: RowSpec) -> Widths:
    """Return the length of the lists of each feature, from the first row there is."""
    for file in files:
        reader = spec.build_reader()
        with with_path_in_errors(file.name):
            for _ in _read_examples(read_batches(file), reader, first=0):
                if reader.n_features is not None:
                    return reader.widths
    return UNKNOWN_WIDTHS


def _check_features(schema: pa.Schema, first: pa.Schema, features: Sequence[str]) -> None:
    for name in features:
        expected = first.field(name).type
        if name not in schema.names:
            raise ColumnError(
                f"column {name!r} is missing; other files have it as a feature. Give every file "
                "the same columns, or list the features that all files share with --features."
            )
        if schema.field(name).type != expected:
            raise ColumnError(
                f"column {name!r} has type {schema.field(name).type}, but {expected} in the first "
                "file. Give every file the same types."
            )


def add_answer_columns(schema: pa.Schema, prefix: str) -> pa.Schema:
    """Return the columns of a file followed by those of its answers, which must be new names."""
    for name, dtype in ANSWER_COLUMNS.items():
        if prefix + name in schema.names:
            raise InputError(
                f"there is already a column {prefix + name!r}. Choose another --prefix for the new "
                "columns."
            )
        schema = schema.append(pa.field(prefix + name, dtype))
    return schema


def _read_examples(
    batches: Iterable[pa.RecordBatch | pa.Table], reader: ExampleReader, first: int
) -> Iterator[Examples]:
    """Yield batches as examples; `first` rows come before them in their file."""
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        if not isinstance(table, pa.Table):
            raise TypeError(
                f"batches contains {type(batch).__name__}. Pass an iterable of pyarrow.RecordBatch "
                "or pyarrow.Table; a single batch as [batch]."
            )
        rows = batch_of_table(table, first, None)
        examples, faults = reader.read(rows, first_fault=True)
        if faults:
            raise InputError(str(faults[0]))
        first += batch.num_rows
        yield examples


def is_parquet(file: DataFile) -> bool:
    """Return whether the format of a file is Parquet, or else Arrow, by its name."""
    if file.name.endswith(PARQUET_SUFFIXES):
        return True
    if file.name.endswith(ARROW_SUFFIXES):
        return False
    raise InputError(
        f"{file.name}: only {', '.join(PARQUET_SUFFIXES + ARROW_SUFFIXES)} can be read. Exclude "
        "the file with a pattern such as 'folder/*.parquet', or convert it to Parquet."
    )


def read_footers(files: Sequence[DataFile]) -> list[Footer]:
    """Return the footers of files, several at a time: storage may be slow to answer."""
    with ThreadPoolExecutor(FOOTER_THREADS) as threads:
        return list(threads.map(read_footer, files))


def read_footer(file: DataFile) -> Footer:
    """Return the footer of a file."""
    with with_path_in_errors(file.name), _open(file) as content:
        if isinstance(content, pq.ParquetFile):
            sizes = (content.metadata.row_group(i).num_rows for i in range(content.num_row_groups))
            return Footer(content.schema_arrow, tuple(sizes))
        with _open(file, included_fields=[0]) as column:  # an Arrow file has no row counts
            sizes = (column.get_batch(i).num_rows for i in range(column.num_record_batches))
            return Footer(content.schema, tuple(sizes))


def split_parts(footer: Footer) -> list[FilePart]:
    """Return the parts of a file, of similar sizes; they depend on the file alone."""
    parts: list[FilePart] = []
    groups: list[int] = []
    first, n_rows, n_after = 0, 0, sum(footer.sizes)
    for group, size in enumerate(footer.sizes):
        groups.append(group)
        n_rows, n_after = n_rows + size, n_after - size
        if n_rows >= PART_ROWS and n_after >= PART_ROWS // 2:
            parts.append(FilePart(tuple(groups), first))
            first, n_rows, groups = first + n_rows, 0, []
    return [*parts, FilePart(tuple(groups), first)]


def read_batches(file: DataFile, part: FilePart | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, or of a part of it, in batches of moderate size."""
    with with_path_in_errors(file.name), _open(file) as content:
        if isinstance(content, pq.ParquetFile):
            groups = range(content.num_row_groups) if part is None else part.groups
            metadata = [content.metadata.row_group(i) for i in groups]
            n_rows = sum(group.num_rows for group in metadata)
            size = _batch_rows(n_rows, sum(group.total_byte_size for group in metadata))
            yield from content.iter_batches(size, row_groups=list(groups), use_threads=False)
            return
        groups = range(content.num_record_batches) if part is None else part.groups
        for group in groups:
            batch = content.get_batch(group)
            size = _batch_rows(batch.num_rows, batch.nbytes)
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)


def _batch_rows(n_rows: int, n_bytes: int) -> int:
    return max(MIN_BATCH_ROWS, min(MAX_BATCH_ROWS, BATCH_BYTES * n_rows // max(1, n_bytes)))


def write_like(file: DataFile, schema: pa.Schema, tables: Iterable[pa.Table], out: Any) -> None:
    """Write tables to an open file, in the format of another file."""
    if is_parquet(file):
        # numbers rarely repeat, so a dictionary does not compress them
        repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
        writer: Any = pq.ParquetWriter(out, schema, use_dictionary=repeated)
    else:
        writer = pa.ipc.new_file(out, schema)
    with writer:
        for group in join_tables(tables, GROUP_ROWS, GROUP_BYTES):
            writer.write_table(group)


def _open(file: DataFile, **arrow_options: Any) -> Any:
    check_unchanged([file])
    system, path = file.location
    if is_parquet(file):
        source = system.open_input_file(path)
        return pq.ParquetFile(source, pre_buffer=False, buffer_size=DATASET_BUFFER_BYTES)
    source = pa.memory_map(path) if file.location.is_local else system.open_input_file(path)
    return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(**arrow_options))
