"""The command line: each command, its help, its settings, and that the docs know all of it."""

from __future__ import annotations

import csv
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner, Result

from labelwalk import OnlineLearner, load
from labelwalk.cli import app
from labelwalk.cli.config import Configuration, ConfigurationError, load_configuration
from labelwalk.io import run

pytestmark = pytest.mark.shell

ROOT = Path(__file__).parents[3]
GROUP = typer.main.get_command(app)


def commands_of(group: Any, before: str = "") -> dict[str, Any]:
    """Return all commands by name, those of a group after the group itself."""
    found = {}
    for name, command in group.commands.items():
        found[before + name] = command
        if hasattr(command, "commands"):
            found |= commands_of(command, f"{before}{name} ")
    return found


COMMANDS = commands_of(GROUP)


def labelwalk(*arguments: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(app, arguments)


def ok(*arguments: str, **environment: str) -> str:
    result = labelwalk(*arguments, **environment)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small stream of two blobs, a few of them labelled."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with open("in.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y", "kind", "truth"])
        for i in range(200):
            truth = "ab"[i % 2]
            x, y = rng.normal(size=2) + 8.0 * (i % 2)
            writer.writerow([x, y, truth if i < 6 else "", truth])
    return tmp_path


COLUMNS = ("--label-column=kind", "--truth-column=truth")


class TestHelp:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_has_two_examples_and_the_exit_codes(self, name: str) -> None:
        said = ok(*name.split(), "--help")
        examples = re.split(r"Examples: *\n", said)[1]
        assert len(re.findall(rf"labelwalk {name}\b", examples)) >= 2
        assert "Exit codes: 0 done" in said

    def test_nothing_heavy_is_imported_for_it(self) -> None:
        heavy = {"numba", "scipy", "sklearn", "pyarrow", "matplotlib", "numpy", "cv2", "PIL"}
        script = (
            "import sys; from labelwalk.cli import app\n"
            "from typer.testing import CliRunner\n"
            "CliRunner().invoke(app, ['--help'])\n"
            "print(*{name.partition('.')[0] for name in sys.modules})"
        )
        loaded = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": str(ROOT / "src")},
        )
        assert not heavy & set(loaded.stdout.split())

    @pytest.mark.parametrize("name", COMMANDS)
    def test_one_default(self, name: str) -> None:
        for parameter in COMMANDS[name].params:
            if "Default: " in (getattr(parameter, "help", None) or ""):
                shown = parameter.show_default
                assert not isinstance(shown, str), f"{parameter.name}: {shown}"
                assert not shown or parameter.default is None, parameter.name

    def test_without_arguments(self) -> None:
        assert "Commands" in labelwalk().output


class TestDocs:
    """Every command and option is documented, and every command in the docs exists."""

    PAGE = ROOT / "docs" / "guide" / "commands.md"

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_option_is_on_the_page(self, name: str) -> None:
        page = self.PAGE.read_text("utf-8")
        assert f"## {name}" in page
        section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
        shared = page.partition("## Settings\n")[2].partition("\n## ")[0]
        for parameter in COMMANDS[name].params:
            for option in [] if getattr(parameter, "hidden", False) else parameter.opts:
                if option.startswith("--") and option != "--help":
                    assert f"`{option}`" in section + shared, f"{name} {option}"

    def test_rows_between_checkpoints_are_those_of_the_library(self) -> None:
        given = inspect.signature(run).parameters["every"].default
        options = COMMANDS["label"].params
        assert [one.default for one in options if one.name == "every"] == [given]

    def test_every_setting_is_a_field(self) -> None:
        shared = self.PAGE.read_text("utf-8").partition("## Settings\n")[2].partition("\n## ")[0]
        listed = set(re.findall(r"^\| `--([a-z-]+)`", shared, re.M))
        fields = {name.replace("_", "-") for name in Configuration.model_fields}
        assert listed == fields | {"config"}


