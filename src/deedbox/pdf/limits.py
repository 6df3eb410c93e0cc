"""Bounds of `deedbox.pdf`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import KB, MB

# keys, people, sessions
LOGO_PIXELS = 16_000_000
LOGO_SIDE = 512
LOGO_PNG_BYTES = 64 * KB

# search
PAGE_IMAGE_STEPS = (480, 820, 1240, 1860, 2480)
"""The widths in which pictures of pages are made and kept."""
PAGE_IMAGE_COLOURS = 4096
"""A page of no more is kept without loss: it is text."""
READ_LINE_CHARS = 10_000
READ_LINES = 50_000
READ_LETTERS = 3_000_000
"""Of a document that is read as text: the page with which there are more is the first that is not read."""
PAGE_IMAGE_PIXELS = 9_000_000
"""A page of A4 in the largest width."""
PAGE_IMAGE_SIDE = 16_000
PAGE_IMAGE_QUALITY = 80

# the pages of documents to sign
PREPARE_SECONDS = 9
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
XMP_BYTES = 1 * MB
EARLIER_SIGNER_CHARS = 300
"""Of the names in the certificate of a signature that a file brings along."""
TEXT_TAGS = 2000
TEXT_TAG_PAGES = 1000
TEXT_TAG_CHARS = 400
FORM_DEPTH = 16
FIELD_TEXT_CHARS = 4000
MARK_FIELDS = 20_000
BLOCK_SIGNERS = 500
PAD_SIDE = 10_000
DRAWING_POINTS = 10_000
"""Of all strokes together: a hand that draws for two minutes."""
DRAWING_MILLISECONDS = 7 * 24 * 3_600_000
"""A page counts them from when it was opened."""
SIGNATURE_IMAGE_WIDTH = 900
SIGNATURE_IMAGE_HEIGHT = 450
PAGE_IMAGE_WIDTH_MIN = 64
PAGE_IMAGE_WIDTH_MAX = 2480
CERTIFICATE_THUMBNAILS = 12
CERTIFICATE_THUMBNAIL_WIDTH = 200
CERTIFICATE_SIGNERS = 1000
CONVERT_SECONDS = 60
CONVERT_OPEN_FILES = 64
OFFICE_OPEN_FILES = 512
CONVERT_MEMORY_BYTES = 4096 * MB
CONVERT_THREADS = 512

# verification
RECEIPT_BYTES = 2 * MB
"""Of a receipt itself; no query that is allowed comes near it."""
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
SEAL_SECONDS = 60
SEAL_NUMBERS_LEFT_OUT = 16
"""Of objects, in one revision after a seal: pyHanko leaves out one or two."""
SEAL_OBJECTS = 4096
"""In one revision: the seal's, or a later one's with validation data."""
SEAL_EXTENSIONS = 32
PDF_DEPTH = 32
CERTIFICATE_PATH = 10
