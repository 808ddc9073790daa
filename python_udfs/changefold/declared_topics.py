"""The var ``topics``: what a project declares of its topics, checked.

dbt calls `checked` through the macro `declared_topics`, ``changefold models`` directly: a
declaration is judged by one rule, and each mistake has a sentence that names the var.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

__all__ = ["DeclarationError", "checked"]

Topic = dict[str, Any]


class DeclarationError(ValueError):
    """A declaration that can not be right: a sentence that names the var and the topic."""


PROTOCOLS: Final = (
    "ticdc_canal_json",
    "ticdc_simple",
    "ticdc_simple_avro",
    "debezium",
    "canal_json",
)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


_TEXT: Final = ("text", lambda value: isinstance(value, str) and value.strip() != "")
_BOOLEAN: Final = ("true or false", lambda value: isinstance(value, bool))

_FORMS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "name": _TEXT,
    "protocol": _TEXT,
    "files": (
        "a file, folder or glob, or a list of these",
        lambda value: (
            isinstance(value, str)
            or (
                isinstance(value, list) and all(isinstance(file, str) for file in value)
            )
        ),
    ),
    "kafka": _TEXT,
    "max_offsets_per_run": ("a number of messages", _is_count),
    "table": _TEXT,
    "partitions": (
        "the number of partitions of the topic",
        _is_count,
    ),
    "time_zone": (
        "the text of a zone, such as `Europe/Berlin` or, in quotes, `'+10:00'`",
        _TEXT[1],
    ),
    "is_gapless": _BOOLEAN,
    "is_compacted": _BOOLEAN,
    "pending_holds_cut": _BOOLEAN,
    "has_watermarks": _BOOLEAN,
    "snapshots": ("a mapping", lambda value: isinstance(value, Mapping)),
    "types": ("a mapping", lambda value: isinstance(value, Mapping)),
    "keys": ("a mapping", lambda value: isinstance(value, Mapping)),
    "placeholder": _TEXT,
    "names_ignore_case": _BOOLEAN,
    "pattern": ("the text of a regular expression", _TEXT[1]),
    "databases": ("a mapping", lambda value: isinstance(value, Mapping)),
    "filter": _TEXT,
}
"""Keys of a topic: what its value has to be, and the test of that."""


def checked(project: Path, topics: Any, settings: Mapping[str, Any]) -> list[Topic]:
    """Return the declared topics with defaults filled in.

    Args:
        project: Folder of the project.
        topics: The value of the var.
        settings: All vars of the project itself. dbt knows the topics of the package's
            sample shop too, which are none of a project that has the package.

    Returns:
        Of each topic: name, protocol, files (a list), kafka (the cluster's name or
        empty), is_landed (by this project), max_offsets_per_run, partitions (none beside
        kafka), time_zone, is_gapless, is_compacted, pending_holds_cut, has_watermarks,
        snapshots, types, keys, placeholder (of values that a connector does not have),
        names_ignore_case (whether names of tables that differ by case are one: always in
        TiDB, in MySQL by ``lower_case_table_names``), pattern, databases and filter.

    Raises:
        DeclarationError: If a declaration can not be right. The sentence names the topic.
    """
    if settings.get("topics") is None:
        raise DeclarationError(_missing(project, settings))
    if not isinstance(topics, list):
        raise DeclarationError(
            f"var `topics`: expected a list of topics, got `{topics}`: each begins with"
            " `- name:` (docs/topics.md)"
        )
    found: list[Topic] = []
    for number, given in enumerate(topics, 1):
        topic = _checked_topic(given, number)
        if any(topic["name"] == other["name"] for other in found):
            raise DeclarationError(
                f"var `topics`: topic `{topic['name']}` is declared twice; expected one"
                " declaration for each name"
            )
        found.append(topic)
    return found


def _missing(project: Path, settings: Mapping[str, Any]) -> str:
    expected = (
        f"expected a list of topics under `vars` in {project / 'dbt_project.yml'}"
        " (docs/topics.md)"
    )
    if "topics" in settings:
        return f"var `topics` is empty: {expected}"
    for package, own in settings.items():
        if isinstance(own, Mapping) and "topics" in own:
            return f"var `topics` stands under `{package}`: {expected}, under `vars` itself"
    for name in settings:
        if _near(name, ["topics"]):
            return f"var `topics` is missing, but there is a var `{name}`. Did you mean `topics`?"
    return f"var `topics` is missing: {expected}"


def _near(name: object, known: Iterable[str]) -> str:
    """Return the known name that is near a wrong one; nothing if none is."""
    by_letters = {each.lower(): each for each in known}
    found = difflib.get_close_matches(str(name).lower(), by_letters, 1, 0.75)
    return by_letters[found[0]] if found else ""


def _did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question to end a sentence about a wrong name with, or nothing."""
    found = _near(name, known)
    return f". Did you mean `{found}`?" if found else ""


