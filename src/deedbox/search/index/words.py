"""The word index of tantivy, as it is stored. A chunk is known by the ordinal of its upload and its number."""

import contextlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import tantivy
from tantivy import Query

from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.search import limits
from deedbox.search.index import IndexUnusable

_ANALYSER = "deedbox"
_FOOTER_MAGIC = 1337
_FOOTER_END = struct.Struct("<II")
"""The length of the footer, a fixed number."""


class WordIndex:
    """The words of one index, open for writing: no other process can open them meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._schema = schema()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with readable():
            self._index = _prepared(tantivy.Index(self._schema, str(folder)))
        self._writer: tantivy.IndexWriter | None = self._new_writer()
        _check_segments(folder)
        self.opstamp = self._writer.commit_opstamp
        """Grows with every commit."""

    def searcher(self) -> tantivy.Searcher:
        """A searcher of all that is committed now; later commits do not change it."""
        with readable():
            self._index.reload()
            return self._index.searcher()

    def add(self, upload: int, number: int, terms: Sequence[str], said: Sequence[str] = ()) -> None:
        """A chunk; the first one of an upload with all different words of the upload."""
        document = tantivy.Document()
        document.add_text("body", " ".join(terms))
        if said:
            document.add_text("said", " ".join(said))
        # A value of another type would end the writer's thread.
        document.add_unsigned("upload", upload)
        document.add_unsigned("number", number)
        with _writable():
            self._open_writer().add_document(document)

    def drop(self, upload: int) -> None:
        # By query: as a bare value, a term of a signed integer, it would silently match nothing.
        with _writable():
            writer = self._open_writer()
            writer.delete_documents_by_query(Query.term_query(self._schema, "upload", upload, "basic"))

    def commit(self) -> None:
        """Durable when it returns."""
        with _writable():
            self.opstamp = self._open_writer().commit()

    def reopen(self) -> None:
        """Drops uncommitted changes, also after a failure that ended the writer."""
        self.close()
        self._writer = self._new_writer()

    def forget_from(self, upload: int) -> None:
        """Removes the uploads of this ordinal or a higher one."""
        later = Query.range_query(self._schema, "upload", tantivy.FieldType.Unsigned, lower_bound=upload)
        if self.searcher().search(later, 1, count=False).hits:
            with _writable():
                self._open_writer().delete_documents_by_query(later)
            self.commit()

    def close(self) -> None:
        # The lock on the folder goes with the writer. A merge that outlived it would write over what the next one does.
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(ValueError):  # a writer whose thread has failed has nothing more to wait for
                writer.wait_merging_threads()

    def _open_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            raise Unavailable("The search index is closed.")
        return self._writer

    def _new_writer(self) -> tantivy.IndexWriter:
        try:
            writer = self._index.writer(limits.WORDS_HEAP_BYTES, 1)
            # A crash leaves files of the very names that come next, and the writer would refuse to go on.
            writer.garbage_collect_files()
            return writer
        except ValueError as error:
            if "lock" in str(error).lower():
                raise Unavailable("The word index is open in another process; stop that one first.") from error
            raise IndexUnusable(f"The word index cannot be opened: {error}") from error


class WordReader:
    """The words of one index, which another process writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with readable():
            self._index = _prepared(tantivy.Index.open(str(folder)))

    def searcher(self, opstamp: int) -> tantivy.Searcher | None:
        """A searcher of what this commit has left; None when there is a later one."""
        with readable():
            self._index.reload()
            found = self._index.searcher()
        # Merges change the files, but neither the number nor what can be found.
        return found if _meta(self._folder).opstamp == opstamp else None


def empty_searcher() -> tantivy.Searcher:
    """Finds nothing."""
    return tantivy.Index(schema()).searcher()


def schema() -> tantivy.Schema:
    """The fields of the word index."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", tokenizer_name=_ANALYSER, index_option="freq")
    # Stored, because a search for words that are alike tells the upload and not the word.
    builder.add_text_field("said", stored=True, tokenizer_name=_ANALYSER, index_option="basic")
    builder.add_unsigned_field("upload", indexed=True, fast=True)
    builder.add_unsigned_field("number", fast=True)
    return builder.build()


def _prepared(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer(_ANALYSER, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    # Searchers change when a change is applied, and never by themselves.
    index.config_reader("manual")
    return index


@contextmanager
def readable() -> Iterator[None]:
    """IndexUnusable if tantivy cannot read its files."""
    try:
        yield
    except BaseException as error:  # files gone bad can make tantivy panic, which is no Exception
        if isinstance(error, ValueError | OSError) or type(error).__name__ == "PanicException":
            raise IndexUnusable(f"The word index cannot be read: {error}") from error
        raise


@contextmanager
def _writable() -> Iterator[None]:
    """Unavailable if tantivy cannot write: the disk is full or failing."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise Unavailable(f"The word index cannot be written: {error}", code=ErrorCode.STORAGE_FULL) from error


class _Deletes(msgspec.Struct):
    opstamp: int


class _Segment(msgspec.Struct):
    segment_id: str
    deletes: _Deletes | None = None


class _Meta(msgspec.Struct):
    opstamp: int
    segments: list[_Segment]


_META = msgspec.json.Decoder(_Meta)


class _Footer(msgspec.Struct):
    crc: int


_FOOTER = msgspec.json.Decoder(_Footer)


def _meta(folder: Path) -> _Meta:
    """What tantivy says of its last commit; IndexUnusable if it cannot be read."""
    try:
        return _META.decode((folder / "meta.json").read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise IndexUnusable(f"The word index cannot be read: {error}") from error


def _check_segments(folder: Path) -> None:
    """IndexUnusable when a file of a segment in use was altered: tantivy writes a checksum, but does not read it.

    Leftovers of a crash do not count."""
    try:
        for segment in _meta(folder).segments:
            name = segment.segment_id.replace("-", "")
            deletes = None if segment.deletes is None else f"{name}.{segment.deletes.opstamp}.del"
            for file in folder.glob(f"{name}.*"):
                if file.suffix != ".del" or file.name == deletes:
                    _check_file(file)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, struct.error) as error:
        raise IndexUnusable(f"The word index cannot be read: {error}") from error


def _check_file(file: Path) -> None:
    with memoryview(file.read_bytes()) as body:
        length, magic = _FOOTER_END.unpack(body[-_FOOTER_END.size :])
        end = len(body) - _FOOTER_END.size - length
        footer = _FOOTER.decode(body[max(0, end) : -_FOOTER_END.size])
        if magic != _FOOTER_MAGIC or footer.crc != zlib.crc32(body[: max(0, end)]):
            raise IndexUnusable(f"{file.name} was altered.")
