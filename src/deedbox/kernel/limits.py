"""Every bound in the product, by name."""

KB = 1024
MB = 1024 * KB

# requests
JSON_BODY_BYTES = 1 * MB
SMALL_BODY_BYTES = 64 * KB
"""JSON up to this size is decoded between two other requests; a larger one in a thread of its own."""
WHOLE_NUMBERS_BYTES = 16 * KB
"""In JSON up to this size, 5.0 is taken for 5."""
JSON_QUOTES = 100_000
"""Every text in JSON has two. Whatever is decoded is decoded whole, and nothing else runs meanwhile."""
FORM_BYTES = 16 * KB
FORM_AT_ONCE_BYTES = 32 * KB
"""A larger form is read beside the requests of others: each of its escaped letters takes time."""
"""Of a form that people fill in."""
DONE_CHARS = 40
SIGNING_FORM_BYTES = 256 * KB
"""Of the form in which a signer without script fills in fields."""
LARGE_BODIES_BYTES = 32 * MB
"""Of all bodies larger than that which are in memory at a time."""
LARGE_BODY_WAIT_SECONDS = 10
BASE64_PIECE_CHARS = 256 * KB
"""Decoded at once: nothing else runs meanwhile. A multiple of four."""
MISTAKE_CHARS = 200
"""Of a field's name and of what is wrong with it, in an error: callers choose the one, and may write much."""
REQUEST_SECONDS = 30
REFUSAL_TOLD_SECONDS = 60
"""For so long `/readyz` tells that a request was refused because the storage is away."""
UPLOAD_STALL_SECONDS = 60
UPLOAD_BYTES_PER_SECOND = 32 * KB
"""The least, on the mean after the first minute: what drips more slowly holds its place for nothing."""
DOWNLOAD_STALL_SECONDS = 60
DOWNLOAD_SECONDS = 3600
DRAIN_SECONDS = 20
IN_FLIGHT_REQUESTS = 512
IN_FLIGHT_PER_CALLER = IN_FLIGHT_REQUESTS // 4
"""Of one key, one link, or one address without either."""
IN_FLIGHT_PER_SESSION = 32
"""Of one person's or signer's cookie; a browser opens six connections."""
REQUEST_ID_CHARS = 64
IDEMPOTENCY_KEY_CHARS = 255
IDEMPOTENCY_HOURS = 24
IDEMPOTENT_RESPONSE_BYTES = 1 * MB
PAGE_DEFAULT = 25
PAGE_MAX = 100
CURSOR_CHARS = 64
FILTER_CHARS = 255
FILTER_VALUES = 20
LIST_BATCH = 500
COUNTED_MOST = 1000
"""Of the documents in one state, as their list shows it; beyond, it says that there are more."""
DOTS_SHOWN = 5
"""People of a document in a list of many."""
DOCUMENT_PAGES_SHOWN = 60
"""Pages of a document as small pictures beside what is known of it."""
TIMELINE_ROWS = 50
TRAILS_CHECKED = 1000
"""Audit trails that a process remembers as whole, for those who watch them."""

# keys, people, sessions
KEY_NAME_CHARS = 100
ACT_CHARS = 64
ACT_NAME_CHARS = 200
"""Of the name of who changed something in a workspace, and of what was changed, as its list of changes keeps it."""
COMMAND_KEY_HOURS = 24  # of the key that a command makes for itself
FOLLOWING_KEY_HOURS = 14 * 24  # of one that follows a bulk send to its end
KEY_SCOPES = 64
KEY_COLLECTIONS = 50
"""Those that a key can be limited to."""
KEYS_PER_WORKSPACE = 1000
RATE_PER_MINUTE_MAX = 100_000
RATE_PER_DAY_MAX = 10_000_000
ANONYMOUS_PER_MINUTE = 60
VERIFY_PER_MINUTE = 10
"""Files that one address may have checked on the public page."""
SIGNER_PER_MINUTE = 600
PERSON_PER_MINUTE = 1200
"""For one session of each."""
ANONYMOUS_ADDRESSES = 50_000
ANONYMOUS_IPV6_PREFIX = 64
RATE_FLUSH_SECONDS = 1
RATE_SWEEP_SUBJECTS = 1024
RATE_PRUNE_ROWS = 10_000
RATE_PRUNE_EVERY_HITS = 64
RATE_PRUNE_HITS = 512
RATE_PRUNE_SUBJECTS = 100
RATE_PRUNE_SECONDS = 60
RATE_CLOCK_SKEW_SECONDS = 3600
RATE_CLOCK_BEHIND_SECONDS = 60
"""A clock that is further behind the last admission was set back: what was admitted later counts as of now."""
EMAIL_CHARS = 254
EMAIL_LOCAL_BYTES = 64
ADDRESSES_KEPT = 1024
"""So many e-mail addresses are not checked anew."""
PERSON_NAME_CHARS = 100
WORKSPACE_NAME_CHARS = 100
FORM_NAME_PARTS = 6
EMBED_SITES = 20
EMBED_SITE_CHARS = 270
MAIL_TESTS_PER_MINUTE = 5
"""That one person may send from the settings."""
CERTIFICATE_NEAR_DAYS = 60
"""A certificate that ends within so many days is shown as near its end."""
ARCHIVE_SHOWN = 10
"""The newest receipts, and as many of those that wait, on the page of the archive."""
LOGO_BYTES = 2 * MB
LOGO_PIXELS = 16_000_000
LOGO_SIDE = 512
LOGO_PNG_BYTES = 64 * KB
LOGO_PER_MINUTE = 600
"""Of one address, behind which a whole office may read its mail; browsers keep the picture."""
PASSWORD_CHARS_MIN = 10
PASSWORD_CHARS_MAX = 256
SLOW_HASHES = 2
"""Passwords and codes that are hashed or checked at a time."""
SLOW_HASH_MEMORY_KB = 19 * KB
SLOW_HASH_PASSES = 2
"""As OWASP recommends at least: a document may have a hundred codes, and other callers are not to wait for them."""
LOGIN_LINK_MINUTES = 60
LOGIN_SESSION_DAYS = 14
LOGIN_TRIES_PER_MINUTE = 5
LOGIN_TRIES_PER_DAY = 200
"""From one address at one account, or from one device that has signed in to it before."""
LOGIN_TRIES_OF_ALL_PER_MINUTE = 60
LOGIN_TRIES_OF_ALL_PER_DAY = 1_000
"""At one account from all unknown devices together."""
KNOWN_DEVICE_DAYS = 180
FRESH_SESSION_MINUTES = 10
"""For so long after signing in, the current password need not be shown for a change to how one signs in."""
SESSIONS_SHOWN = 100
RESET_MINUTES = 60
RESETS_PER_MINUTE = 2
RESETS_PER_DAY = 10
RESETS_OF_ALL_PER_MINUTE = 4
RESETS_OF_ALL_PER_DAY = 30
"""Mails by which one person is let choose a new password: asked for from one address, and from all of them."""
INVITATION_DAYS = 14
MEMBERS_PER_WORKSPACE = 1000
"""With those who are invited."""
WORKSPACES_SHOWN = 200
PASSKEYS_PER_PERSON = 20
PASSKEY_NAME_CHARS = 60
PASSKEY_SECONDS = 300
"""From the question that a passkey is to answer, to its answer."""
KEYS_NAMED = 10
"""Of those that a member has made, before the rest is only counted."""