class TestCommands:
    def test_label_predict_inspect(self, folder: Path) -> None:
        result = labelwalk("label", "in.csv", *COLUMNS, "-oout.csv", "--model=m.lw")
        assert "200 rows: 6 taught, 194 labelled, 100.0% of 194 correct" in result.stderr
        before = (folder / "m.lw").read_bytes()
        ok("predict", "m.lw", "in.csv", *COLUMNS, "-onamed.csv")
        assert (folder / "m.lw").read_bytes() == before
        assert len((folder / "named.csv").read_text().splitlines()) == 201
        said = ok("inspect", "m.lw", "--vertices")
        assert re.search(r"^examples +200$", said, re.M)
        assert re.search(r"^classes +a, b$", said, re.M)
        known = json.loads(ok("inspect", "m.lw", "--vertices", "--json"))
        assert known["examples"] == 200
        assert sum(vertex["count"] for vertex in known["vertices"]) == 200
        assert {sign["name"] for sign in known["health"]} >= {"radius", "sink", "drift"}
        assert known["settings"]["n_centroids"] == 500

    @pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet", "arrows"])
    @pytest.mark.slow
    def test_pandas_stays_out(self, kind: str, folder: Path) -> None:
        """pyarrow imports it where it can, which takes half a second and 35 MiB."""
        ok("label", "in.csv", *COLUMNS, f"-oa.{kind}")
        script = (
            "import sys; from typer.testing import CliRunner; from labelwalk.cli import app\n"
            f"said = CliRunner().invoke(app, ['label', 'a.{kind}', *sys.argv[1:], '-ob.{kind}'])\n"
            "print(said.exit_code, 'pandas' in sys.modules)"
        )
        options = (*COLUMNS, "--features=x,y", "--prefix=again_")
        ran = subprocess.run(
            [sys.executable, "-c", script, *options],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        )
        assert ran.stdout.split() == ["0", "False"], ran.stdout + ran.stderr

    def test_a_model_is_gone_on_with(self, folder: Path) -> None:
        for _ in range(2):
            ok("label", "in.csv", *COLUMNS, "-oout.csv", "--model=m.lw")
        assert load("m.lw").n_seen == 400

    def test_quiet(self, folder: Path) -> None:
        assert labelwalk("label", "in.csv", *COLUMNS, "-oout.csv", "-q").stderr == ""

    def test_without_labels(self, folder: Path) -> None:
        result = labelwalk("label", "in.csv", "--drop=kind,truth", "-oout.csv")
        assert "no row was labelled. Give --label-column or --model" in result.stderr

    def test_teach_and_ask_and_teach_by_id(self, folder: Path) -> None:
        (folder / "few.csv").write_text("x,y,label\n0,0,a\n")
        said = labelwalk("teach", "m.lw", "few.csv").stderr
        assert "1 taught" in said
        ok("label", "in.csv", "--features=x,y", "--example-ids", "-oout.csv", "--model=m.lw")
        questions = [json.loads(line) for line in ok("ask", "m.lw", "-n2", "--json").splitlines()]
        assert len(questions) == 2
        assert str(questions[0]["example"]) in ok("ask", "m.lw", "-n2")
        answers = "example,label\n" + "".join(
            f"{one['example']},{'ab'[one['features'][0] > 4]}\n" for one in questions
        )
        (folder / "answers.csv").write_text(answers)
        said = labelwalk("teach", "m.lw", "answers.csv", "--by-id=example").stderr
        assert "2 earlier examples taught" in said
        assert load("m.lw").classes == ("a", "b")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("example,label\n999999,a\n", "line 2: example_id=999999"),
            ("example,label\nx,a\n", "line 2: 'x' is not the id of an example"),
            ("example,label\n1,\n", "line 2: The label is missing"),
        ],
    )
    def test_teaching_by_id_what_is_not_there(self, text: str, said: str, folder: Path) -> None:
        ok("label", "in.csv", *COLUMNS, "-oout.csv", "--model=m.lw")
        before = (folder / "m.lw").read_bytes()
        (folder / "answers.csv").write_text(text)
        result = labelwalk("teach", "m.lw", "answers.csv", "--by-id=example")
        assert result.exit_code == 3
        assert said in result.stderr
        assert (folder / "m.lw").read_bytes() == before
        result = labelwalk("teach", "m.lw", "answers.csv", "--by-id=number")
        assert result.exit_code == 2
        assert "--by-id 'number': no such column" in result.stderr
        (folder / "answers.csv").write_text(text.replace("label", "kind"))
        result = labelwalk("teach", "m.lw", "answers.csv", "--by-id=example")
        assert "The columns are 'example', 'kind'." in result.stderr

    def test_teach_needs_labels(self, folder: Path) -> None:
        result = labelwalk("teach", "m.lw", "in.csv", *COLUMNS)
        assert result.exit_code == 3
        assert "line 8, column 'kind': is missing: every row needs a label" in result.stderr
        assert not (folder / "m.lw").exists()
        result = labelwalk("teach", "m.lw", "in.csv", "--features=x,y")
        assert result.exit_code == 2
        assert "Give its name with --label-column" in result.stderr

    def test_explain(self, folder: Path) -> None:
        ok("label", "in.csv", *COLUMNS, "-oout.csv", "--model=m.lw")
        said = ok("explain", "m.lw", "in.csv", "--features=x,y", "--limit=2")
        assert said.count("most probable path") == 2
        line = ok("explain", "m.lw", "in.csv", "--features=x,y", "--limit=1", "--json")
        explained = json.loads(line)
        assert explained["row"] == "line 2"
        assert explained["label"] == "a"
        (folder / "one.csv").write_text("x,y,name\n0,0,mine\n")
        assert re.match(r"mine: a, (0\.99|1)", ok("explain", "m.lw", "one.csv", "--id-column=name"))
        assert explained["met"][0]["label"] in ("a", "b")

    def test_mixed_units_are_told(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(50, 3)) * [1.0, 5000.0, 2.0]
        lines = [
            "warmth,pressure,speed,label",
            *(",".join(map(repr, r)) + "," for r in rows.tolist()),
        ]
        (folder / "units.csv").write_text("\n".join(lines))
        said = labelwalk("label", "units.csv", "-oo.csv").stderr
        assert "spread of feature pressure" in said
        assert "--scale robust" in said
        said = labelwalk("label", "units.csv", "-oo.csv", "--scale=robust").stderr
        assert "spread" not in said

    def test_retract(self, folder: Path) -> None:
        (folder / "few.csv").write_text("x,y,label\n0,0,a\n9,9,leek\n5,5,b\n")
        said = labelwalk("teach", "m.lw", "few.csv").stderr
        assert "New classes: a, leek, b." in said
        assert "Retracted: 0." in labelwalk("retract", "m.lw", "--example=0").stderr
        ok("retract", "m.lw", "--label=leek", "--forget")
        ok("retract", "m.lw", "--label=b")
        learner = load("m.lw")
        assert learner.classes == ("a", "b")
        assert not any(learner.vertices.label)
        for options in ((), ("--example=0", "--label=a"), ("--forget",)):
            assert labelwalk("retract", "m.lw", *options).exit_code == 2

    def test_features_are_known_by_name(self, folder: Path) -> None:
        ok("label", "in.csv", *COLUMNS, "-oout.csv", "--model=m.lw")
        rows = csv.reader((folder / "in.csv").read_text().splitlines())
        (folder / "turned.csv").write_text("".join(f"{row[1]},{row[0]}\n" for row in rows))
        ok("predict", "m.lw", "in.csv", "-ofirst.ndjson", "--label-column=none")
        ok("predict", "m.lw", "turned.csv", "-osecond.ndjson", "--label-column=kind")
        said = [
            [json.loads(line)["label"] for line in Path(name).read_text().splitlines()]
            for name in ("first.ndjson", "second.ndjson")
        ]
        assert said[0] == said[1]
        (folder / "m.lw.columns.json").write_text("{")
        result = labelwalk("predict", "m.lw", "in.csv")
        assert result.exit_code == 2
        assert "m.lw.columns.json is damaged" in result.stderr

    def test_what_is_gone_on_with_is_said(self, folder: Path) -> None:
        command = ("label", "in.csv", *COLUMNS, "-oo.csv", "--model=m.lw", "--checkpoint=c.lw")
        assert "Continuing" not in labelwalk(*command).stderr
        said = labelwalk(*command).stderr
        assert "Continuing" not in said
        assert "To run it again, delete c.lw and m.lw" in said
        said = labelwalk(*command[:-1]).stderr
        assert "Continuing with m.lw, which has seen 200 examples." in said

    def test_where_a_run_resumes_is_said(self, folder: Path) -> None:
        lines = (folder / "in.csv").read_text().splitlines(keepends=True)
        (folder / "in.csv").write_text("".join([*lines[:101], "no,number,,a\n"]))
        command = ("label", "in.csv", *COLUMNS, "-oo.csv", "--checkpoint=c.lw")
        assert labelwalk(*command).exit_code == 3
        (folder / "in.csv").write_text("".join(lines))
        assert "Resumed from c.lw at row 100." in labelwalk(*command).stderr

    def test_predicting_over_the_learner(self, folder: Path) -> None:
        ok("label", "in.csv", *COLUMNS, "-oout.csv", "--model=m.lw")
        before = (folder / "m.lw").read_bytes()
        result = labelwalk("predict", "m.lw", "in.csv", "-om.lw", "--to=csv")
        assert result.exit_code == 2
        assert (folder / "m.lw").read_bytes() == before

    def test_merge(self, folder: Path) -> None:
        for name in ("one", "two"):
            ok("label", "in.csv", *COLUMNS, "-oout.csv", f"--model={name}.lw")
        result = labelwalk("merge", "one.lw", "two.lw", "-oboth.lw")
        assert "400 examples" in result.stderr
        assert load("both.lw").n_seen == 400
        assert labelwalk("merge", "one.lw", "-oboth.lw").exit_code == 2
        OnlineLearner(7).save("other.lw")
        result = labelwalk("merge", "one.lw", "other.lw", "-onever.lw")
        assert result.exit_code == 2
        assert "other.lw cannot be merged" in result.stderr
        assert not (folder / "never.lw").exists()

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["centroids", "accuracy", "precision-recall"])
    @pytest.mark.parametrize("ending", ["png", "svg"])
    def test_plot(self, kind: str, ending: str, folder: Path) -> None:
        ok("label", "in.csv", *COLUMNS, "-oout.csv", "--model=m.lw")
        source = "m.lw" if kind == "centroids" else "out.csv"
        ok("plot", kind, source, f"-opicture.{ending}")
        content = (folder / f"picture.{ending}").read_bytes()
        assert content.startswith(b"\x89PNG" if ending == "png" else b"<?xml")

    def test_plot_what_is_not_there(self, folder: Path) -> None:
        result = labelwalk("plot", "accuracy", "in.csv", "--truth-column=truth")
        assert result.exit_code == 2
        assert "has no column 'label'" in result.stderr
        OnlineLearner().save("empty.lw")
        result = labelwalk("plot", "centroids", "empty.lw")
        assert result.exit_code == 2
        assert "has no vertices" in result.stderr

    @pytest.mark.parametrize(
        ("name", "instead"),
        [
            ("config", "labelwalk.toml"),
            ("bench", "scripts/bench"),
            ("reproduce", "python -m paper"),
            ("faces evaluate", "python -m paper.face_evaluation"),
        ],
    )
    def test_removed_commands_name_what_to_use(self, name: str, instead: str) -> None:
        result = labelwalk(*name.split(), "--anything")
        assert result.exit_code == 2
        assert f"`{name}` was removed" in result.stderr
        assert instead in result.stderr

    def test_images(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        for i in range(12):
            shade = 40 if i % 2 else 200
            place = Path("pictures") / (("dark" if i % 2 else "light") if i < 4 else "")
            place.mkdir(parents=True, exist_ok=True)
            pixels = np.clip(shade + rng.normal(0, 5, (20, 30, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(place / f"{i:02}.png")
        (Path("pictures") / "zz.png").write_bytes(b"no image")
        result = labelwalk(
            "label",
            "pictures",
            "--features=vector",
            "--label-column=folder",
            "-oout.ndjson",
            "--on-error=report",
        )
        assert "zz.png: cannot be used" in result.stderr
        assert "13 rows: 4 taught, 8 labelled" in result.stderr
        for line in (folder / "out.ndjson").read_text().splitlines():
            row = json.loads(line)
            dark = int(Path(row["path"]).stem) % 2 == 1
            assert row["label"] == ("dark" if dark else "light")


class TestSettings:
    def test_options_win_over_the_file_and_that_over_the_environment(self, folder: Path) -> None:
        (folder / "labelwalk.toml").write_text("sink = 0.2\nhalf_life = 50\n")
        environment = {"LABELWALK_SINK": "0.3", "LABELWALK_REMEMBER": "7"}
        found = load_configuration({"sink": "0.1"}, None, environment)
        assert (found.sink, found.half_life, found.remember) == (0.1, 50, 7)

    def test_defaults_are_those_of_the_library(self) -> None:
        defaults = OnlineLearner().settings.parameters()
        for name, field in Configuration.model_fields.items():
            if name in defaults and name != "similarity":
                assert field.default == defaults[name], name
        assert Configuration().learner().settings == OnlineLearner().settings
        paper = Configuration(profile="paper").learner().settings
        assert paper == OnlineLearner.paper().settings

    def test_similarities(self) -> None:
        made = load_configuration(
            {"similarity": "gaussian", "bandwidth": "0.5"}, None, {}
        ).learner()
        assert made.settings.similarity.bandwidth == 0.5  # type: ignore[union-attr]
        with pytest.raises(ConfigurationError, match="Set similarity='gaussian' too"):
            load_configuration({"bandwidth": "0.5"}, None, {}).learner()

    @pytest.mark.parametrize(
        ("options", "environment", "said"),
        [
            ({"sink": "x"}, {}, "sink='x' from --sink: input should be a valid number"),
            ({}, {"LABELWALK_SCALE": "big"}, "scale='big' from the environment"),
            ({"label_weight": "none", "half_life": "9"}, {}, "requires a label_weight"),
            (
                {},
                {"LABELWALK_WINDOW": "9"},
                r"window in the environment \(LABELWALK_WINDOW\) was removed",
            ),
            ({}, {"LABELWALK_SINK": "-1"}, r"It comes from the environment \(LABELWALK_SINK\)"),
            ({}, {"LABELWALK_N_CENTROID": "9"}, "did you mean LABELWALK_N_CENTROIDS"),
        ],
    )
    def test_what_cannot_be(
        self, options: dict[str, str], environment: dict[str, str], said: str
    ) -> None:
        with pytest.raises(ConfigurationError, match=said):
            load_configuration(options, None, environment).learner()

    def test_a_name_with_a_slip(self, folder: Path) -> None:
        (folder / "labelwalk.toml").write_text("n_centroid = 5\n")
        result = labelwalk("label", "in.csv")
        assert result.exit_code == 2
        assert (
            "Unknown setting n_centroid in labelwalk.toml. Did you mean n_centroids?"
            in result.stderr
        )

    def test_none(self) -> None:
        assert load_configuration({"n_centroids": "none"}, None, {}).n_centroids is None