def _checked_topic(declared: Any, number: int) -> Topic:
    if not isinstance(declared, Mapping):
        raise DeclarationError(
            f"var `topics`: expected topic {number} to be a mapping with `name`,"
            f" `protocol` and more, got `{declared}`"
        )
    # What a variable of the environment left empty is not declared.
    given = {
        key: value
        for key, value in declared.items()
        if value is not None and (value != "" or key in {"name", "protocol"})
    }
    if "name" not in given:
        raise DeclarationError(
            f"var `topics`: topic {number} has no `name`: {declared}"
        )
    named = f"var `topics`: topic `{given['name']}`: "
    _check_forms(given, named)
    _check_place(given, named)
    _check_tables(given, named)
    _check_protocol(given, named)
    files = given.get("files", [])
    is_compacted = given.get("is_compacted", False)
    return {
        "name": given["name"],
        "protocol": given["protocol"],
        "files": [files] if isinstance(files, str) else files,
        "kafka": given.get("kafka", ""),
        "is_landed": "table" not in given,
        "max_offsets_per_run": given.get("max_offsets_per_run"),
        "partitions": given.get("partitions"),
        "time_zone": given.get("time_zone", "UTC"),
        "is_gapless": given.get("is_gapless", not is_compacted),
        "is_compacted": is_compacted,
        "pending_holds_cut": given.get("pending_holds_cut", True),
        "has_watermarks": given.get("has_watermarks", True),
        "snapshots": given.get("snapshots", {}),
        "types": given.get("types", {}),
        "keys": given.get("keys", {}),
        "placeholder": given.get("placeholder", ""),
        "names_ignore_case": given.get(
            "names_ignore_case", given["protocol"] != "canal_json"
        ),
        "pattern": given.get("pattern", ""),
        "databases": given.get("databases", {}),
        "filter": given.get("filter", ""),
    }


def _check_forms(given: Topic, named: str) -> None:
    """Check the keys, and the form of each value."""
    for key, value in given.items():
        if key not in _FORMS:
            raise DeclarationError(
                f"{named}unknown key `{key}`{_did_you_mean(key, _FORMS)}; known are "
                + ", ".join(_FORMS)
            )
        expected, is_so = _FORMS[key]
        if not is_so(value):
            raise DeclarationError(
                f"{named}expected `{key}` to be {expected}, got `{value}`"
            )
    if given.get("protocol") not in PROTOCOLS:
        protocol = given.get("protocol", "")
        raise DeclarationError(
            f"{named}unknown `protocol: {protocol}`{_did_you_mean(protocol, PROTOCOLS)};"
            f" known are {', '.join(PROTOCOLS)}"
        )