# database
WAL_BYTES_KEPT = 64 * MB
SQLITE_MMAP_BYTES = 256 * MB
LET_PASS_SECONDS = 0.03
"""For so long work that can wait lets a request go first; one that takes longer waits for something else."""
SWITCH_SECONDS = 0.0005
"""After so long a thread that computes lets another. Python's own five milliseconds are added to a request each time
that it comes back from a thread, while rows are sent in another."""
INLINE_STEPS = 50_000
"""Of SQLite's virtual machine, for one read on the event loop: a few milliseconds. A longer one runs aside."""
READS_ASIDE = 2
"""At once, of those whose cost grows with the data."""
READ_ASIDE_SECONDS = 10
"""For a request; the server's own work takes as long as it must."""
NAMES_WALKED = 2000
"""Names that are looked at, from the newest on, before the index of their parts is asked."""
WRITE_BATCH = 256
WRITE_QUEUE = 4096
BUSY_SECONDS = 5
POSTGRES_VERSION_MIN = 15
"""The oldest that the tests run on. What the SQL itself needs is 12: common tables that say `materialized`."""
POSTGRES_CONNECTIONS = 8
POSTGRES_CONNECT_SECONDS = 5
POSTGRES_RECONNECTS = 3
POSTGRES_STATEMENT_SECONDS = 30
POSTGRES_SILENCE_SECONDS = 10
POSTGRES_LISTEN_AGAIN_SECONDS = 0.5
WRITE_ATTEMPTS = 20
RACES_AT_ONCE = 3
"""Of a change that others of this process make void by being faster: after so many it waits for its turn."""
CONSTRAINT_ATTEMPTS = 4
"""Of a change that a constraint refuses: after so many it was no race."""

# jobs
JOB_ATTEMPTS = 10
JOB_LEASE_SECONDS = 30
JOB_CLAIM = 16
JOB_POLL_SECONDS = 1
JOB_LATE_SECONDS = 30
JOB_STALLED_SECONDS = 300
"""Work that is due for so long and that nobody does is reported."""
WATCH_SECONDS = 15
AWAY_LOG_SECONDS = 60
"""While the database or the store is away, a loop that fails says so this often."""
"""Work that is due for so long no longer waits for more pressing work that came after it, unless that is urgent."""
JOB_WORKSPACES_LOOKED_AT = 32
"""A claim of index jobs compares at most this many workspaces. The next claim begins behind the one it served last."""
JOB_TURNS_BEFORE_AUTOMATIC = 3
"""Automatic indexing that is late gets one turn after this many uploads and bulk jobs."""
JOB_RETRY_BASE_SECONDS = 2
JOB_RETRY_MAX_SECONDS = 3600
JOB_AWAY_SECONDS = 5
JOB_ERROR_CHARS = 2000
JOB_PAYLOAD_BYTES = 256 * KB
JOB_KEEP_DAYS = 30
EVENT_BYTES = 19_500
"""With what stands around it, a delivery has at most WEBHOOK_BODY_BYTES."""

# key rotation
ROTATION_BATCH = 50
ROTATION_PASSES = 5

# blobs
DISK_THREADS = 16
BLOBS_JUST_USED = 1024
BLOB_CHUNK_BYTES = 256 * KB
BLOB_BYTES_MAX = 512 * MB
BLOB_SWEEP = 500
BLOB_ORPHAN_SECONDS = 3600

# objects in S3
S3_CONNECT_SECONDS = 5
S3_READ_SECONDS = 30
S3_ATTEMPTS = 4
S3_READ_TRIES = 4
S3_THREADS = 16
S3_CONNECTIONS = 64
S3_PART_BYTES = 5 * MB
"""The least that a store takes as a part; one upload holds as much in memory."""
S3_PAGE = 1000
S3_HOLD_SECONDS = 900
S3_HOLD_RENEW_SECONDS = 60

# backup
BACKUP_MANIFEST_BYTES = 1 * MB
BACKUP_FLUSH_BYTES = 8 * MB
BACKUP_ROW_BYTES = 1024 * MB
BACKUP_LOAD_BYTES = 8 * MB
BACKUP_RESUME_SECONDS = 12 * 3600

# sandbox
SANDBOX_MEMORY_BYTES = 2048 * MB
SANDBOX_PATIENCE = 6
"""A call may last so many times as long as it may compute: a busy machine does not refuse a file that is in order."""
SANDBOX_CPU_SECONDS = 10
SANDBOX_SECONDS = SANDBOX_PATIENCE * SANDBOX_CPU_SECONDS
SANDBOX_MESSAGE_BYTES = 128 * MB
SANDBOX_START_SECONDS = 30
SANDBOX_EXIT_SECONDS = 5
SANDBOX_EXIT_POLL_SECONDS = 0.005
SANDBOX_CALLS = 1000
SANDBOX_IDLE_SECONDS = 300
"""A child that nobody calls for so long is ended, and its memory is free again."""
SANDBOX_ERROR_CHARS = 2000
SANDBOX_PIPE_BYTES = 1 * MB
SANDBOX_PIECE_BYTES = 1 * MB

