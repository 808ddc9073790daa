"""The topics of ``dbt_project.yml`` as dbt sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

from changefold.declared_topics import DeclarationError, checked

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS: Final = {
    "topic": ("string", "{{ doc('kafka_topic') }}"),
    "partition": ("int", "{{ doc('kafka_partition') }}"),
    "offset": ("bigint", "{{ doc('kafka_offset') }}"),
    "timestamp": ("timestamp", "{{ doc('kafka_timestamp') }}"),
    "key": ("binary", "{{ doc('raw_key') }}"),
    "value": ("binary", "{{ doc('raw_value') }}"),
    "headers": ("array<struct<key:string,value:binary>>", "{{ doc('raw_headers') }}"),
    "landed_from": ("string", "{{ doc('landed_from') }}"),
    "landed_at": ("timestamp", "{{ doc('landed_at') }}"),
    "batch_id": ("bigint", "{{ doc('batch_id') }}"),
}
"""Columns of a raw table that this project fills."""

_GIVEN: Final = ("partition", "offset", "timestamp", "value")
"""Columns that a table of another tool must have for any topic."""


def project_settings(project: Path) -> dict[str, Any]:
    """Return what stands in ``dbt_project.yml``.

    Args:
        project: Folder of a dbt project.

    Raises:
        FileNotFoundError: If there is no such file: the folder is no dbt project.
        ValueError: If it is no YAML, or no mapping with a name.
    """
    path = project / "dbt_project.yml"
    if not path.is_file():
        raise FileNotFoundError(
            f"{project} is no dbt project: it has no dbt_project.yml. Run this in the "
            "folder of one, or name it: changefold --project-dir FOLDER ..."
        )
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path} can not be read as YAML: {error}") from error
    if not isinstance(settings, dict) or "name" not in settings:
        raise ValueError(f"{path}: expected a mapping with the `name` of the project.")
    return settings


def project_vars(project: Path) -> dict[str, Any]:
    """Return the vars that stand in ``dbt_project.yml``.

    Raises:
        DeclarationError: If they are no mapping.
    """
    settings = project_settings(project).get("vars") or {}
    if not isinstance(settings, dict):
        raise DeclarationError(
            f"{project / 'dbt_project.yml'}: expected `vars` to be a mapping."
        )
    return settings


def declared_topics(project: Path) -> list[dict[str, Any]]:
    """Return the var ``topics`` as it stands in ``dbt_project.yml``, once it is checked.

    Args:
        project: Folder of a dbt project.

    Raises:
        FileNotFoundError: If the folder is no dbt project.
        ValueError: If a topic can not be declared so.
    """
    settings = project_vars(project)
    topics: list[dict[str, Any]] = settings.get("topics") or []
    checked(project, topics, settings)
    return topics


def models_folder(project: Path) -> Path:
    """Return the folder that models are written to: the var ``models_folder``, or models."""
    return project / str(project_vars(project).get("models_folder", "models"))


def _table(topic: dict[str, Any]) -> dict[str, Any]:
    own = [
        ("topic", bool(topic.get("pattern"))),
        ("key", topic.get("protocol") == "debezium"),
    ]
    needed = {*_GIVEN, *(name for name, is_needed in own if is_needed)}
    columns = [name for name in _COLUMNS if name in needed or not topic.get("table")]
    return {
        "name": topic["name"],
        "identifier": _place(topic)[1],
        "description": (
            f"One row per message of the topic {topic['name']}, told apart by partition "
            "and offset. In no order; a message that the producer sent twice lies at two "
            "offsets."
        ),
        "columns": [
            {
                "name": name,
                "data_type": _COLUMNS[name][0],
                "description": _COLUMNS[name][1],
            }
            for name in columns
        ],
    }


def render_sources(topics: list[dict[str, Any]]) -> dict[str, str]:
    """Return the yml files of the sources: path below the models' folder -> text.

    Args:
        topics: The var ``topics``.

    Raises:
        ValueError: If two topics would land in one table.
    """
    _check_places(topics)
    files = {}
    for protocol in sorted({str(topic.get("protocol")) for topic in topics}):
        by_schema: dict[str, list[dict[str, Any]]] = {}
        for topic in topics:
            if str(topic.get("protocol")) == protocol:
                by_schema.setdefault(_place(topic)[0], []).append(_table(topic))
        text = yaml.safe_dump(
            {
                "version": 2,
                "sources": [_source(*group) for group in sorted(by_schema.items())],
            },
            sort_keys=False,
            allow_unicode=True,
            width=88,
        )
        files[f"sources/_{protocol}__sources.yml"] = (
            "# Written by `make models` from the var `topics`.\n" + text
        )
    return files


def _source(schema: str, tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the part of the source that lies in one schema: dbt knows no schema of a table."""
    return {
        "name": "raw",
        "description": (
            "One table per Kafka topic, one row per message, append-only: what this "
            "project landed from recordings, or a table that another tool fills."
        ),
        "schema": schema,
        "config": {
            "loaded_at_field": "timestamp",
            "freshness": {"warn_after": {"count": 1, "period": "day"}},
        },
        "tables": tables,
    }


def _check_places(topics: list[dict[str, Any]]) -> None:
    known: dict[tuple[str, str], str] = {}
    for topic in topics:
        place = _place(topic)
        if known.setdefault(place, topic["name"]) != topic["name"]:
            raise ValueError(
                f"var `topics`: the topics `{known[place]}` and `{topic['name']}` would "
                f"share the raw table `{place[1]}`. Give one of them another `name`: with "
                "`pattern`, which then names the topic, it is free."
            )


def _place(topic: dict[str, Any]) -> tuple[str, str]:
    """Return schema and name of the raw table of a topic."""
    schema, _, identifier = str(topic.get("table") or "").rpartition(".")
    slug = re.sub(r"[^a-z0-9]+", "_", topic["name"].lower())
    return schema or "{{ target.schema }}", identifier or f"raw_{slug}"
