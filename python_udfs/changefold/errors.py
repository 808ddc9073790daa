"""The error of every decoder in this package."""

__all__ = ["CdcDecodeError"]


class CdcDecodeError(ValueError):
    """A message that cannot be decoded: what was expected, what came, and where.

    Attributes:
        error_class: Short name of the kind of error, stable enough to group by:
            ``wrong_type``, ``truncated_json``.
        path: JSON path of the place: ``$.data[0].id``; ``$`` is the whole message.
        message: One sentence, in the form that msgspec uses:
            ``Expected `int`, got `str```.
    """

    def __init__(self, error_class: str, path: str, message: str) -> None:
        super().__init__(error_class, path, message)
        self.error_class = error_class
        self.path = _encodable(path)
        self.message = _encodable(message)

    def by_itself(self) -> "CdcDecodeError":
        """Return the error without the frames in which it was raised.

        They hold the message that holds the error, and the whole batch.
        """
        self.__context__ = self.__cause__ = None
        return self.with_traceback(None)

    def __str__(self) -> str:
        """Return the sentence and the place, as msgspec prints them."""
        return f"{self.message} - at `{self.path}`"


def _encodable(text: str) -> str:
    """Escape lone surrogates, so that a quote of bad input can be stored as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