# egress
EGRESS_CONNECT_SECONDS = 5
EGRESS_SECONDS = 15
EGRESS_RESPONSE_BYTES = 1 * MB
EGRESS_URL_CHARS = 2048
EGRESS_TARGETS = 1024
EGRESS_HOST_CHARS = 254
EGRESS_ADDRESSES = 4
EGRESS_CONNECTIONS = 100
DOCTOR_SECONDS = 5
"""So long `deedbox doctor` waits for the public address."""
EGRESS_IDLE_SECONDS = 20
EGRESS_RESOLVERS = 8
EGRESS_DOUBTFUL_RESOLVERS = 32
EGRESS_PIECE_BYTES = 64 * KB

# traces
TRACE_SPANS = 16_384
"""That wait to be sent; those that come then are dropped. Each takes about a kilobyte."""
TRACE_BATCH_SPANS = 512
TRACE_SECONDS = 1
"""Between one round of sending and the next."""
TRACE_SEND_SECONDS = 10
TRACE_CLOSE_SECONDS = 2
"""For what still waits when the process ends."""
TRACE_CONNECTIONS = 1
TRACE_VALUE_CHARS = 200

# mail
MAIL_ATTEMPTS = 60
MAIL_ATTACHMENT_BYTES = 15 * MB
MAIL_DATA_BYTES = 64 * KB
MAIL_SUBJECT_CHARS = 200
MAIL_FILE_NAME_CHARS = 100
MAIL_INBOX_DAYS = 30
MAIL_KEEP_DAYS = 90
MAIL_ERROR_CHARS = 500
SMTP_SECONDS = 300
SMTP_REPLY_SECONDS = 60
SMTP_CHECK_SECONDS = 15
SMTP_REPLY_BYTES = 32 * KB

# background
KEY_USE_SECONDS = 10
HOUSEKEEPING_SECONDS = 3600
USAGE_SHOWN_DAYS = 30
USAGE_SHOWN_MONTHS = 12
USAGE_DAYS = 400
"""For so long the figures of a day are kept: longer than the pages show."""
USAGE_DAY_SETTLES_SECONDS = 3600
"""So long after its end a day is kept as counted: no transaction that was begun on it lasts longer."""
PRUNE_ROWS = 500
"""Of one kind, in one transaction of the housekeeping."""

# server
LISTEN_BACKLOG = 2048
MEMORY_PIECE_BYTES = 1 * MB
"""From this size on, memory goes back to the system when it is freed."""
KEEP_ALIVE_SECONDS = 30
CONNECTIONS = 4096
CONNECTIONS_MIN = 64
CONNECTIONS_PER_ADDRESS = 256
DESCRIPTORS_KEPT = 512
"""For the database, files and sandboxes: connections never take these."""
ADDRESS_CHARS = 64
"""Of a caller's network address: a proxy may pass on whatever its own caller wrote."""
FAIR_QUEUE_LENGTH = 64
"""Requests that wait for a sandbox, or for their password to be hashed; a quarter of them are one caller's."""
ADDRESSES_KNOWN = 4096
"""So many addresses are not parsed anew."""
PIPELINED_REQUESTS = 16
"""That may wait on one connection behind the one that is being answered."""
REFUSED_BODY_BYTES = 200 * MB
"""Of a body that came through a proxy and was refused, so much is read before the answer goes out: as much as our nginx
takes. It is thrown away, and has the time that an upload has."""
REFUSED_BODIES = 256
REFUSED_BODIES_PER_ADDRESS = 16
"""Read so at a time; one that finds no place is answered at once."""
HEAD_BYTES = 32 * KB
HEAD_SECONDS = 10
"""From a connection's beginning, or the first byte of a later request, to the end of the head."""

# doctor
DISK_FREE_BYTES = 500 * MB
CLOCK_SKEW_SECONDS = 5
CLOCK_SET_BACK_LOOKS = 30
"""After the clock was set back, what was due by it before is looked for so often."""
LOST_FILES_NAMED = 3

# signing
TITLE_CHARS = 400
EXTERNAL_ID_CHARS = 255
METADATA_ENTRIES = 50
METADATA_NAME_CHARS = 40
METADATA_VALUE_CHARS = 500
MESSAGE_SUBJECT_CHARS = 200
MESSAGE_BODY_CHARS = 5000
DOCUMENT_FILES = 20
PACKET_DOCUMENTS = 20
PACKET_FILES = 50
DOCUMENT_PARTIES = 50
DOCUMENT_SIGNERS = 100
DOCUMENT_FIELDS = 1000
TEMPLATE_USES_COUNTED = 1000
"""Documents of one template that a list counts."""
TEMPLATE_VERSIONS = 1000
EXPIRES_AFTER_HOURS_MAX = 5 * 8784
"""Five years."""
PARTY_ORDER_MAX = 1000
SIGNER_NAME_CHARS = 200
HANDLE_CHARS = 254
TIME_ZONE_CHARS = 64
SKETCH_KEY_CHARS = 40
SKETCH_BYTES = 1 * MB
"""Of the people and fields of a draft that is being made on the pages."""
PEOPLE_FORM_BYTES = 256 * KB
"""Of the form in which the people of a draft are named."""
FIELDS_NAMED = 5
"""Of fields that go with someone, told before they do."""
PEOPLE_SUGGESTED = 200
"""Those who were asked to sign last, offered while someone types."""
FIELD_VALUE_CHARS = 2000
FIELD_GROUP_CHARS = 100
FIELD_PATTERN_CHARS = 500
FIELD_HINT_CHARS = 200
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
ATTACHMENT_BYTES = 10 * MB
ATTACHED_FILE_BYTES = 96 * MB
"""The paper and all that is attached to it; marks and the seal come on top."""
PAGE_FORM_FIELDS = 2 * DOCUMENT_FIELDS * PACKET_DOCUMENTS + 10
"""Of all documents of a packet; each box that may be hidden comes with a word on whether it was shown."""
FIELD_OPTIONS = 100
RADIO_OPTIONS = 20
"""Buttons of one radio field; what has more is a list."""
NUMBER_CHARS = 40
REASON_CHARS = 1000
TYPED_CODE_CHARS = 40
"""Of a verification code as people type it, with spaces and dashes of their own."""
ACCESS_CODE_CHARS_MIN = 4
ACCESS_CODE_CHARS = 100
REMINDER_HOURS_MAX = 8760
REMINDERS_MAX = 100
ENDED_LINK_DAYS = 90
"""After its document has ended, a mailed link shows the outcome and the sealed file for so long."""
LINK_PER_MINUTE = 60
"""Requests to the address of one link."""
SIGNER_VIEW_ROWS = 1000
"""Audit rows of one signer's wrong codes and first views of pages."""
SIGNER_ROWS = 2000
"""The same with openings and codes mailed again, of which so many are always left: who has read much can come back."""
REMIND_SECONDS = 3600
"""Between two reminders of one signer that the sender asks for."""
REMIND_FROM_HOUR, REMIND_UNTIL_HOUR = 8, 20
"""When the timer reminds, by the clock of whoever is reminded."""
EMBEDDED_LINK_SECONDS = 3600
EMBED_SCRIPT_SECONDS = 300
"""For which browsers keep the script that sites of others load."""
IN_PERSON_SECONDS = 3600
"""How long a device that was handed over shows the document."""
SIGNER_SESSION_SECONDS = 4 * 3600
SIGNER_SESSION_TOLD_SECONDS = 86_400
"""For so long after its end, a session's page still says whose document it was."""
SIGNER_CODE_SECONDS = 900
SIGNER_CODE_TRIES = 5
SIGNER_CODE_AGAIN_SECONDS = 30
"""Before another code is mailed: one who presses twice gets one mail."""
DOCUMENT_JSON_BYTES = 24 * MB
SIGNING_BODY_BYTES = 8 * MB
"""Two photos, of the signature and of the initials, as a form escapes them (6 MB), and what is filled in."""
PAGE_PARTS_AT_ONCE = 200
"""Pages and fields; a page of more is made beside the requests of others."""
USER_AGENT_CHARS = 500
PAGE_WIDTH_MIN = 100
PAGE_WIDTH_MAX = 3000

