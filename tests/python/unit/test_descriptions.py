"""All that dbt docs show is described, and dbt parses the project without a warning."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]
PACKAGE: Final = "changefold"

_EMPTY_WORDS: Final = (
    "a an and as at by column field for from function in is it its macro model name of"
    " on or source table that the this to value"
)
"""Words that say nothing beside a name."""


class Parsed(NamedTuple):
    """What dbt made of the project, and what it warned about."""

    manifest: dict[str, Any]
    warnings: list[str]


class Thing(NamedTuple):
    """Something that dbt docs show."""

    kind: str
    name: str
    description: str


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    from dbt.cli.main import dbtRunner

    target = tmp_path_factory.mktemp("target")
    warnings: list[str] = []

    def collect(event: Any) -> None:
        if event.info.level in {"warn", "error"}:
            warnings.append(f"{event.info.name}: {event.info.msg}")

    outcome = dbtRunner(callbacks=[collect]).invoke(
        [
            "--quiet",
            "parse",
            "--no-partial-parse",
            *("--project-dir", str(ROOT)),
            *("--profiles-dir", str(ROOT / "profiles")),
            *("--target-path", str(target)),
            *("--log-path", str(target)),
        ]
    )
    assert outcome.success, outcome.exception or warnings
    return Parsed(json.loads((target / "manifest.json").read_text()), warnings)


def _things(manifest: dict[str, Any]) -> Iterator[Thing]:
    for node in manifest["nodes"].values():
        # Tests in a model's yml are instances of a generic one; a hook is an operation.
        if node["resource_type"] != "operation" and "test_metadata" not in node:
            yield from _with_columns(node["resource_type"], node["name"], node)
    for source in manifest["sources"].values():
        name = f"{source['source_name']}.{source['name']}"
        yield Thing("source", source["source_name"], source["source_description"])
        yield from _with_columns("source table", name, source)
    for exposure in manifest["exposures"].values():
        yield Thing("exposure", exposure["name"], exposure["description"])
    for function in manifest["functions"].values():
        name = function["name"]
        yield Thing("function", name, function["description"])
        returns = function["returns"]["description"]
        yield Thing("what a function returns", name, returns or "")
        yield from _arguments("function", name, function["arguments"])
    for macro in manifest["macros"].values():
        name = macro["name"]
        if macro["package_name"] != PACKAGE or name.startswith("test_"):
            continue
        yield Thing("macro", name, macro["description"])
        if not name.startswith("materialization_"):
            yield from _arguments("macro", name, macro["arguments"])


def _with_columns(kind: str, name: str, node: dict[str, Any]) -> Iterator[Thing]:
    yield Thing(kind, name, node["description"])
    for column in node["columns"].values():
        column_name = f"{name}.{column['name']}"
        yield Thing(f"{kind} column", column_name, column["description"])


def _arguments(
    kind: str, name: str, arguments: list[dict[str, Any]]
) -> Iterator[Thing]:
    for argument in arguments:
        argument_name = f"{name}({argument['name']})"
        yield Thing(f"{kind} argument", argument_name, argument["description"] or "")


def _only_repeats(name: str, description: str) -> bool:
    """Whether a description has no word that the name does not have."""
    return not (_words(description) - _words(name) - _words(_EMPTY_WORDS))


def _words(text: str) -> set[str]:
    """Words of a text in lower case; a plural or genitive counts as the plain word."""
    words = re.findall(r"[a-z0-9]+(?:'s)?", text.lower())
    return {word.removesuffix("'s").removesuffix("s") for word in words}


def _models(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    nodes = manifest["nodes"].values()
    return [node for node in nodes if node["resource_type"] == "model"]


def test_dbt_parses_the_project_without_a_warning(parsed: Parsed) -> None:
    assert parsed.warnings == []


def test_everything_that_the_docs_show_has_a_description(parsed: Parsed) -> None:
    things = list(_things(parsed.manifest))
    lacking = [
        f"{thing.kind} {thing.name}"
        for thing in things
        if not thing.description.strip()
    ]
    assert lacking == []
    assert {thing.kind for thing in things} >= {
        "exposure",
        "function",
        "function argument",
        "macro",
        "macro argument",
        "model",
        "model column",
        "seed",
        "seed column",
        "source",
        "source table",
        "source table column",
        "test",
    }


def test_no_description_only_repeats_the_name(parsed: Parsed) -> None:
    repeating = [
        f"{thing.kind} {thing.name}: {thing.description.strip()}"
        for thing in _things(parsed.manifest)
        if thing.description.strip() and _only_repeats(thing.name, thing.description)
    ]
    assert repeating == []


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("source_table", "Name of the source table."),
        ("orders.customer_name", "The customer's name"),
        ("watermarks", "Table of watermarks."),
        ("raw_messages(protocol)", "protocol"),
    ],
)
def test_a_description_of_the_words_of_the_name_counts_as_a_repetition(
    name: str, description: str
) -> None:
    assert _only_repeats(name, description)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("source_table", "Table of the row at the source; empty for a DDL."),
        ("watermarks", "One row per partition that has sent a message."),
    ],
)
def test_a_description_that_says_more_is_no_repetition(
    name: str, description: str
) -> None:
    assert not _only_repeats(name, description)


def test_the_description_of_each_model_begins_with_its_grain(parsed: Parsed) -> None:
    others = [
        model["name"]
        for model in _models(parsed.manifest)
        if not model["description"].startswith("One row per ")
    ]
    assert others == []


def test_each_model_has_columns_and_each_column_a_type(parsed: Parsed) -> None:
    lacking = [
        f"{model['name']}.{column['name']}"
        for model in _models(parsed.manifest)
        for column in model["columns"].values() or [{"name": "?", "data_type": None}]
        if not column["data_type"]
    ]
    assert lacking == []


def test_each_argument_of_a_macro_has_a_type(parsed: Parsed) -> None:
    lacking = [
        f"{macro['name']}({argument['name']})"
        for macro in parsed.manifest["macros"].values()
        if macro["package_name"] == PACKAGE
        and not macro["name"].startswith(("test_", "materialization_"))
        for argument in macro["arguments"]
        if not argument["type"]
    ]
    assert lacking == []
