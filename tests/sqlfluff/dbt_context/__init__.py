"""What dbt gives to Jinja, as far as our models and macros use it, for sqlfluff.

sqlfluff renders the real macros in `macros/`. It knows dbt's `ref`, `source` and
`function`; the names here are the rest. They answer as dbt does while it parses
(`execute` is false): no warehouse, no graph.
"""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NoReturn

import yaml
from jinja2 import pass_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2.runtime import Context

_ROOT: Final = Path(__file__).resolve().parents[3]
_PROJECT: Final = yaml.safe_load((_ROOT / "dbt_project.yml").read_text())


class _Config:
    """`config(...)` prints nothing; `config.get(...)` knows nothing yet."""

    def __call__(self, **_: Any) -> str:
        return ""

    def get(self, _: str, default: Any = None) -> Any:
        return default


class _Package:
    """`changefold.name(...)` is the macro of that name; as an item it may begin with `_`."""

    def __getitem__(self, name: str) -> Callable[..., Any]:
        @pass_context
        def call(context: Context, *args: Any, **kwargs: Any) -> Any:
            # By the environment, which ends a macro at its `return`.
            macro = context.resolve(name)
            return context.environment.call(context, macro, *args, **kwargs)

        return call


def _raise_compiler_error(message: str) -> NoReturn:
    raise ValueError(message)


def var(name: str, default: Any = None) -> Any:
    """Return a variable of dbt_project.yml."""
    return _PROJECT["vars"].get(name, default)


def local_md5(text: str) -> str:
    """Return the MD5 of a text in hexadecimal digits."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _call_python(function: str, *args: Any) -> Any:
    module, _, name = function.rpartition(".")
    return getattr(importlib.import_module(module), name)(_ROOT, *args)


def load_cached_relation(_: Any) -> None:
    """Find no relation: nothing has been built."""


changefold = _Package()
config = _Config()
execute = False
flags = SimpleNamespace(FULL_REFRESH=False, WHICH="parse")
exceptions = SimpleNamespace(raise_compiler_error=_raise_compiler_error)
adapter = SimpleNamespace(
    table_properties=lambda _: {},
    query_once=lambda *_: [],
    release=lambda: "0.1.0",
    call_python=_call_python,
    project_vars=lambda: _PROJECT["vars"],
)
api = SimpleNamespace(Relation=SimpleNamespace(create=lambda **names: names))
graph: dict[str, Any] = {"nodes": {}, "sources": {}}
model = SimpleNamespace(raw_code="")
target = SimpleNamespace(schema="cdc")