# bulk sends
BULK_ROWS = 10_000
BULK_BYTES = 16 * MB
"""Of the rows as JSON, or of the CSV file."""
BULK_COLUMNS = 200
BULK_CELL_CHARS = 4000
BULK_LINES = 100_000
"""Of a CSV file, empty ones too."""
BULK_LINE_CHARS = 256 * KB
"""Of one line of the table, which may go over several of the file."""
BULK_ROW_BYTES = 1 * MB
"""Of one row in JSON."""
BULK_NAME_CHARS = 200
BULK_KEY_CHARS = 255
BULK_ROWS_PER_MINUTE_MAX = 60_000
BULK_FLAWS = 10_000
"""That one report names; rows with flaws are counted beyond it."""
BULK_FLAWS_SAID = 5
"""That one error names."""
BULK_ERROR_CHARS = 500
BULK_UPLOADS = 20
"""CSV files that one workspace keeps at a time while someone says what their columns mean."""
BULK_UPLOAD_HOURS = 24
BULK_SAMPLE_CHARS = 80
"""Of a column's first text, beside its heading."""
BULK_CHECK_SECONDS = 120
"""In which all rows of a request are checked: others have their turns meanwhile."""
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
UPLOAD_BYTES = 50 * MB
UPLOAD_PART_HEADER_BYTES = 8 * KB
UPLOAD_FORM_BYTES = 128 * KB
UPLOAD_BOUNDARY_CHARS = 200
FILENAME_CHARS = 255
COLLECTION_CHARS = 100
COLLECTION_PATTERN = "^[^\\s\\x00-\\x1f\\x7f]([^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f])?$(?!\\n)"
"""No control characters, and no space at either end. To a pattern, an end is also where only a line's end follows."""
UPLOAD_VALUES = 50
UPLOAD_VALUE_NAME_CHARS = 100
UPLOAD_VALUE_CHARS = 1000
UPLOAD_NUMBER_MAX = 2**53 - 1
"""Up to it, either way, every whole number is exact in both databases."""
EXTRACTED_CHARS = UPLOAD_BYTES
PACKED_TEXT_BYTES = 4 * EXTRACTED_CHARS + 32 * MB
EXTRACT_SECONDS = 21
"""Less than a request may take, and three times what a file may compute: one that takes longer waits its turn."""
EXTRACT_CPU_SECONDS = 7
EXTRACT_CALLER_SHARE = 2
"""One caller uses at most one in so many of the processes that read files."""
HEADINGS = 20_000
HEADING_CHARS = 300
PDF_PAGES = 20_000
PDF_TABLE_STEPS = 1_000_000
"""Drawings, letters and cells that are looked at for the tables of a file; the pages after them are told without."""
PDF_FORM_DEPTH = 4
"""Drawings in drawings in which rules are looked for."""
PDF_RULE_WIDTH = 2
"""Points: what is filled and narrower is a line, and no text stands on it."""
PACKAGE_ENTRIES = 20_000
PACKAGE_PART_BYTES = 128 * MB
PACKAGE_PART_RATIO = 500
PACKAGE_PART_RATIO_FROM_BYTES = 8 * MB
ZIP_ENTRIES = 1000
ZIP_BYTES = 256 * MB
ENCLOSED_DEPTH = 3
"""How many files may lie in one another: an archive in a message in an archive."""
MESSAGE_ATTACHMENTS = 500
MESSAGE_PARTS = 1000
"""Parts of every kind, also those that only hold others: reading one takes a quarter of a millisecond."""
MESSAGE_DEPTH = 20
"""Parts of a message within parts: reading one takes time that grows with their depth at every line."""
VISIBLE_CONTRAST = 1.1
"""Contrast, as WCAG defines it, below which text cannot be told from what lies behind it: 97 % grey on white has 1.07,
the palest captions that people can read about 1.3."""
WORD_STYLE_CHAIN = 40
"""Styles of Word that are based on one another, as many as are followed."""
SLIDES = 5000
SHEETS = 1000
CHAPTERS = 5000
HTML_DEPTH = 2000
HTML_HIDING_RULES = 200
"""Rules of a page's own style sheets that hide elements, as many as are looked at."""
HTML_COLOUR_RULES = 500
"""Selectors of a page's own style sheets that set colours; a page with more is read without comparing colours."""
HTML_COLOUR_STEPS = 20_000_000
"""Selectors times elements of a page whose colours are compared: about a second."""
HTML_COLOUR_MATCHES = 200_000
"""Elements that those selectors find, as many as are followed."""
HTML_COLOUR_CHARS = 100
"""Of a colour; what is longer is none."""
HTML_TAG_ATTRIBUTES = 1000
HTML_CHARSET_BYTES = 2048
HTML_COLSPAN = 1000
"""Columns of one cell."""
HTML_NUMBER_DIGITS = 5
"""Of a width or an item's number; what has more is not heeded."""
HTML_COLUMNS = 1000
"""Of a table whose empty cells are kept."""
CSV_FIELD_CHARS = 1 * MB
CSV_WRITTEN_CHARS = 16 * MB
CSV_SAMPLE_ROWS = 50
CSV_SAMPLE_CHARS = 64 * KB
JSON_DEPTH = 100
JSON_WRITTEN_BYTES = 8 * MB
XML_WRITTEN_BYTES = 6 * MB
CHARSET_SAMPLE_BYTES = 32 * KB
QUERY_CHARS = 8192
PASSAGE_ID_CHARS = 64
SEARCH_PAGE_PASSAGES = 20
SEARCH_TEXT_AROUND = 2000
UNINDEXED_COUNTED = 1000
EXCERPT_CHARS = 320
TEXT_PAGE_MAX = 1_000_000
TOP_K_DEFAULT = 5
TOP_K_MAX = 1000
QUERY_DOC_IDS = 1000
QUERY_COLLECTIONS = 100
QUERY_OFFSET_MAX = 1000
QUERY_FACETS = 10
FACET_VALUES = 100
"""The most frequent values that a facet counts."""
FILTER_PARTS = 50
"""Conditions of a filter, those within others counted too."""
FILTER_DEPTH = 8
COMPARED_VALUES = 100
"""Those that one `in` names."""
INDEX_DOC_IDS = 5000
FOLDER_FILES = 1_000_000
FOLDER_STILL_SECONDS = 1
"""A file that was written more recently is looked at twice before it is read: it may be half of what it is to be."""
FOLDER_LOOK_SECONDS = 2
BUCKET_LOOK_SECONDS = 30
"""Between two looks at a prefix that is watched: each of them is a request for a thousand objects, which may cost."""
FOLDER_LOOK_SHARE = 10
"""A look that takes long is repeated after so many times its duration at the earliest."""
FOLDER_GATHER_SECONDS = 30
"""In a folder that never stands still, what stands still is taken in after so long."""
FOLDER_REMOVALS = 20
"""More documents than this are not removed unconfirmed at once if they are more than half of a folder's."""
FOLDER_TRIES = 5
"""So many files in a row that could not be taken in, through no fault of theirs, end the work."""
FOLDER_TOLD = 50
"""Files that are named after the work; --json names all."""
FOLDER_WAIT_SECONDS = 0.2
SERVER_WAIT_SECONDS = 60
"""For so long a server that starts waits for a command that has the data folder."""
EMBED_CHARS = 32_768
EMBED_INPUTS = 256
EMBED_BATCH = 16
EMBED_WINDOW_CHARS = 1000
"""About as many fill what the model reads at once."""
EMBED_WINDOWS_PER_CORE = 1
"""Read for one caller before it is another's turn: a tenth of a second."""
EMBED_BULK_BATCH = 64
EMBED_BULK_SECONDS = 300
EMBED_MEMORY_BYTES = 2048 * MB
EMBED_THREAD_BYTES = 128 * MB
EMBED_NICE = 10
EMBED_CALLS = 1_000_000
RERANK_PASSAGES = 64
"""The best ones that are read again; an answer of more is left as it is."""
RERANK_BATCH = 32
"""In one request: TEI takes no more unless it is told to."""
RERANK_CHARS = 4096
RERANK_SECONDS = 5
RERANK_REST_SECONDS = 10
RERANK_RESPONSE_BYTES = MB
REMOTE_RESPONSE_BYTES = 32 * MB
REMOTE_DIMENSIONS = 16_384
EMBED_SECONDS = 60
CHUNK_TOKENS = 200
CHUNK_OVERLAP = 40
CHUNK_TOKENS_MAX = 512
CHUNK_TOKEN_CHARS = 32
CHUNK_TOKENIZE_CHARS = 8192
CHUNK_TOKENIZE_BATCH = 64
LEG_CANDIDATES = 100
INDEX_SECONDS = 300
INDEX_PARALLEL = 8
INDEX_TRIES = 5
INDEX_JOB_ATTEMPTS = 5
RUNS_LOOKED_AT = 5
INDEX_LOG_BATCH = 32
INDEX_FOLLOW_DOCUMENTS = 64
JOB_WATCH_SECONDS = 0.25
JOB_HEARTBEAT_SECONDS = 15
JOB_EVENTS_SECONDS = 3600
PROGRESS_SECONDS = 0.25
QUERY_SECONDS = 30
QUERY_SPARE_HITS = 20
QUERY_ROWS = 50
"""Read in one statement."""
QUERY_WISHES = 16
TITLE_LINE_CHARS = 300
SIFTED_CANDIDATES = 400
DEEP_HITS = QUERY_OFFSET_MAX + TOP_K_MAX + QUERY_SPARE_HITS
"""Of each leg, for a page far down and for documents instead of passages: the same for all such pages, so that they fit
together."""
QUERY_TRIES = 4
ANSWER_PASSAGES = 8
ANSWER_PASSAGES_MAX = 30
ANSWER_PROMPT_CHARS = 40_000
"""Of all passages together: as much as the model is shown."""
ANSWER_SECONDS = 180
"""So long the model may write: one on a slow machine reads a while before its first word."""
ANSWER_HEAD_SECONDS = 10
"""So long a stream waits for the first sentence, or for a failure, before it begins."""
ANSWER_HEARTBEAT_SECONDS = 15
ANSWER_TOKENS = 1024
ANSWER_CHARS = 16_384
ANSWER_SENTENCES = 40
ANSWER_SENTENCE_CHARS = 1000
ANSWER_QUOTES = 3
"""In one sentence: who may quote everything may say everything."""
ANSWER_QUOTE_CHARS = 300
ANSWER_QUOTE_WORDS = 2
ANSWER_QUOTE_PLACES = 8
ANSWER_AROUND_CHARS = 2000
"""Of a sentence that is longer, so much on both sides of a quote is compared: a table without ends is no sentence."""
CHAT_ERROR_CHARS = 300
"""Of the message with which a chat endpoint refuses."""
ANSWER_USES = 200
"""Places of a word or number in the quoted sentences that a sentence is compared with."""
ANSWER_EXTRACTS = 5
"""Sentences of an answer that no model writes."""
CHAT_RESPONSE_BYTES = 4 * MB
CHAT_AT_ONCE = 8
"""Answers that are being written at a time; the others wait for their turn."""
DOCTOR_CHAT_SECONDS = 30
DOCTOR_CHAT_TOKENS = 16
OPEN_INDEXES = 256
INDEX_BUILDS = 2
"""Large builds of indexes at a time, each in a thread of its own."""
INDEX_NEAR_CHUNKS = 10_000
"""An index that lacks no more is brought up to date while its question waits: less than a second's work."""
INDEX_WAIT_SECONDS = 1
"""So long a question waits for an index that lacks more."""
INDEX_RETRY_SECONDS = 2
INDEX_LOOK_SECONDS = 0.01
"""So often a process that lacks something looks whether the one that writes the index has done it,"""
INDEX_NOTICE_LOOKS = 100
"""so often it says again that it waits,"""
INDEX_WRITER_LOOKS = 1500
"""and so often it looks before it gives up: unless much is lacking, which takes its time."""
INDEX_FOLLOW_SECONDS = 2
"""So often the process that writes an index looks by itself whether it lacks anything: a notice may be lost."""
SNAPSHOT_CHUNKS = 50_000
"""A library with fewer has no snapshot: its index is built in seconds."""
SNAPSHOT_PART = 20
"""A snapshot that lacks more than this part of its library is made anew,"""
SNAPSHOT_SECONDS = 24 * 3600
"""at most so often; after that long, one that holds something deleted goes."""
SNAPSHOT_WAIT_SECONDS = 60
"""So long the making of one is put off while a server builds an index that it lacks."""
SNAPSHOT_BYTES = 64 * 1024 * MB
SNAPSHOT_PIECE_BYTES = 60 * MB
SNAPSHOT_BLOCK_BYTES = 5 * MB
"""A part of a piece, as large as S3_PART_BYTES: so nothing of a piece that is stored stays in memory."""
SNAPSHOT_PARALLEL = 4
FORGET_BATCH = 32
MODEL_WATCH_SECONDS = 2
PAGE_IMAGE_WIDTH = 1240
PAGE_IMAGE_STEPS = (480, 820, 1240, 1860, 2480)
"""The widths in which pictures of pages are made and kept."""
PAGE_IMAGE_FIRST = 1240
"""The width in which the first page is drawn when a document is sent: phones and desktops ask for this one."""
PAGE_IMAGE_COLOURS = 4096
"""A page of no more is kept without loss: it is text."""
FIRST_PAGES = 100
"""Of documents just sent, as many first pages wait to be drawn; more are drawn when they are asked for."""
DERIVED_BYTES = 2048 * MB
"""Of pictures and texts that were made of stored files: what was not asked for longest goes first."""
DERIVED_SWEEP = 500
READ_PAGES = 500
"""Of a document that is read as text."""
READ_LINE_CHARS = 10_000
READ_LINES = 50_000
READ_LETTERS = 3_000_000
"""Of a document that is read as text: the page with which there are more is the first that is not read."""
PAGE_IMAGE_PIXELS = 9_000_000
"""A page of A4 in the largest width."""
PAGE_IMAGE_SIDE = 16_000
PAGE_IMAGE_QUALITY = 80
PAGE_NUMBER_DIGITS = 6

