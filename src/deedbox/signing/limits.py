"""Bounds of `deedbox.signing`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import IN_FLIGHT_PER_CALLER, KB, MB

# requests
TRAILS_CHECKED = 1000
"""Audit trails that a process remembers as whole, for those who watch them."""

# signing
EXTERNAL_ID_CHARS = 255
METADATA_ENTRIES = 50
METADATA_NAME_CHARS = 40
METADATA_VALUE_CHARS = 500
HANDLE_CHARS = 254
TIME_ZONE_CHARS = 64
SKETCH_KEY_CHARS = 40
FIELD_PATTERN_BYTES = 1 * MB
"""What the program of one pattern may take in memory."""
FIELD_PATTERN_PROGRAM = 4000
"""Steps of the program of one pattern; a class of letters such as `\\p{L}` takes about 800."""
DOCUMENT_PATTERN_WORK = 200_000_000
"""Steps times letters, of all patterns of a document and all texts that may be matched with each: well under a second
in which nobody else can write."""
FIELD_PATTERN_LETTERS_MIN = 200
"""For a shorter text too, a pattern counts for so many: its program has to be made."""
SHOW_IF_DEPTH = 10
"""Of fields, each of which is shown only if the next is."""
DOCUMENT_ATTACHMENTS = 20
ATTACHED_FILE_BYTES = 96 * MB
"""The paper and all that is attached to it; marks and the seal come on top."""
RADIO_OPTIONS = 20
"""Buttons of one radio field; what has more is a list."""
ENDED_LINK_DAYS = 90
"""After its document has ended, a mailed link shows the outcome and the sealed file for so long."""
SIGNER_VIEW_ROWS = 1000
"""Audit rows of one signer's wrong codes and first views of pages."""
SIGNER_ROWS = 2000
"""The same with openings and codes mailed again, of which so many are always left: who has read much can come back."""
REMIND_SECONDS = 3600
"""Between two reminders of one signer that the sender asks for."""
EMBEDDED_LINK_SECONDS = 3600
IN_PERSON_SECONDS = 3600
"""How long a device that was handed over shows the document."""
SIGNER_CODE_AGAIN_SECONDS = 30
"""Before another code is mailed: one who presses twice gets one mail."""

# bulk sends
BULK_LINES = 100_000
"""Of a CSV file, empty ones too."""
BULK_LINE_CHARS = 256 * KB
"""Of one line of the table, which may go over several of the file."""
BULK_KEY_CHARS = 255
BULK_FLAWS_SAID = 5
"""That one error names."""
BULK_ERROR_CHARS = 500
BULK_UPLOADS = 20
"""CSV files that one workspace keeps at a time while someone says what their columns mean."""
BULK_UPLOAD_HOURS = 24
BULK_SAMPLE_CHARS = 80
"""Of a column's first text, beside its heading."""
BULK_TURN_SECONDS = 0.004
"""For so long rows are checked or drafted at once: then it is the turn of everything else."""
BULK_WAIT_SECONDS = 10
"""In all, for which the rows of one request let others go first: they too are to be done in time on a busy server."""
BULK_SLICE_ROWS = 4
"""Sent in one transaction: with SQLite, whoever sends a single document waits for no more."""
BULK_SLICE_ROWS_POSTGRES = 10
"""The same with PostgreSQL, where nobody waits for it, and each transaction takes longer."""
BULK_SLICES = 240
"""Sent before it is another bulk send's turn."""
BULK_ATTEMPTS = 100
"""A process that dies while rows are sent costs one of them; what it has sent stays sent."""
BULK_PACE_SECONDS = 2
"""Of the rows of one minute, as many as fall into so many seconds are sent together."""

# search
PAGE_IMAGE_FIRST = 1240
"""The width in which the first page is drawn when a document is sent: phones and desktops ask for this one."""
FIRST_PAGES = 100
"""Of documents just sent, as many first pages wait to be drawn; more are drawn when they are asked for."""

# the pages of documents to sign
PREPARE_ATTEMPTS = 3
FINALIZE_ATTEMPTS = 1000
"""Once an hour at last, so for six weeks, and however often the process dies meanwhile: nobody signs a second time."""

# certificates, time-stamps and seals
SEAL_ADDED_BYTES = 1 * MB
SEAL_WAITERS = IN_FLIGHT_PER_CALLER // 2
"""Requests that wait like that at a time; the next is refused at once."""
SEAL_READ_AT_ONCE_BYTES = 128 * KB
"""A shorter end of a file is read and judged in a few milliseconds, for which no thread is woken."""
UPGRADE_FIRST_SECONDS = 60
UPGRADE_ATTEMPTS = 348
"""The waits grow to an hour: two weeks in all."""
UPGRADE_REST_SECONDS = 30
"""For which an authority that failed is not asked again for another document."""
