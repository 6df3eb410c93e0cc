"""Structs that hold a code or a password as plain text, because that is how it came or how it has to be handed on."""

import msgspec

_SECRET = ("access_code", "code", "password")


class Redacted(msgspec.Struct, frozen=True):
    """Printing it shows every field but the secret ones."""

    def __repr__(self) -> str:
        fields = self.__struct_fields__
        shown = (f"{name}={'…' if name in _SECRET else repr(getattr(self, name))}" for name in fields)
        return f"{type(self).__name__}({', '.join(shown)})"