# the pages of documents to sign
DOCUMENT_FILE_BYTES = 64 * MB
DOCUMENT_PAGES = 5000
PREPARED_FILE_BYTES = 112 * MB
PREPARE_SECONDS = 9
PREPARE_ATTEMPTS = 3
FINALIZE_ATTEMPTS = 1000
"""Once an hour at last, so for six weeks, and however often the process dies meanwhile: nobody signs a second time."""
MARK_SECONDS = 60
PROVE_SECONDS = 60
PAGE_POINTS_MIN = 3
PAGE_POINTS_MAX = 200_000
PAGE_TREE_DEPTH = 64
FORM_FIELDS = 20_000
OUTLINE_ITEMS = 20_000
ANNOTATIONS = 50_000
DRAWN_TEXT_CHARS = 20_000
"""Of one annotation that does not say how it looks."""
DRAWN_POINTS = 20_000
FILE_PASSWORD_CHARS = 127
"""As many bytes of a password count in a PDF."""
XMP_BYTES = 1 * MB
EARLIER_SIGNER_CHARS = 300
"""Of the names in the certificate of a signature that a file brings along."""
TEXT_TAGS = 2000
TEXT_TAG_PAGES = 1000
TEXT_TAG_CHARS = 400
FORM_DEPTH = 16
DRAWN_FIELD_MM = 3
"""The least side of a field that is drawn on a page."""
FONT_SIZE_MIN = 6
FONT_SIZE_MAX = 72
FIELD_LABEL_CHARS = 100
FIELD_TEXT_CHARS = 4000
MARK_FIELDS = 20_000
BLOCK_SIGNERS = 500
PAD_SIDE = 10_000
PAD_WIDTH = 1000
PAD_HEIGHT = 360
"""Of a pad on which a signature is drawn, where its size is not told."""
DRAWING_STROKES = 200
DRAWING_POINTS = 10_000
"""Of all strokes together: a hand that draws for two minutes."""
DRAWING_MILLISECONDS = 7 * 24 * 3_600_000
"""A page counts them from when it was opened."""
SIGNATURE_IMAGE_BYTES = 2 * MB
SIGNATURE_IMAGE_PIXELS = 4_000_000
SIGNATURE_IMAGE_WIDTH = 900
SIGNATURE_IMAGE_HEIGHT = 450
PAGE_IMAGE_WIDTH_MIN = 64
PAGE_IMAGE_WIDTH_MAX = 2480
CERTIFICATE_THUMBNAILS = 12
CERTIFICATE_THUMBNAIL_WIDTH = 200
CERTIFICATE_SIGNERS = 1000
CERTIFICATE_EVENTS = 5000
CONVERT_SECONDS = 60
CONVERT_OPEN_FILES = 64
OFFICE_OPEN_FILES = 512
CONVERT_MEMORY_BYTES = 4096 * MB
CONVERT_THREADS = 512
CONVERT_IMAGE_PIXELS = 50_000_000
CONVERT_IMAGE_FRAMES = 200

