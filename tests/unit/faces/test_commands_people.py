"""`labelwalk faces enroll`, `name`, `people` and `forget`: who is known, and who is gone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.detection import HaarDetector
from labelwalk.faces.frames import Image
from labelwalk.faces.people_store import LEARNER_NAME, open_folder
from labelwalk.faces.representations import Pixels, vector_of
from labelwalk.service.commands import Observe
from labelwalk.service.learner_store import LearnerStore
from tests.unit.faces import generated
from tests.unit.faces.commands import everybody, faces, ok, picture, pictures, refused
from tests.unit.faces.real_videos import real

pytestmark = [pytest.mark.shell, pytest.mark.slow]
PIECE = 64  # bytes of a vector: SQLite lays long ones over several pages
BEN = (65, 80, 95, 110)  # frames of the demo in which he is alone


def names(folder: Path) -> dict[str, int]:
    return {one["name"]: one["taught"] for one in everybody(folder)["people"]}


class TestEnroll:
    def test_pictures_and_folders(self, tmp_path: Path) -> None:
        folder, ada = tmp_path / "people", pictures(tmp_path / "ada")
        said = ok("enroll", folder, " Ada ", ada).stderr
        assert "Ada: 4 views taught from 4 files." in said
        assert "with 1 name." in said
        ben = pictures(tmp_path / "ben", BEN)
        said = ok("enroll", folder, "Ben", ben / "65.png", ben / "80.png", ben / "65.png").stderr
        assert "Ben: 2 views taught from 2 files." in said  # one was given twice
        assert names(folder) == {"Ada": 4, "Ben": 2}
        assert ok("enroll", folder, "Ben", ben / "95.png", "--quiet").stderr == ""
        assert names(folder) == {"Ada": 4, "Ben": 3}

    def test_with_a_passphrase(self, tmp_path: Path) -> None:
        folder, secret = tmp_path / "people", tmp_path / "secret.txt"
        secret.write_text("between us")
        known = f"--passphrase-file={secret}"
        ok("enroll", folder, "Adalbert", pictures(tmp_path / "ada"), known)
        assert "Adalbert" in ok("people", folder, known).stdout
        kept = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        assert not any(b"Adalbert" in content for content in kept)
        assert "is encrypted, and no passphrase was given" in refused(1, "people", folder)

    def test_a_video(self, tmp_path: Path) -> None:
        path = generated.video(tmp_path / "ada.avi", n_frames=30, people=1)
        ok("enroll", tmp_path / "people", "Ada", path, "--faces=pixels-32")
        assert names(tmp_path / "people")["Ada"] > 10
        assert everybody(tmp_path / "people")["representation"] == "pixels 32"

    def test_a_real_person_is_known_again(self, tmp_path: Path) -> None:
        path, folder = real("face_videos/faceocc2.webm"), tmp_path / "people"
        ok("enroll", folder, "Occ", path)
        said = ok("watch", path, "--people", folder, "--frames=40").stderr
        assert "Occ" in said

    def test_nothing_is_taught_where_one_fails(self, tmp_path: Path) -> None:
        folder, ada = tmp_path / "people", pictures(tmp_path / "ada", (5,)) / "5.png"
        (tmp_path / "text.jpg").write_text("hello")
        bad = {
            picture(tmp_path / "nobody.png", []): "no face was found",
            picture(tmp_path / "two.png", [3, 7]): "2 faces of about the same size",
            tmp_path / "text.jpg": "is not a picture",
            tmp_path / "nowhere.jpg": "cannot be read (No such file or directory)",
            tmp_path / "nowhere.avi": "no such file or folder",
        }
        for path, why in bad.items():
            said = refused(3, "enroll", folder, "Ada", ada, path)
            assert str(path) in said.splitlines()[0]
            assert why in said.splitlines()[0]
            assert said.splitlines()[1] == ("Nothing was taught. Omit 1 file, or use --skip.")
        assert not folder.exists()
        said = ok("enroll", folder, "Ada", ada, *bad, "--skip").stderr
        assert all(why in said for why in bad.values())
        assert "Ada: 1 view taught from 1 file." in said
        said = refused(3, "enroll", folder, "Ben", *bad, "--skip")
        assert said.splitlines()[-1] == "Nothing was taught."
        assert names(folder) == {"Ada": 1}

    def test_who_looks_like_another_is_told(self, tmp_path: Path) -> None:
        folder, ada = tmp_path / "people", pictures(tmp_path / "ada")
        ok("enroll", folder, "Ada", ada)
        said = ok("enroll", folder, "Eda", ada / "5.png").stderr
        assert "1 view of these would have been recognized as Ada." in said

    @pytest.mark.parametrize("name", ["", "#3", "unknown", "a\tb"])
    def test_what_is_no_name(self, name: str, tmp_path: Path) -> None:
        said = refused(2, "enroll", tmp_path / "people", name, pictures(tmp_path / "ada"))
        assert f"name={name!r} " in said
        assert not (tmp_path / "people").exists()

    def test_a_folder_without_pictures(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        said = refused(1, "enroll", tmp_path / "people", "Ada", tmp_path / "empty")
        assert "empty has no pictures" in said


class TestName:
    def test_a_stranger_is_known_from_then_on(self, tmp_path: Path) -> None:
        folder = tmp_path / "people"
        ok("watch", "demo", "--people", folder, "--frames=30", "--faces=pixels-32")
        assert [one["number"] for one in everybody(folder)["strangers"]] == [1]
        assert (
            "unknown #1 is Ada: 4 views taught." in ok("name", folder, "unknown #1", "Ada").stderr
        )
        found = everybody(folder)
        assert [(one["name"], one["taught"]) for one in found["people"]] == [("Ada", 4)]
        assert found["strangers"] == []
        assert "Stranger #1 does not exist" in refused(2, "name", folder, "#1", "Ben")

    def test_whoever_joins_somebody_is_told_and_can_be_parted(self, tmp_path: Path) -> None:
        folder = tmp_path / "people"
        ok("enroll", folder, "Ben", pictures(tmp_path / "ben", BEN), "--faces=pixels-32")
        ok("watch", "demo", "--people", folder, "--frames=30")
        said = ok("name", folder, "#1", "Ben").stderr
        assert "Ben already existed with 4 views, and now has 4 views more." in said
        assert names(folder) == {"Ben": 8}
        [wrong] = re.findall(r"/api/faces/undo (\{.*\})", said)
        with open_folder(str(folder), None, None) as gallery:
            assert gallery.undo(json.loads(wrong)["examples"]) == 4
        assert names(folder) == {"Ben": 4}
        assert "already" not in ok("name", folder, "#1", "Ada").stderr

    def test_what_cannot_be(self, tmp_path: Path) -> None:
        ok("enroll", tmp_path / "people", "Ada", pictures(tmp_path / "ada"))
        assert "'Ada' is not a stranger" in refused(2, "name", tmp_path / "people", "Ada", "Ben")
        assert "is reserved for strangers" in refused(2, "name", tmp_path / "people", "#1", "#2")


class TestPeople:
    def test_a_table(self, tmp_path: Path) -> None:
        folder = tmp_path / "people"
        ok("enroll", folder, "Zoë [bold]", pictures(tmp_path / "ben", BEN))
        ok("watch", "demo", "--people", folder, "--frames=30")
        said = ok("people", folder).stdout.splitlines()
        assert [line.split() for line in said if "Zoë" in line] == [["Zoë", "[bold]", "4", "4"]]
        [stranger] = [line.split() for line in said if "unknown" in line]
        assert stranger[:3] == ["unknown", "#1", "-"]

    @pytest.mark.parametrize("command", [["people"], ["forget", "--yes"], ["name"]])
    def test_where_nobody_is_kept(self, command: list[str], tmp_path: Path) -> None:
        name, *options = command
        rest = {"people": [], "forget": ["Ada"], "name": ["#1", "Ada"]}[name]
        nowhere = tmp_path / "nowhere"
        assert "is not a folder of people" in refused(2, name, nowhere, *rest, *options)
        assert not nowhere.exists()
        LearnerStore(str(tmp_path / "other")).close()  # a service without faces
        assert "is not a folder of people" in refused(2, name, tmp_path / "other", *rest, *options)


def files_with(folder: Path, needles: list[bytes]) -> set[bytes]:
    """Return those that are anywhere in the files of a folder."""
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return {needle for needle in needles if any(needle in content for content in contents)}


def pieces(vector: Image | np.ndarray) -> list[bytes]:
    content = vector.astype("<f8").tobytes()
    return [content[i : i + PIECE] for i in range(0, len(content), PIECE)]


def remembered(folder: Path) -> list[bytes]:
    """Return pieces of all views that the learner of a folder remembers."""
    store = LearnerStore(str(folder))
    try:
        rows = store.get(store.find_id(LEARNER_NAME)).learner.remembered.row
    finally:
        store.close()
    return [piece for row in rows for piece in pieces(row)]


def views(numbers: tuple[int, ...]) -> list[bytes]:
    """Return pieces of the views in frames of the demo."""
    detector, as_vector, found = HaarDetector(), Pixels(), list[bytes]()
    for number in numbers:
        image = DemoVideo(people=2).image(number)
        found += pieces(vector_of(image, detector(image)[0], as_vector))
    return found


class TestForget:
    @pytest.mark.parametrize("backed_up", [False, True])
    def test_a_person_is_gone_from_every_file(self, backed_up: bool, tmp_path: Path) -> None:
        folder = tmp_path / "people"
        ok("enroll", folder, "Ada", pictures(tmp_path / "ada"))
        ok("enroll", folder, "Ben", pictures(tmp_path / "ben", BEN))
        ok("watch", "demo", "--people", folder, "--frames=20", "--keep-crops")  # Ada alone
        if backed_up:
            store = LearnerStore(str(folder))
            store.back_up()
            store.close()
        taught, others = views((5, 20, 35, 50)), views(BEN)
        watched = sorted(set(remembered(folder)) - set(others) - set(taught))
        assert len(files_with(folder, taught)) > 100
        assert len(files_with(folder, watched)) > 100
        assert len(list((folder / "crops").iterdir())) == 1
        said = ok("forget", folder, "Ada", "--yes").stderr
        assert "Erased: 24 views. They are removed from learner, journal, snapshots" in said
        assert files_with(folder, [*taught, *watched, b"Ada"]) == set()
        assert list((folder / "crops").iterdir()) == []
        assert len(files_with(folder, others)) > 100
        assert names(folder) == {"Ben": 4}
        assert "No person is named 'Ada'" in refused(2, "forget", folder, "Ada", "--yes")

    def test_a_stranger(self, tmp_path: Path) -> None:
        folder = tmp_path / "people"
        ok("enroll", folder, "Ben", pictures(tmp_path / "ben", BEN))
        ok("watch", "demo", "--people", folder, "--frames=20")
        watched = sorted(set(remembered(folder)) - set(views(BEN)))
        assert len(files_with(folder, watched)) > 100
        assert "Erased: 20 views." in ok("forget", folder, "#1", "--yes").stderr
        assert files_with(folder, watched) == set()
        found = everybody(folder)
        assert found["strangers"] == []
        assert found["people"] == [{"name": "Ben", "taught": 4, "examples": 4}]
        assert "No person is named 'unknown #1'" in refused(
            2, "forget", folder, "unknown #1", "--yes"
        )

    def test_whoever_has_no_name_and_no_number_either(self, tmp_path: Path) -> None:
        folder = tmp_path / "people"
        ok("enroll", folder, "Ben", pictures(tmp_path / "ben", BEN))
        ok("watch", "demo", "--people", folder, "--frames=3")
        assert everybody(folder)["strangers"] == []
        watched = sorted(set(remembered(folder)) - set(views(BEN)))
        assert files_with(folder, watched)
        refused(2, "forget", folder, "--yes")
        refused(2, "forget", folder, "Ben", "--strangers", "--yes")
        assert "Erased: 3 views." in ok("forget", folder, "--strangers", "--yes").stderr
        assert files_with(folder, watched) == set()
        assert everybody(folder)["people"] == [{"name": "Ben", "taught": 4, "examples": 4}]

    @pytest.mark.parametrize("answer", ["n\n", "\n", ""])
    def test_it_asks_first(self, answer: str, tmp_path: Path) -> None:
        folder = tmp_path / "people"
        ok("enroll", folder, "Ada", pictures(tmp_path / "ada"))
        result = faces("forget", folder, "Ada", input=answer)
        assert result.exit_code == 1
        assert "Ada: 4 views taught, seen about 4 times. Erase all of it? [y/N]" in result.output
        assert names(folder) == {"Ada": 4}
        assert faces("forget", folder, "Ada", input="y\n").exit_code == 0
        assert names(folder) == {}

    def test_older_influence_is_told(self, tmp_path: Path) -> None:
        folder = tmp_path / "people"
        ok("enroll", folder, "Ada", pictures(tmp_path / "ada"))
        ok("enroll", folder, "Ben", pictures(tmp_path / "ben", BEN))
        store = LearnerStore(
            str(folder), snapshot_every=1, retain=0.0
        )  # events are let go of at once
        for _ in range(3):
            store.submit(store.find_id(LEARNER_NAME), Observe(np.ones((1, 576)))).result()
        store.close()
        said = ok("forget", folder, "Ada", "--yes").stderr
        assert "Some are older than the stored events" in said
        assert names(folder) == {"Ben": 4}
