"""The name of a collection, which documents lie in and keys are limited to."""

from typing import Annotated

from msgspec import Meta

from deedbox.kernel import limits

CollectionName = Annotated[
    str, Meta(min_length=1, max_length=limits.COLLECTION_CHARS, pattern=limits.COLLECTION_PATTERN)
]