# scans
OCR_DPI = 200
OCR_PAGE_PIXELS = 12_000_000
"""A larger page is made smaller before it is read: three pages of A4 at 200 dots an inch."""
OCR_DETECTION_SIDE = 1280
"""Pixels of the longer side, in which lines are looked for: one of small print still has ten."""
OCR_PAGE_LINES = 1000
OCR_LINE_PIXELS = 4096
OCR_PAGE_CHARS = 100_000
OCR_PAGE_WORDS = 20_000
OCR_PAGES = 5_000
"""Of one document."""
OCR_PAGES_A_CALL = 4
"""The file goes to the sandbox once for so many pages; each is kept as soon as it is read."""
OCR_PAGE_SECONDS = 90
"""A full page takes one or two on an idle machine."""
OCR_PAGE_BYTES = 900 * KB
"""What is known of a page, on its way out of the sandbox: under what may pass at once."""
OCR_MEMORY_BYTES = 2048 * MB
OCR_THREADS = 8
"""Lines that are read at once, at most; fewer where there are fewer cores."""
OCR_THREAD_BYTES = 192 * MB
OCR_NICE = 10

# models
MODEL_NAME_CHARS = 100
MODEL_PREFIX_CHARS = 500
MODEL_FILE_BYTES = 4096 * MB
MODEL_TEXT_BYTES = 64 * MB
MODEL_SLICE_BYTES = 32 * MB
MODEL_SLICE_SECONDS = 300
MODEL_REDIRECTS = 5
MODEL_FETCH_SECONDS = 1800
MODEL_POLL_SECONDS = 0.2
MODEL_TRIAL_SECONDS = 0.5
MODEL_INT8_GAIN = 1.1
MODEL_INT8_COSINE = 0.97

