"""Secrets of a profile: where they may come from, and how they stay out of sight.

A secret is the value of an environment variable whose name begins with `PREFIX`. dbt masks
these in what it writes itself; here they are kept from Spark's command line, its log, its
event log and the texts of its errors.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus, unquote

from dbt_common.constants import SECRET_ENV_PREFIX as PREFIX
from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "PREFIX",
    "check_settings",
    "check_shown",
    "hidden_keys",
    "java_pattern",
    "mask",
    "redaction",
    "secret_keys",
]

MASK: Final = "*****"
"""What stands in place of a secret; dbt writes the same."""

# The end of a name tells: `s3.secret-access-key`, `jdbc.password`, `client.secret`; but not
# `credentials.provider` or `token-refresh-enabled`. Azure appends the name of the account.
_NAME: Final = re.compile(
    r"(password|passwd|passphrase|secret|token|credential|authorization"
    r"|jaas\.config|(access|account|api|private|secret)[._-]?key)$"
    r"|\.azure\.(account\.key|sas|account\.oauth2\.client\.secret)\.",
    re.IGNORECASE,
)

# `//user:password@host` and `?password=...` of a URL, or of a line in JAAS' form.
_IN_URL: Final = re.compile(
    r"//[^/\s:@]*:(?P<user>[^/\s@]+)@"
    r"|(?:password|passwd|pwd|token|secret)\s*=\s*(?P<parameter>[^&;\s]+)",
    re.IGNORECASE,
)

# What the JVM of the driver or of an executor gets as words of its command line, or reads
# before any Python runs.
_ON_A_COMMAND_LINE: Final = re.compile(
    r"spark\.(driver\.|executor\.(extra|default)JavaOptions|jars|submit\.|master$)"
)

_SPARKS_REDACTION: Final = "(?i)secret|password|token|access[.]?key"
"""Spark's default of ``spark.redaction.regex``."""


def _secrets() -> list[str]:
    """Values of the secret variables as they are, and as a URL holds them.

    Longest first: one may be part of another.
    """
    values = {
        form
        for name, value in os.environ.items()
        if name.startswith(PREFIX) and value.strip()
        for form in (value, quote(value, safe=""), quote_plus(value), unquote(value))
    }
    return sorted(values, key=lambda value: (-len(value), value))


def mask(text: str) -> str:
    """Return a text without the values of secret variables."""
    for secret in _secrets():
        text = text.replace(secret, MASK)
    return text


def secret_keys(settings: Mapping[str, str]) -> set[str]:
    """Return the names of the settings that hold a value of a secret variable."""
    secrets = _secrets()
    return {
        key
        for key, value in settings.items()
        if any(secret in value for secret in secrets)
    }


def hidden_keys(settings: Mapping[str, str]) -> set[str]:
    """Return the names of the settings that a command line need not show."""
    keys = secret_keys(settings)
    return {key for key in keys if not _ON_A_COMMAND_LINE.match(key)}


def _passwords(key: str, value: str) -> Iterable[str]:
    """The parts of a setting that must be secret."""
    if _NAME.search(key):
        return [value]
    return [found["user"] or found["parameter"] for found in _IN_URL.finditer(value)]


def check_settings(place: str, settings: Mapping[str, str]) -> None:
    """Refuse a secret that stands in the profile, or that a command line would show.

    Args:
        place: Key of profiles.yml that holds the settings.
        settings: Name -> value, as rendered.

    Raises:
        DbtRuntimeError: With the name of the setting, never its value.
    """
    for key, value in settings.items():
        for password in _passwords(key, mask(value)):
            if password and MASK not in password:
                raise DbtRuntimeError(
                    f"`{place}`: expected the secret in `{key}` to come from an "
                    "environment variable, such as "
                    f"\"{{{{ env_var('{PREFIX}_PASSWORD') }}}}\", whose name begins "
                    f"with {PREFIX}: only these are kept out of logs."
                )
    shown = sorted(secret_keys(settings) - hidden_keys(settings))
    if shown:
        raise DbtRuntimeError(
            f"`{place}`: expected no secret in `{shown[0]}`: every user of the machine could "
            "read it in the list of processes. Put it into a file that only you can "
            "read, and name the file there."
        )


def check_shown(settings: Mapping[str, str]) -> None:
    """Refuse the password of a URL where dbt shows it or a table holds it.

    Args:
        settings: Key of profiles.yml -> value, as rendered.

    Raises:
        DbtRuntimeError: With the key, never its value.
    """
    for key, value in settings.items():
        if any(_passwords("", mask(value))):
            raise DbtRuntimeError(
                f"`{key}`: expected no password: `dbt debug`, tables and the list of "
                "processes show it. It belongs in `catalog_properties` or "
                "`spark_config`."
            )


def redaction(settings: Mapping[str, str]) -> str:
    """Return ``spark.redaction.regex``: what it was, and the names of secret settings.

    Spark's own pattern does not know the password in a URL, or a `credential`.
    """
    known = settings.get("spark.redaction.regex", _SPARKS_REDACTION)
    return "|".join([known, *(re.escape(key) for key in sorted(secret_keys(settings)))])


def java_pattern() -> str:
    r"""Return a regular expression of Java that finds the secrets; empty without any.

    Anything but a letter or digit of ASCII is written as ``\x{...}``: so nothing in it
    means anything to Java or to log4j.
    """
    return "|".join(
        "".join(
            char if char.isascii() and char.isalnum() else f"\\x{{{ord(char):x}}}"
            for char in secret
        )
        for secret in _secrets()
    )
