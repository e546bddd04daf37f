"""Data sets: made ones are what they say, real ones are checked, missing ones say where to look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

from paper import datasets
from paper.datasets import DataMissingError

pytestmark = pytest.mark.shell


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(datasets.DATA_VARIABLE, raising=False)


@pytest.mark.parametrize("name", sorted({*datasets.GENERATORS} - {"digits"}))
def test_made_data_depends_on_the_seed_alone(name: str) -> None:
    maker: Any = datasets.GENERATORS[name]
    one, same, other = maker(), maker(), maker(seed=1)
    assert (one.X == same.X).all()
    assert (one.y == same.y).all()
    assert not (one.X == other.X).all()
    assert sorted(set(one.y)) == list(range(one.n_classes))
    assert np.bincount(one.y).min() > len(one.y) / one.n_classes / 2


def test_the_arms_of_spirals_do_not_touch() -> None:
    data = datasets.spirals(noise=0.0)
    outer = np.hypot(*data.X.T) > 0.5  # they meet in the middle
    X, y = data.X[outer], data.y[outer]
    apart = np.hypot(*(X[:, None] - X[None]).T)
    assert apart[y[:, None] != y[None]].min() > 0.1


def test_clusters_drift_once_around() -> None:
    data = datasets.drifting()
    start, middle, end = (
        data.X[rows][data.y[rows] == 0].mean(axis=0)
        for rows in (slice(0, 300), slice(2850, 3150), slice(-300, None))
    )
    assert np.linalg.norm(start - end) < 2 < 8 < np.linalg.norm(start - middle)


def test_digits_come_with_scikit_learn() -> None:
    data = datasets.load("digits")
    assert data.X.shape == (1797, 64)
    assert data.n_classes == 10


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"name='mnist' is unknown. Choose optdigits or letter"):
        datasets.load("mnist")


@pytest.mark.parametrize("name", ["outdoor", "keystroke", "office", "places_pixels"])
def test_what_is_missing_says_where_to_get_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="LABELWALK_DATA"):
        datasets.load(name, tmp_path)
    assert list(datasets.find_missing((name, "moons"), tmp_path)) == [name]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="nowhere is not a folder"):
        datasets.load("optdigits", tmp_path / "nowhere")


def test_a_damaged_file_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "letter").mkdir()
    (tmp_path / "letter/letter.npz").write_bytes(b"half of it")
    with pytest.raises(ValueError, match=r"letter.npz has the checksum .* Fetch it again"):
        datasets.load("letter", tmp_path)


def small_folder(folder: Path) -> Path:
    """Files of the same form as the real ones, with few rows."""
    rng = np.random.default_rng(0)

    def save(file: str, **arrays: Any) -> None:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        np.savez(folder / file, **arrays)

    X, y = rng.normal(size=(300, 8)), np.arange(300) % 4
    save("letter/letter.npz", X=rng.integers(0, 16, (30, 16)), y=np.array(list("ABC") * 10))
    half = {"X_tra": X[:20], "y_tra": y[:20], "X_tes": X[20:30], "y_tes": y[20:30]}
    save("optdigits/optdigits.npz", **half)
    save("elec2/elec2.npz", X=X, y=y % 2)
    save("keystroke/keystroke.npz", X=X, y=y)
    save("outdoor_objects/outdoor.npz", X=np.c_[X, np.ones(300)], y=y)
    people = {
        "person": np.repeat(np.arange(-1, 9), 30),
        "seq": np.tile(np.arange(3), 100),
        "seq_names": np.array(["David", "David2", "Trellis"]),
        "person_names": np.array(["david", *"abcdefgh"]),
    }
    save(datasets.FACE_VECTORS[0], emb=rng.normal(size=(300, 128)), **people)
    pixels = rng.integers(0, 256, (300, 64, 64), dtype=np.uint8)
    save(datasets.FACE_PIXELS[0], faces=pixels, **people)
    return folder


@pytest.mark.parametrize("name", sorted(datasets.LOADERS))
def test_files_of_a_folder_become_rows_and_classes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "check_content", lambda path, md5: None)
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(small_folder(tmp_path)))
    data = datasets.load(name)
    assert data.name == name
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert np.isfinite(data.X).all()
    assert data.y.shape == (len(data.X),)
    assert set(data.y) - {datasets.UNKNOWN_CLASS} == set(range(data.n_classes))


def test_people_take_turns_and_strangers_come_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "check_content", lambda path, md5: None)
    small_folder(tmp_path)
    office = datasets.load("office", tmp_path)
    assert office.y[:24].tolist() == np.repeat(np.arange(8), 3).tolist()
    places = datasets.load("places", tmp_path)
    assert np.bincount(places.y + 1).tolist() == [270, 30]
    with np.load(tmp_path / datasets.FACE_VECTORS[0]) as data:
        his = data["emb"][(data["person"] == 0)]
        seq = data["seq"][(data["person"] == 0)]
    assert (places.X[places.y == 0] == np.concatenate([his[seq == s] for s in (1, 0, 2)])).all()


def test_scaling_looks_at_the_first_rows_only() -> None:
    X = np.random.default_rng(0).normal(size=(250, 3))
    X[200:] *= 100
    again = datasets.scale_by_first_rows(X)
    assert again[:200].std(axis=0) == pytest.approx(np.ones(3))


def published(X: Any, y: Any) -> Any:
    return lambda **_: sklearn.utils.Bunch(data=X, target=y)


def test_what_openml_has_is_checked_and_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array(["UP", "DOWN", "UP"])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", published(X, y))
    monkeypatch.setitem(datasets.OPENML, "elec2", (151, datasets.fingerprint(X, y, ordered=True)))
    data = datasets.load("elec2")
    assert data.X.tolist() == [[1.0], [3.0], [5.0]]
    assert data.y.tolist() == [0, 1, 0]
    for other in ((X + 1, y), (X[::-1], y[::-1])):  # half-hours in another order are other data
        monkeypatch.setattr(sklearn.datasets, "fetch_openml", published(*other))
        with pytest.raises(DataMissingError, match="other rows"):
            datasets.load("elec2")


def test_letters_may_come_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array(["A", "C", "B"])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", published(X[::-1], y[::-1]))
    monkeypatch.setitem(datasets.OPENML, "letter", (6, datasets.fingerprint(X, y)))
    assert datasets.load("letter").y.tolist() == [1, 2, 0]


@pytest.mark.parametrize("name", ["optdigits", "letter"])
def test_without_a_network_the_error_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(**_: Any) -> Any:
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    with pytest.raises(DataMissingError, match="could not be fetched from OpenML"):
        datasets.load(name)