# the embedded index
CANDIDATES_MIN = 800
CANDIDATES_SHARE = 4000
CANDIDATES_PER_HIT = 8
RESCORE_ROWS = 4096
INDEX_ROOM_ROWS = 4096
INDEX_ROOM_SHARE = 4
"""Columns have room for so many more rows, or for this part of what they have, if that is more."""
SEARCH_THREADS = 16
REWRITE_ROWS = 1024
QUERY_TERMS = 64
QUERY_TERM_COUNT = 8
NAME_DIGITS = 5
"""A number in a document's name finds it from so many digits on: shorter ones mean other things in most queries."""
PREFIX_LETTERS = 2
PREFIX_WORDS = 64
"""What a word with a star stands for: the words that most documents have."""
TYPO_LETTERS = 5
TYPOS_LETTERS = 9
"""From so many letters on, a word may differ in one letter from the word that was meant, and in two."""
TYPO_WORDS = 5
"""So many words of a query that occur nowhere are looked up."""
TERM_BYTES = 100
KNOWN_WORDS = 200_000
COUNTED_TERMS = 10_000
TIED_HITS = 16
FILTER_UPLOADS = 500
WORDS_HEAP_BYTES = 50 * MB
HIGHLIGHT_WORDS = 65_536
KNOWN_QUESTIONS = 1000
"""So many questions that were asked last are not embedded again."""

# the index in PostgreSQL
POSTINGS_BLOCK_CHUNKS = 1024
"""The postings of a term that lie in one row; with what is below 8 KB they stay in its page."""
POSTINGS_AT_ONCE = 20_000
"""Terms that fewer chunks have together are read together."""
TERMS_ROW_POSTINGS = 100
"""To read the terms of a chunk costs as much as to read so many postings."""
INDEX_EXACT_CHUNKS = 5_000
"""Up to so many vectors are compared one by one, in either index; beyond, there are bits or, in PostgreSQL, a graph."""
INDEX_WRITE_CHUNKS = 1024
"""The chunks that one transaction of a build takes."""
INDEX_DISCARD_ROWS = 20_000
GRAPH_NEIGHBOURS = 16
GRAPH_CANDIDATES = 64
GRAPH_SEARCH_MIN = 200
GRAPH_SEARCH_MAX = 1000
"""The most that pgvector looks at before it goes on from where it was."""
GRAPH_MEMORY_MB = 512
"""In which PostgreSQL makes a graph, unless its own maintenance_work_mem gives more."""
GRAPH_SECONDS = 4 * 3600
NEAR_SPARE = 64

# verification
EVIDENCE_BYTES = 64 * MB
RECEIPT_BYTES = 2 * MB
"""Of a receipt itself; no query that is allowed comes near it."""
ANSWER_BYTES = 64 * MB
"""Of a file with an answer and its receipt."""
REPLAY_NAMED = 5
"""How many changed documents, or results that differ, a replay names."""
VERIFY_SECONDS = 60
VERIFY_CPU_SECONDS = 15
VERIFY_CALLER_SHARE = 2
"""One caller uses at most one in so many of the verifying processes."""
VERIFY_SIGNATURES = 50
VERIFY_COVERED_BYTES = 1024 * MB
"""Of all signatures in a file together: each is a reason to read what it covers."""
VERIFY_TRACES = 4
"""How many byte ranges are examined in a file whose structure leads to no signature: the last ones."""
VERIFY_FIELDS = 20_000
"""How many form fields are visited in search of signatures; a field counts each time that another one leads to it."""
VERIFY_REVISIONS = 200
VERIFY_OBJECTS = 500_000
"""In the cross-reference streams of a file."""
VERIFY_TABLE_BYTES = 16 * MB
"""Of one cross-reference stream, unpacked."""
VERIFY_DECODED_BYTES = 128 * MB
"""Unpacked from a file to find its signatures; from a large file, four times its size."""
VERIFY_CERTIFICATES = 50
"""In one signature."""
VERIFY_VALIDATION_ITEMS = 250
VERIFY_TRUST_STEPS = 2000
"""How often a certificate is compared with a possible issuer, for all signatures of a file."""

