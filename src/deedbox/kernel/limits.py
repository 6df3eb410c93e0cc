"""Every bound in the product, by name."""

KB = 1024
MB = 1024 * KB

# requests
LARGE_BODIES_BYTES = 32 * MB
"""Of all bodies larger than that which are in memory at a time."""
LARGE_BODY_WAIT_SECONDS = 10
MISTAKE_CHARS = 200
"""Of a field's name and of what is wrong with it, in an error: callers choose the one, and may write much."""
DRAIN_SECONDS = 20
IN_FLIGHT_REQUESTS = 512
IN_FLIGHT_PER_CALLER = IN_FLIGHT_REQUESTS // 4
"""Of one key, one link, or one address without either."""
IDEMPOTENCY_HOURS = 24
IDEMPOTENT_RESPONSE_BYTES = 1 * MB
PAGE_DEFAULT = 25
PAGE_MAX = 100
CURSOR_CHARS = 64
FILTER_CHARS = 255
LIST_BATCH = 500
COUNTED_MOST = 1000
"""Of the documents in one state, as their list shows it; beyond, it says that there are more."""

# keys, people, sessions
KEY_NAME_CHARS = 100
ACT_NAME_CHARS = 200
"""Of the name of who changed something in a workspace, and of what was changed, as its list of changes keeps it."""
KEY_SCOPES = 64
KEY_COLLECTIONS = 50
"""Those that a key can be limited to."""
KEYS_PER_WORKSPACE = 1000
RATE_PER_MINUTE_MAX = 100_000
RATE_PER_DAY_MAX = 10_000_000
ANONYMOUS_PER_MINUTE = 60
PERSON_PER_MINUTE = 1200
"""For one session of each."""
ANONYMOUS_ADDRESSES = 50_000
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
PASSWORD_CHARS_MIN = 10
PASSWORD_CHARS_MAX = 256
SLOW_HASHES = 2
"""Passwords and codes that are hashed or checked at a time."""
SLOW_HASH_MEMORY_KB = 19 * KB
SLOW_HASH_PASSES = 2
"""As OWASP recommends at least: a document may have a hundred codes, and other callers are not to wait for them."""
LOGIN_LINK_MINUTES = 60
LOGIN_SESSION_DAYS = 14
KNOWN_DEVICE_DAYS = 180
RESET_MINUTES = 60
INVITATION_DAYS = 14
PASSKEY_NAME_CHARS = 60
PASSKEY_SECONDS = 300
"""From the question that a passkey is to answer, to its answer."""

# database
WAL_BYTES_KEPT = 64 * MB
SQLITE_MMAP_BYTES = 256 * MB
LET_PASS_SECONDS = 0.03
"""For so long work that can wait lets a request go first; one that takes longer waits for something else."""
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
MAIL_INBOX_DAYS = 30
SMTP_CHECK_SECONDS = 15

# background
KEY_USE_SECONDS = 10
HOUSEKEEPING_SECONDS = 3600
PRUNE_ROWS = 500
"""Of one kind, in one transaction of the housekeeping."""

# server
MEMORY_PIECE_BYTES = 1 * MB
"""From this size on, memory goes back to the system when it is freed."""
CONNECTIONS = 4096
CONNECTIONS_PER_ADDRESS = 256
DESCRIPTORS_KEPT = 512
"""For the database, files and sandboxes: connections never take these."""
ADDRESS_CHARS = 64
"""Of a caller's network address: a proxy may pass on whatever its own caller wrote."""
FAIR_QUEUE_LENGTH = 64
"""Requests that wait for a sandbox, or for their password to be hashed; a quarter of them are one caller's."""

# doctor
CLOCK_SKEW_SECONDS = 5
CLOCK_SET_BACK_LOOKS = 30
"""After the clock was set back, what was due by it before is looked for so often."""

# signing
TITLE_CHARS = 400
MESSAGE_SUBJECT_CHARS = 200
MESSAGE_BODY_CHARS = 5000
DOCUMENT_FILES = 20
PACKET_DOCUMENTS = 20
PACKET_FILES = 50
DOCUMENT_PARTIES = 50
DOCUMENT_SIGNERS = 100
DOCUMENT_FIELDS = 1000
TEMPLATE_VERSIONS = 1000
EXPIRES_AFTER_HOURS_MAX = 5 * 8784
"""Five years."""
PARTY_ORDER_MAX = 1000
SIGNER_NAME_CHARS = 200
FIELD_VALUE_CHARS = 2000
FIELD_GROUP_CHARS = 100
FIELD_PATTERN_CHARS = 500
FIELD_HINT_CHARS = 200
FIELD_OPTIONS = 100
NUMBER_CHARS = 40
REASON_CHARS = 1000
TYPED_CODE_CHARS = 40
"""Of a verification code as people type it, with spaces and dashes of their own."""
ACCESS_CODE_CHARS_MIN = 4
ACCESS_CODE_CHARS = 100
REMINDER_HOURS_MAX = 8760
REMINDERS_MAX = 100
REMIND_FROM_HOUR, REMIND_UNTIL_HOUR = 8, 20
"""When the timer reminds, by the clock of whoever is reminded."""
SIGNER_SESSION_SECONDS = 4 * 3600
SIGNER_SESSION_TOLD_SECONDS = 86_400
"""For so long after its end, a session's page still says whose document it was."""
SIGNER_CODE_SECONDS = 900
SIGNER_CODE_TRIES = 5
USER_AGENT_CHARS = 500

