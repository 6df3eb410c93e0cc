"""Bounds of `deedbox.web`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import DOCUMENT_FIELDS, KB, MB, PACKET_DOCUMENTS

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
BASE64_PIECE_CHARS = 256 * KB
"""Decoded at once: nothing else runs meanwhile. A multiple of four."""
REQUEST_SECONDS = 30
REFUSAL_TOLD_SECONDS = 60
"""For so long `/readyz` tells that a request was refused because the storage is away."""
UPLOAD_STALL_SECONDS = 60
UPLOAD_BYTES_PER_SECOND = 32 * KB
"""The least, on the mean after the first minute: what drips more slowly holds its place for nothing."""
DOWNLOAD_STALL_SECONDS = 60
DOWNLOAD_SECONDS = 3600
IN_FLIGHT_PER_SESSION = 32
"""Of one person's or signer's cookie; a browser opens six connections."""
REQUEST_ID_CHARS = 64
IDEMPOTENCY_KEY_CHARS = 255
FILTER_VALUES = 20
DOTS_SHOWN = 5
"""People of a document in a list of many."""
DOCUMENT_PAGES_SHOWN = 60
"""Pages of a document as small pictures beside what is known of it."""
TIMELINE_ROWS = 50

# keys, people, sessions
ACT_CHARS = 64
VERIFY_PER_MINUTE = 10
"""Files that one address may have checked on the public page."""
SIGNER_PER_MINUTE = 600
ANONYMOUS_IPV6_PREFIX = 64
FORM_NAME_PARTS = 6
MAIL_TESTS_PER_MINUTE = 5
"""That one person may send from the settings."""
CERTIFICATE_NEAR_DAYS = 60
"""A certificate that ends within so many days is shown as near its end."""
LOGO_BYTES = 2 * MB
LOGO_PER_MINUTE = 600
"""Of one address, behind which a whole office may read its mail; browsers keep the picture."""
LOGIN_TRIES_PER_MINUTE = 5
LOGIN_TRIES_PER_DAY = 200
"""From one address at one account, or from one device that has signed in to it before."""
LOGIN_TRIES_OF_ALL_PER_MINUTE = 60
LOGIN_TRIES_OF_ALL_PER_DAY = 1_000
"""At one account from all unknown devices together."""
FRESH_SESSION_MINUTES = 10
"""For so long after signing in, the current password need not be shown for a change to how one signs in."""
RESETS_PER_MINUTE = 2
RESETS_PER_DAY = 10
RESETS_OF_ALL_PER_MINUTE = 4
RESETS_OF_ALL_PER_DAY = 30
"""Mails by which one person is let choose a new password: asked for from one address, and from all of them."""
KEYS_NAMED = 10
"""Of those that a member has made, before the rest is only counted."""

# server
KEEP_ALIVE_SECONDS = 30
CONNECTIONS_MIN = 64
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

# signing
TEMPLATE_USES_COUNTED = 1000
"""Documents of one template that a list counts."""
SKETCH_BYTES = 1 * MB
"""Of the people and fields of a draft that is being made on the pages."""
PEOPLE_FORM_BYTES = 256 * KB
"""Of the form in which the people of a draft are named."""
FIELDS_NAMED = 5
"""Of fields that go with someone, told before they do."""
PEOPLE_SUGGESTED = 200
"""Those who were asked to sign last, offered while someone types."""
ATTACHMENT_BYTES = 10 * MB
PAGE_FORM_FIELDS = 2 * DOCUMENT_FIELDS * PACKET_DOCUMENTS + 10
"""Of all documents of a packet; each box that may be hidden comes with a word on whether it was shown."""
LINK_PER_MINUTE = 60
"""Requests to the address of one link."""
EMBED_SCRIPT_SECONDS = 300
"""For which browsers keep the script that sites of others load."""
DOCUMENT_JSON_BYTES = 24 * MB
SIGNING_BODY_BYTES = 8 * MB
"""Two photos, of the signature and of the initials, as a form escapes them (6 MB), and what is filled in."""
PAGE_PARTS_AT_ONCE = 200
"""Pages and fields; a page of more is made beside the requests of others."""
PAGE_WIDTH_MIN = 100
PAGE_WIDTH_MAX = 3000

# bulk sends
BULK_BYTES = 16 * MB
"""Of the rows as JSON, or of the CSV file."""
BULK_ROW_BYTES = 1 * MB
"""Of one row in JSON."""
BULK_CHECK_SECONDS = 120
"""In which all rows of a request are checked: others have their turns meanwhile."""

# search
UPLOAD_PART_HEADER_BYTES = 8 * KB
UPLOAD_FORM_BYTES = 128 * KB
UPLOAD_BOUNDARY_CHARS = 200
PASSAGE_ID_CHARS = 64
SEARCH_PAGE_PASSAGES = 20
SEARCH_TEXT_AROUND = 2000
QUERY_DOC_IDS = 1000
QUERY_FACETS = 10
FILTER_PARTS = 50
"""Conditions of a filter, those within others counted too."""
FILTER_DEPTH = 8
COMPARED_VALUES = 100
"""Those that one `in` names."""
EMBED_CHARS = 32_768
EMBED_INPUTS = 256
INDEX_SECONDS = 300
JOB_HEARTBEAT_SECONDS = 15
JOB_EVENTS_SECONDS = 3600
ANSWER_PASSAGES = 8
ANSWER_HEAD_SECONDS = 10
"""So long a stream waits for the first sentence, or for a failure, before it begins."""
ANSWER_HEARTBEAT_SECONDS = 15
PAGE_NUMBER_DIGITS = 6

# the pages of documents to sign
DRAWN_FIELD_MM = 3
"""The least side of a field that is drawn on a page."""

# certificates, time-stamps and seals
TSA_QUERY_BYTES = 4 * KB
SEAL_WAIT_SECONDS = 2
"""For a file that is being sealed when it is asked for; then it is refused, as one that is not there yet."""

# tools for assistants
MCP_BODY_BYTES = 8 * MB
"""A file of TOOL_FILE_BYTES in base64, and what is said beside it."""
MCP_BODY_ITEMS = 20_000
"""Values of a body, by the commas and brackets between them: the package that reads it makes an object of each."""
MCP_SECONDS = 90
"""A tool waits for one or two requests, each of which has a limit of its own."""
TOOL_ANSWER_BYTES = 16 * MB
MCP_ANSWER_BYTES = 3 * TOOL_ANSWER_BYTES
"""The same for programs and for readers, and what is said beside it."""