# certificates, time-stamps and seals
TSA_QUERY_BYTES = 4 * KB
TSA_ANSWER_BYTES = 64 * KB
TSA_TOKEN_BYTES = 16 * KB
TSA_SECONDS = 10
TSA_SKEW_SECONDS = 300
PKCS12_BYTES = 64 * KB
PKCS12_CERTIFICATES = 8
PKCS11_SECONDS = 20
"""For one use of a token, waiting for its turn included."""
SEAL_IDENTITIES = 256
WRITTEN_TIMES = 1024
"""Days and times of day whose words are remembered."""
SEAL_ADDED_BYTES = 1 * MB
SEAL_SECONDS = 60
SEAL_TAIL_BYTES = 1 * MB
"""At the end of a sealed file, in which its seal is; and the most that one later revision may have."""
SEAL_WAIT_SECONDS = 2
"""For a file that is being sealed when it is asked for; then it is refused, as one that is not there yet."""
SEAL_WAITERS = IN_FLIGHT_PER_CALLER // 2
"""Requests that wait like that at a time; the next is refused at once."""
SEAL_READ_AT_ONCE_BYTES = 128 * KB
"""A shorter end of a file is read and judged in a few milliseconds, for which no thread is woken."""
SEAL_NUMBERS_LEFT_OUT = 16
"""Of objects, in one revision after a seal: pyHanko leaves out one or two."""
SEAL_OBJECTS = 4096
"""In one revision: the seal's, or a later one's with validation data."""
SEAL_EXTENSIONS = 32
PDF_DEPTH = 32
CERTIFICATE_PATH = 10
UPGRADE_FIRST_SECONDS = 60
UPGRADE_ATTEMPTS = 348
"""The waits grow to an hour: two weeks in all."""
UPGRADE_REST_SECONDS = 30
"""For which an authority that failed is not asked again for another document."""

# webhooks
HOOKS_PER_WORKSPACE = 1000
HOOK_DESCRIPTION_CHARS = 500
HOOK_EVENTS = 100
HOOK_LISTEN_BODY_BYTES = 1 * MB
HOOK_LISTEN_CONNECTIONS = 64
HOOK_LISTEN_DELIVERIES = 1_000_000
WEBHOOK_TOLERANCE_SECONDS = 300
"""How far the clocks of sender and receiver may be apart."""
WEBHOOK_BODY_BYTES = 20_000
WEBHOOK_SECRET_BYTES = 32
WEBHOOK_ROTATION_HOURS = 24
WEBHOOK_SECONDS = 15
WEBHOOK_RETRY_SECONDS = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Before each of the ten attempts, counted from the end of the one before."""
WEBHOOK_JITTER = 0.2
WEBHOOK_PER_ENDPOINT = 4
WEBHOOK_PER_FAILING_ENDPOINT = 1
WEBHOOK_CONCURRENCY = 512
WEBHOOK_FAILING_CONCURRENCY = 256
"""Of all attempts at a time, those to endpoints that failed last: the rest is for those that work."""
WEBHOOK_CHAIN_ROOM = 64
"""With more room than this, an endpoint goes on at once with its next delivery instead of waiting for its turn."""
WEBHOOK_CLAIM_HOOKS = 64
WEBHOOK_LEASE_SECONDS = 60
WEBHOOK_POLL_SECONDS = 1
WEBHOOK_DISABLE_DAYS = 5
WEBHOOK_IDLE_SECONDS = 2 * WEBHOOK_RETRY_SECONDS[-1] + 3600
"""Longer than any wait for a retry: an endpoint without an attempt for so long was not failing all the time."""
WEBHOOK_FAILING_KNOWN = 10_000
WEBHOOK_RESPONSE_BYTES = 16 * KB
WEBHOOK_RESPONSE_HEADERS_CHARS = 8 * KB
WEBHOOK_ERROR_CHARS = 500
WEBHOOK_KEEP_DAYS = 30
RECOVER_EVENTS = 500
FEED_PLACED = 1000

# archive
ARCHIVE_KEY_CHARS = 32
ARCHIVE_ENTRIES = 64
ARCHIVE_NAME_CHARS = 255
ARCHIVE_PACKAGE_BYTES = 4096 * MB
ARCHIVE_TAG_BYTES = 64 * KB
ARCHIVE_JSON_BYTES = 256 * KB
ARCHIVE_CRASHES = 10_000
"""Processes that may die while they push one package before a person has to look."""
ARCHIVE_SECONDS = 1800
ARCHIVE_STALL_SECONDS = 60
ARCHIVE_CONNECTIONS = 16
"""To an archive over HTTPS, for pushes, and as many for what is read from it."""
ARCHIVE_FETCHES = 8
"""Packages that callers fetch from the archive at a time; it is also read by who checks or pushes."""
ARCHIVE_READER_SECONDS = 30
"""A caller that takes nothing of a package for so long does not get the rest."""
ARCHIVE_ANSWER_BYTES = 64 * KB
ARCHIVE_ANSWER_CHARS = 2000
ARCHIVE_ERROR_CHARS = 500
ARCHIVE_BATCH = 200
ARCHIVE_TREE_LEAVES = 1000
ARCHIVE_ROUND_SECONDS = 600
"""After midnight, when the root over the day before is made."""
ARCHIVE_ROOT_RETRY_SECONDS = 6 * 3600
ARCHIVE_TIMESTAMP_DAYS = 7
"""So long after its day a root waits for the configured time-stamp authority; then the installation stamps it."""
ARCHIVE_LOCK_DAYS = 3650
ARCHIVE_WAIT_SECONDS = 60
"""A command that waits for a server to push gives up when nothing has come for so long."""
ARCHIVE_FAILURES_SHOWN = 20
ARCHIVE_KEYLESS_SECONDS = 600
"""A push or round that a process without the archive's key comes upon is put back for so long."""

NO_NUL = {"pattern": "^[^\\x00]*$"}
"""What a JSON schema says of any text: PostgreSQL cannot store a NUL."""

# demo
DEMO_DELIVERIES = 100
"""That the demo's page shows, the newest."""
DEMO_WAIT_SECONDS = 0.2
DEMO_WAITS = 150
"""For the sealed sample: so often, so long."""
DEMO_QUESTION_CHARS = 500

# tools for assistants
MCP_BODY_BYTES = 8 * MB
"""A file of TOOL_FILE_BYTES in base64, and what is said beside it."""
MCP_BODY_ITEMS = 20_000
"""Values of a body, by the commas and brackets between them: the package that reads it makes an object of each."""
MCP_SECONDS = 90
"""A tool waits for one or two requests, each of which has a limit of its own."""
TOOL_FILE_BYTES = 5 * MB
TOOL_ANSWER_BYTES = 16 * MB
MCP_ANSWER_BYTES = 3 * TOOL_ANSWER_BYTES
"""The same for programs and for readers, and what is said beside it."""
TOOL_PASSAGES = 50
TOOL_PASSAGES_DEFAULT = 5
TOOL_PAGE_CHARS = 40_000
"""Of a page at a time: what a model can read."""
TOOL_ITEMS = 100
TOOL_ITEMS_DEFAULT = 25
TOOL_MARK_CHARS = 16