def _check_place(given: Topic, named: str) -> None:
    """Check where the messages come from, and in how many partitions."""
    places = [place for place in ("files", "kafka", "table") if given.get(place)]
    if len(places) != 1:
        raise DeclarationError(
            f"{named}expected one of `files`, recorded messages to land, `kafka`, the"
            " cluster of the profile that has it, and `table`, where another tool puts"
            f" them; got {' and '.join(places) or 'none'}"
        )
    is_in_kafka = places == ["kafka"]
    if is_in_kafka and "partitions" in given:
        raise DeclarationError(
            f"{named}expected no `partitions` beside `kafka`: Kafka tells their number"
        )
    if not is_in_kafka and "partitions" not in given:
        raise DeclarationError(
            f"{named}expected `partitions` to be the number of partitions of the topic,"
            " got none"
        )
    if not is_in_kafka and "max_offsets_per_run" in given:
        raise DeclarationError(
            f"{named}expected `max_offsets_per_run` beside `kafka` only"
        )


def _is_span(value: Any) -> bool:
    """Whether it is `all`, or two times with their zones, the earlier one first."""
    if value == "all":
        return True
    if not isinstance(value, list) or len(value) != 2:  # from, to
        return False
    try:
        begin, end = map(datetime.fromisoformat, value)
    except (TypeError, ValueError):
        return False
    has_zones = begin.tzinfo is not None and end.tzinfo is not None
    return has_zones and begin <= end


def _check_tables(given: Topic, named: str) -> None:
    """Check what is declared of single tables."""
    is_of_debezium = given.get("protocol") == "debezium"
    expected, is_snapshot = (
        ("`all`, or to two times such as `'2026-11-01T10:00:00Z'`, in quotes", _is_span)
        if is_of_debezium
        else ("a commit timestamp", _is_count)
    )
    for table, snapshot in given.get("snapshots", {}).items():
        if not is_snapshot(snapshot) or not _is_table(table):
            raise DeclarationError(
                f"{named}expected `snapshots` to map `database.table` to {expected}, got"
                f" `{table}: {snapshot}`"
            )
    for table, types in given.get("types", {}).items():
        if (
            not _is_table(table)
            or not isinstance(types, Mapping)
            or not all(isinstance(text, str) for text in types.values())
        ):
            raise DeclarationError(
                f"{named}expected `types` to map `database.table` to columns and the text"
                f" of their types, got `{table}: {types}`"
            )
    for table, columns in given.get("keys", {}).items():
        if (
            not _is_table(table)
            or not isinstance(columns, list)
            or not all(isinstance(column, str) for column in columns)
            or len(set(columns)) != len(columns)
        ):
            raise DeclarationError(
                f"{named}expected `keys` to map `database.table` to a list of the columns"
                f" of its key, got `{table}: {columns}`"
            )
    for database, name in given.get("databases", {}).items():
        if not isinstance(database, str) or not isinstance(name, str):
            raise DeclarationError(
                f"{named}expected `databases` to map names such as `testDB.dbo` to those"
                f" to use here, got `{database}: {name}`"
            )


def _is_table(name: Any) -> bool:
    return isinstance(name, str) and "." in name


def _check_protocol(given: Topic, named: str) -> None:
    """Check that the protocol has what is declared."""
    if given["protocol"] != "canal_json" and "names_ignore_case" in given:
        raise DeclarationError(
            f"{named}expected `names_ignore_case` of the protocol canal_json only: in"
            " others a name is always the same, or no statement is read"
        )
    if given["protocol"] == "debezium":
        if given.get("is_compacted") and given.get("is_gapless"):
            raise DeclarationError(
                f"{named}expected `is_compacted` without `is_gapless: true`: compaction"
                " leaves offsets out"
            )
        return
    for key in ("databases", "keys", "placeholder"):
        if given.get(key):
            raise DeclarationError(
                f"{named}expected `{key}` of the protocol debezium only"
            )
    if not given.get("has_watermarks", True):
        raise DeclarationError(
            f"{named}expected `has_watermarks` of the protocol debezium only: messages of"
            " others tell a commit timestamp only where they tell watermarks too"
        )
    if given.get("is_compacted"):
        raise DeclarationError(
            f"{named}expected `is_compacted` of the protocol debezium only: the messages"
            " of others have no key"
        )