# bulk sends
BULK_ROWS = 10_000
BULK_COLUMNS = 200
BULK_CELL_CHARS = 4000
BULK_NAME_CHARS = 200
BULK_ROWS_PER_MINUTE_MAX = 60_000
BULK_FLAWS = 10_000
"""That one report names; rows with flaws are counted beyond it."""

# search
UPLOAD_BYTES = 50 * MB
FILENAME_CHARS = 255
COLLECTION_CHARS = 100
COLLECTION_PATTERN = "^[^\\s\\x00-\\x1f\\x7f]([^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f])?$(?!\\n)"
"""No control characters, and no space at either end. To a pattern, an end is also where only a line's end follows."""
UPLOAD_VALUES = 50
UPLOAD_VALUE_NAME_CHARS = 100
UPLOAD_VALUE_CHARS = 1000
EXTRACTED_CHARS = UPLOAD_BYTES
CSV_SAMPLE_CHARS = 64 * KB
CHARSET_SAMPLE_BYTES = 32 * KB
QUERY_CHARS = 8192
UNINDEXED_COUNTED = 1000
TEXT_PAGE_MAX = 1_000_000
TOP_K_DEFAULT = 5
TOP_K_MAX = 1000
QUERY_COLLECTIONS = 100
QUERY_OFFSET_MAX = 1000
INDEX_DOC_IDS = 5000
FOLDER_STILL_SECONDS = 1
"""A file that was written more recently is looked at twice before it is read: it may be half of what it is to be."""
FOLDER_WAIT_SECONDS = 0.2
SERVER_WAIT_SECONDS = 60
"""For so long a server that starts waits for a command that has the data folder."""
CHUNK_TOKENS = 200
CHUNK_OVERLAP = 40
CHUNK_TOKENS_MAX = 512
JOB_WATCH_SECONDS = 0.25
PROGRESS_SECONDS = 0.25
QUERY_SECONDS = 30
ANSWER_PASSAGES_MAX = 30
ANSWER_SECONDS = 180
"""So long the model may write: one on a slow machine reads a while before its first word."""
MODEL_WATCH_SECONDS = 2
PAGE_IMAGE_WIDTH = 1240
DERIVED_BYTES = 2048 * MB
"""Of pictures and texts that were made of stored files: what was not asked for longest goes first."""
DERIVED_SWEEP = 500
READ_PAGES = 500
"""Of a document that is read as text."""

# the pages of documents to sign
DOCUMENT_FILE_BYTES = 64 * MB
DOCUMENT_PAGES = 5000
PREPARED_FILE_BYTES = 112 * MB
FILE_PASSWORD_CHARS = 127
"""As many bytes of a password count in a PDF."""
FONT_SIZE_MIN = 6
FONT_SIZE_MAX = 72
FIELD_LABEL_CHARS = 100
PAD_WIDTH = 1000
PAD_HEIGHT = 360
"""Of a pad on which a signature is drawn, where its size is not told."""
DRAWING_STROKES = 200
SIGNATURE_IMAGE_BYTES = 2 * MB
SIGNATURE_IMAGE_PIXELS = 4_000_000
CERTIFICATE_EVENTS = 5000
CONVERT_IMAGE_PIXELS = 50_000_000
CONVERT_IMAGE_FRAMES = 200


# models
MODEL_PREFIX_CHARS = 500


# verification
EVIDENCE_BYTES = 64 * MB
ANSWER_BYTES = 64 * MB
"""Of a file with an answer and its receipt."""
REPLAY_NAMED = 5
"""How many changed documents, or results that differ, a replay names."""
VERIFY_SECONDS = 60
VERIFY_CPU_SECONDS = 15

# certificates, time-stamps and seals
TSA_TOKEN_BYTES = 16 * KB
TSA_SKEW_SECONDS = 300
SEAL_IDENTITIES = 256
WRITTEN_TIMES = 1024
"""Days and times of day whose words are remembered."""
SEAL_TAIL_BYTES = 1 * MB
"""At the end of a sealed file, in which its seal is; and the most that one later revision may have."""

# webhooks
HOOKS_PER_WORKSPACE = 1000
HOOK_DESCRIPTION_CHARS = 500
WEBHOOK_TOLERANCE_SECONDS = 300
"""How far the clocks of sender and receiver may be apart."""
WEBHOOK_BODY_BYTES = 20_000
WEBHOOK_ROTATION_HOURS = 24
WEBHOOK_RETRY_SECONDS = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Before each of the ten attempts, counted from the end of the one before."""
WEBHOOK_JITTER = 0.2
FEED_PLACED = 1000

# archive
ARCHIVE_KEY_CHARS = 32
ARCHIVE_SECONDS = 1800
ARCHIVE_STALL_SECONDS = 60
ARCHIVE_READER_SECONDS = 30
"""A caller that takes nothing of a package for so long does not get the rest."""
ARCHIVE_LOCK_DAYS = 3650

NO_NUL = {"pattern": "^[^\\x00]*$"}
"""What a JSON schema says of any text: PostgreSQL cannot store a NUL."""
