"""Refuse rows that TiCDC cut down because their message would be too large."""

from changefold.errors import CdcDecodeError
from changefold.json.encode import shorten
from changefold.json.fields import Json, wrong_type

__all__ = ["require_full_row"]


def require_full_row(fields: Json, only_key: str, parent: str, event_type: str) -> None:
    """Check that a message has all of its row; of a DELETE the key is enough.

    Args:
        fields: The object with the flags, which are absent in most messages.
        only_key: The flag of a message with key columns only.
        parent: Where the object lies in the message.
        event_type: ``INSERT``, ``UPDATE`` or ``DELETE``.

    Raises:
        CdcDecodeError: If the row was cut down, or a flag has a wrong type.
    """
    has_only_key = fields.get(only_key)
    if has_only_key is not None and not isinstance(has_only_key, bool):
        raise wrong_type("bool", has_only_key, f"{parent}.{only_key}")
    location = fields.get("claimCheckLocation")
    if location is not None and not isinstance(location, str):
        raise wrong_type("str", location, f"{parent}.claimCheckLocation")
    if event_type == "DELETE":
        return
    # A claim check also has the flag of a key: the location says more.
    if location:
        raise CdcDecodeError(
            "claim_check_message",
            f"{parent}.claimCheckLocation",
            f"Expected a full row, got a reference to `{shorten(location)}`: the "
            "changefeed runs with large-message-handle-option=claim-check, and the "
            "row's full content is not in the topic",
        )
    if has_only_key:
        raise CdcDecodeError(
            "key_only_message",
            f"{parent}.{only_key}",
            "Expected a full row, got its key columns only: the changefeed runs with "
            "large-message-handle-option=handle-key-only, and the row's full content "
            "is not in the topic",
        )
