"""Places on the pages of a document, the text tags that ask for them, and the marks that fill them."""

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from deedbox.pdf.marks.fonts import Hand

Kind: TypeAlias = Literal[
    "signature", "initials", "date_signed", "date", "name", "email", "text", "number", "checkbox", "select",
    "radio", "attachment",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)


class PageRect(Struct, frozen=True):
    """A rectangle on a page, counted from 1, in fractions of the page as it is displayed, from its top left corner."""

    page: int
    x: float
    y: float
    w: float
    h: float


class PageSize(Struct, frozen=True):
    """The size of a page as it is displayed, in points."""

    width: float
    height: float


class Tag(Struct, frozen=True):
    """A field that the text of the file itself asks for: `{{signature:Buyer}}`."""

    text: str
    kind: Kind
    role: str
    place: PageRect
    font_size: float | None = None
    """Of the line that the tag stands on."""
    label: str = ""
    required: bool = True
    options: tuple[str, ...] = ()
    read_only: bool = False
    group: str | None = None
    max_length: int | None = None
    pattern: str | None = None


class FormField(Struct, frozen=True):
    """A field of a fillable PDF."""

    name: str
    kind: Kind
    place: PageRect
    required: bool = False
    value: str = ""
    """What stood in it."""
    options: tuple[str, ...] = ()
    font_size: float | None = None
    max_length: int | None = None
    group: str | None = None
    """Of radio buttons, of which the name is what is chosen."""


class PreparedFile(Struct, frozen=True):
    """What is known of a file that was taken in."""

    pages: tuple[PageSize, ...]
    tags: tuple[Tag, ...] = ()
    form: tuple[FormField, ...] = ()
    """Of a fillable PDF, where they were asked for; they are gone from the pages."""
    removed: tuple[str, ...] = ()
    """What could have changed the face of the sealed file, in words for the sender."""
    repaired: bool = False
    signed: bool = False
    """It held signatures, of which only the looks are left."""


class Mark(Struct, frozen=True):
    """What a field shows: a text, or the image of that name.

    In a checkbox or a radio button it is a mark, if the text is not empty."""

    kind: Kind
    place: PageRect
    text: str = ""
    image: str = ""
    caption: tuple[str, ...] = ()
    """Stands small at the foot of a signature: who, when, and the short id."""
    font_size: float | None = None
    """At which a text is set if there is room."""
    hand: Hand = "dancing"
    """In which a typed signature is written."""


class Marks(Struct, frozen=True):
    """Everything that is put on the pages of a document. Images are PNG, as `images.signature` makes
    them, or strokes, as `strokes.kept` does."""

    marks: tuple[Mark, ...] = ()
    images: dict[str, bytes] = {}


class SignatureBlock(Struct, frozen=True):
    """Places for the signatures of signers who have no field, and how many pages were added at the end for them."""

    places: tuple[PageRect, ...]
    added: int = 0
    size: PageSize | None = None
    """Of each page that was added."""


class Placed(Struct, frozen=True):
    """A file that was taken in, with places on its last page if they could be found at once."""

    prepared: PreparedFile
    block: SignatureBlock | None = None
