"""The service conforms to its OpenAPI document, whatever is sent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from labelwalk import OnlineLearner
from labelwalk.service.schemas import SETTINGS
from tests.service.sizes import Sizes
from tests.service.test_app import TOKENS, Client, client
from tests.service.test_server import served

pytestmark = pytest.mark.shell

__all__ = ["client"]

UNDESCRIBED = {"/api/openapi.json"}
# Whether rows fit a learner, or an example was ever seen, is not for a schema to say.
NOT_FOR_A_SCHEMA = "positive_data_acceptance"
ENDLESS = "/api/learners/{name}/live"  # tests/service/test_live_updates.py reads from it
GOLDEN = Path(__file__).parents[1] / "data" / "golden-0.7" / "openapi.json"
PROSE = {"title", "summary", "description", "operationId"}
REAL = """
[parameters]
"path.name" = "door"
"path.id" = 1
"path.file" = "index.html"
"""


def described(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client("GET", "/api/openapi.json", TOKENS.read).json()
    return found


def test_every_route_is_described(client: Client) -> None:
    rules = {
        rule
        for rule in client.app.state.permissions
        if rule[0] != "WEBSOCKET" and rule[1] not in UNDESCRIBED
    }
    paths = described(client)["paths"]
    found = {(method.upper(), path) for path in paths for method in paths[path]}
    assert found == rules


def without_prose(part: Any, schemas: dict[str, Any], *, is_named: bool = False) -> Any:
    """Return a part of a document without prose and names of schemas, references resolved."""
    if isinstance(part, list):
        return [without_prose(item, schemas) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return without_prose(schemas[part["$ref"].rpartition("/")[2]], schemas)
    return {
        name: sorted(item)
        if name == "required" and isinstance(item, list)
        else without_prose(item, schemas, is_named=name == "properties")
        for name, item in part.items()
        if is_named or name not in PROSE
    }


def interface(document: dict[str, Any]) -> dict[str, Any]:
    """Return what a client depends on: paths, methods, parameters and the shape of each schema."""
    schemas = document["components"]["schemas"]
    resolved = [
        json.dumps(without_prose(schemas[name], schemas), sort_keys=True) for name in schemas
    ]
    return {
        "paths": without_prose(document["paths"], schemas),
        "security": document["components"]["securitySchemes"],
        "schemas": sorted(resolved),
    }


def test_interface_is_that_of_version_0_7(client: Client) -> None:
    golden = json.loads(GOLDEN.read_text())
    schemas = golden["components"]["schemas"]
    del schemas["Settings"]["properties"]["window"]
    schemas["SettingsTold"]["properties"]["window"] = {"type": "null"}
    assert interface(described(client)) == interface(golden)


def test_every_body_has_an_example(client: Client) -> None:
    whole = described(client)
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            for media in [media for kind, media in content.items() if kind == "application/json"]:
                name = media["schema"]["$ref"].rpartition("/")[2]
                schema = whole["components"]["schemas"][name]
                assert "examples" in media or "examples" in schema, (method, path)


def test_settings_are_those_of_a_learner() -> None:
    assert {*SETTINGS, "similarity"} == set(OnlineLearner().settings.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("config", ["", REAL], ids=["any name", "a learner that is there"])
def test_whatever_goes_in(config: str, tmp_path: Path, sizes: Sizes) -> None:
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(config)
    with served(tmp_path / "kept", options=["--faces=pixels"]) as one:
        one.http.post("/api/learners", json={"name": "door"})
        body = {"rows": [[0.0, 0.0], [9.0, 9.0]], "labels": ["open", "shut"]}
        one.http.post("/api/learners/door/teach", json=body)
        command = [sys.executable, "-m", "schemathesis.cli", f"--config-file={settings}", "run"]
        command += [f"{one.http.base_url}/api/openapi.json", "--seed=1", "--no-shrink"]
        command += [f"--max-examples={sizes.requests}", f"--exclude-checks={NOT_FOR_A_SCHEMA}"]
        command += [f"--exclude-path={ENDLESS}", "-H", f"Authorization: Bearer {one.token}"]
        if config:
            command += ["--exclude-method=DELETE"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert one.process.poll() is None
    assert done.returncode == 0, done.stdout
    tried = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert tried is not None
    assert tried[1] == tried[2]
    print(f"{tried[1]} requests made up from the description: all answered as described")
