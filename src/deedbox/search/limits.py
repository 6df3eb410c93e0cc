"""Bounds of `deedbox.search`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import EXTRACTED_CHARS, KB, MB, QUERY_OFFSET_MAX, TOP_K_MAX

# search
UPLOAD_NUMBER_MAX = 2**53 - 1
"""Up to it, either way, every whole number is exact in both databases."""
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
JSON_DEPTH = 100
JSON_WRITTEN_BYTES = 8 * MB
XML_WRITTEN_BYTES = 6 * MB
EXCERPT_CHARS = 320
FACET_VALUES = 100
"""The most frequent values that a facet counts."""
FOLDER_FILES = 1_000_000
FOLDER_LOOK_SHARE = 10
"""A look that takes long is repeated after so many times its duration at the earliest."""
FOLDER_GATHER_SECONDS = 30
"""In a folder that never stands still, what stands still is taken in after so long."""
FOLDER_REMOVALS = 20
"""More documents than this are not removed unconfirmed at once if they are more than half of a folder's."""
FOLDER_TRIES = 5
"""So many files in a row that could not be taken in, through no fault of theirs, end the work."""
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
CHUNK_TOKEN_CHARS = 32
CHUNK_TOKENIZE_CHARS = 8192
CHUNK_TOKENIZE_BATCH = 64
LEG_CANDIDATES = 100
INDEX_PARALLEL = 8
INDEX_TRIES = 5
INDEX_JOB_ATTEMPTS = 5
RUNS_LOOKED_AT = 5
INDEX_LOG_BATCH = 32
INDEX_FOLLOW_DOCUMENTS = 64
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
ANSWER_PROMPT_CHARS = 40_000
"""Of all passages together: as much as the model is shown."""
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
