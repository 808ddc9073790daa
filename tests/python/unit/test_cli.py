"""`changefold` in the wrong place: a sentence on stderr, and the code 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from changefold_tools.cli import main

if TYPE_CHECKING:
    from pathlib import Path

OWN = "name: own\nprofile: nowhere\nversion: '1.0'\nvars: {topics: []}\n"


def said(
    capsys: pytest.CaptureFixture[str], project: Path, arguments: list[str]
) -> str:
    """Run a command that must fail; return what stands on stderr."""
    assert main(["--project-dir", str(project), *arguments]) == 2
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    return printed.err


COMMANDS = [
    ["models"],
    ["models", "--check"],
    ["summary"],
    ["verify", "."],
    ["fuzz"],
    ["demo-kafka"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_folder_that_is_no_dbt_project_is_named_in_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for project in (tmp_path, tmp_path / "not there"):
        (line,) = said(capsys, project, arguments).splitlines()
        assert line.startswith(f"{project} is no dbt project: it has no dbt_project")


@pytest.mark.parametrize("arguments", COMMANDS[3:], ids=" ".join)
def test_what_needs_changefold_itself_says_so_in_another_project(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "dbt_project.yml").write_text(OWN)
    (line,) = said(capsys, tmp_path, arguments).splitlines()
    assert "works in a clone of changefold" in line
    assert "this one is `own`" in line


@pytest.mark.parametrize("arguments", [["models"], ["summary"]], ids=" ".join)
def test_a_profile_that_is_missing_is_named(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
) -> None:
    monkeypatch.setenv("DBT_PROFILES_DIR", str(tmp_path))
    (tmp_path / "dbt_project.yml").write_text(OWN)
    (tmp_path / "profiles.yml").write_text("other: {}\n")
    assert "Could not find profile named 'nowhere'" in said(capsys, tmp_path, arguments)


def test_histories_that_are_built_as_before_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    models = "models: {own: {cdc: {history: {+materialized: cdc_history}}}}\n"
    (tmp_path / "dbt_project.yml").write_text(OWN + models)
    (line,) = said(capsys, tmp_path, ["models"]).splitlines()
    assert "Write `+materialized: view` instead, without `+tblproperties`" in line


def test_misspelt_topics_are_told_before_dbt_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "dbt_project.yml").write_text(OWN.replace("topics", "topic"))
    (line,) = said(capsys, tmp_path, ["models"]).splitlines()
    assert line.endswith("there is a var `topic`. Did you mean `topics`?")


@pytest.mark.parametrize(
    "arguments", [["verify", ".", "--runs", "0"], ["fuzz", "--messages", "-3"]]
)
def test_a_number_that_is_none_of_runs_or_messages_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "expected a number above 0" in capsys.readouterr().err


def test_a_filter_needs_no_project_and_names_a_file_that_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = said(capsys, tmp_path, ["filter", str(tmp_path / "gone.toml"), "a.b"])
    assert "gone.toml:1: Expected a configuration file of TiCDC" in text
