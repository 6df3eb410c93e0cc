"""Small linters for rules that no tool knows: where SQL, the time, the network and printing may be."""

import ast
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import deedbox
from deedbox.kernel.errors import MEANING, ErrorCode
from deedbox.web import app
from deedbox.web.public import authority

SOURCE = Path(deedbox.__file__).parent

_SQL = re.compile(
    r"\s*(select\s+.*|insert\s+(or\s+\w+\s+)?into\s.*|update\s+\S+\s+set\s.*|delete\s+from\s.*|with\s+(recursive\s+)?\w+"
    r"(\s*\([^)]*\))?\s+as\s.*|create\s+(unique\s+|temp\s+)*(table|index|view|trigger|function|extension|database)\s.*"
    r"|(alter|drop)\s+(table|index|view|trigger)\s.*|begin\s+immediate.*|pragma\s+\w+.*)",
    re.IGNORECASE | re.DOTALL,
)
_SELECT = re.compile(r"\s*select\s+(\d|.*\sfrom\s|[\w.]+\(|.*,)", re.IGNORECASE | re.DOTALL)
_TIME = {
    "time": {
        "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
        "gmtime", "localtime", "ctime", "asctime",
    },
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}  # fmt: skip
_CLIENTS = (
    "httpx",
    "httpcore",
    "urllib.request",
    "http.client",
    "aiohttp",
    "requests",
    "urllib3",
    "ftplib",
    "smtplib",
    "boto3",
    "botocore",
)
_TOKEN = re.compile(r"\b(deed_[a-z]+_|whsec_)")
_DIALS = {"create_connection", "open_connection", "open_unix_connection", "create_unix_connection"}

_DECODES, _DECODERS = ({f"msgspec.{form}.{name}" for form in ("json", "msgpack")} for name in ("decode", "Decoder"))
_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

PARAMETERS = 6

Offence = str
Linter = Callable[[ast.Module], Iterator[Offence]]


def _at(node: ast.AST, what: str) -> Offence:
    return f"line {getattr(node, 'lineno', 0)}: {what}"


@functools.lru_cache(maxsize=1)
def _nodes(module: ast.Module) -> list[ast.AST]:
    return list(ast.walk(module))


def _docstrings(module: ast.Module) -> set[int]:
    return {
        id(node.value) for node in _nodes(module) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _text(node: ast.AST) -> str | None:
    """What a literal begins with; what an f-string puts in counts as a word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
        return node.value.decode("latin-1")
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "word" for part in node.values)
    return None


def sql(module: ast.Module) -> Iterator[Offence]:
    skipped = _docstrings(module)
    for node in _nodes(module):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    for node in _nodes(module):
        text = None if id(node) in skipped else _text(node)
        if text and _SQL.fullmatch(text) and (not text.lstrip().lower().startswith("select") or _SELECT.match(text)):
            yield _at(node, f"SQL {text.strip()[:40]!r}")


def time_reads(module: ast.Module) -> Iterator[Offence]:
    names: dict[str, str] = {}
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            names.update({alias.asname or alias.name: alias.name for alias in node.names if alias.name in _TIME})
        elif isinstance(node, ast.ImportFrom) and node.module in ("time", "datetime"):
            for alias in node.names:
                names[alias.asname or alias.name] = alias.name
                if node.module == "time" and alias.name in _TIME["time"]:
                    yield _at(node, f"from time import {alias.name}")
    for node in _nodes(module):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else names.get(getattr(owner, "id", ""), "")
            if node.attr in _TIME.get(name, ()):
                yield _at(node, f"{name}.{node.attr}")


def outgoing(module: ast.Module) -> Iterator[Offence]:
    for node in _nodes(module):
        imported: list[str] = []
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            if node.module in ("socket", "asyncio"):
                imported += [alias.name for alias in node.names if alias.name in _DIALS]
        for name in imported:
            if name in _DIALS or any(name == client or name.startswith(client + ".") for client in _CLIENTS):
                yield _at(node, f"import {name}")
        if isinstance(node, ast.Attribute) and node.attr in _DIALS:
            yield _at(node, node.attr)


def printing(module: ast.Module) -> Iterator[Offence]:
    for node in _nodes(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield _at(node, "print()")


def many_parameters(module: ast.Module) -> Iterator[Offence]:
    for node in _nodes(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            told = node.args
            names = [
                one.arg for one in (*told.posonlyargs, *told.args, *told.kwonlyargs, told.vararg, told.kwarg) if one
            ]
            if len(names) - (names[:1] in (["self"], ["cls"])) > PARAMETERS:
                yield _at(node, f"{getattr(node, 'name', 'lambda')} takes {', '.join(names)}")


def decoders(module: ast.Module) -> Iterator[Offence]:
    """A type is prepared while a module is loaded: two threads that meet it first at once bring the process down."""
    loaded = {id(node) for each in module.body if not isinstance(each, _LATER) for node in ast.walk(each)}
    for call in (node for node in _nodes(module) if isinstance(node, ast.Call)):
        names = [ast.unparse(each) for each in (call.func, *call.args) if isinstance(each, ast.Attribute)]
        if _DECODES.intersection(names) and any(keyword.arg == "type" for keyword in call.keywords):
            yield _at(call, "decode with a type")
        elif _DECODERS.intersection(names) and id(call) not in loaded:
            yield _at(call, "a decoder in a function")


def tokens(module: ast.Module) -> Iterator[Offence]:
    """Logs redact what begins with a prefix of `kernel/tokens.py`: a token without one would be logged in full."""
    skipped = _docstrings(module)
    for node in _nodes(module):
        text = None if id(node) in skipped else _text(node)
        if text and (found := _TOKEN.search(text)):
            yield _at(node, f"the prefix of a token {found[0]!r}")
        if isinstance(node, (ast.Attribute, ast.alias)) and "token_urlsafe" in ast.unparse(node):
            yield _at(node, "a token without a prefix")


@functools.lru_cache(maxsize=1)
def _module(name: str) -> ast.Module:
    return ast.parse((SOURCE / name).read_text(encoding="utf-8"))


def may_hold_sql(name: str) -> bool:
    return (
        name.endswith("/store.py")
        or "/store/" in name
        or name.startswith(("kernel/db/", "kernel/backup/"))
        or name == "kernel/backup.py"
    )


RULES: dict[Linter, Callable[[str], bool]] = {
    sql: may_hold_sql,
    time_reads: lambda name: name == "kernel/clock.py",
    # A store for files is named by the operator, not by a caller: it has one door of its own. The client runs in
    # other people's programs; that no part of the server uses it is a contract of import-linter.
    outgoing: lambda name: name.startswith(("kernel/egress/", "kernel/s3/", "client/")),
    printing: lambda name: name.startswith("cli/"),
    many_parameters: lambda _: False,
    # Those of kinds that are not known before, one thread at a time.
    decoders: lambda name: name == "kernel/decoders.py",
    # Idempotency keys, a password for a demonstration and one that is compared with what nobody has: none of them opens
    # anything.
    tokens: lambda name: name.startswith(
        ("kernel/tokens.py", "kernel/slow_hash.py", "web/http/page_forms.py", "client/call.py", "cli/demo/")
    ),
}
"""Each with the modules that it does not hold for."""


def test_every_module_keeps_to_the_rules() -> None:
    """All rules at once: to read all modules takes longer than to look for any of them."""
    names = [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))]
    assert [
        f"{linter.__name__}: {name} {offence}"
        for name in names
        for linter, exempt in RULES.items()
        if not exempt(name)
        for offence in linter(_module(name))
    ] == []


def test_no_route_takes_the_place_of_what_is_done_before_every_route() -> None:
    """The nearest `before_request` alone runs: a route's own would skip the confirmation and the body."""
    routes = [*app.ROUTES, authority.open_time_stamp]
    assert [str(route) for route in routes if route.before_request] == []


def test_every_error_code_has_a_meaning() -> None:
    assert set(MEANING) == set(ErrorCode)
    assert [code for code, meaning in MEANING.items() if len(meaning) < 20 or not meaning.endswith(".")] == []


def test_the_linters_find_what_the_exempt_files_are_known_to_hold() -> None:
    def found(linter: Linter, name: str) -> bool:
        return any(linter(_module(name)))

    assert found(sql, "kernel/jobs/store.py")
    assert found(sql, "kernel/outbox/store.py")
    assert found(sql, "kernel/rotation/store.py")
    assert found(time_reads, "kernel/clock.py")
    assert found(outgoing, "kernel/egress/client.py")


@pytest.mark.parametrize(
    ("linter", "code"),
    [
        (sql, "tx.one('select 1')"),
        (sql, "tx.one('SELECT id\\n FROM jobs')"),
        (sql, "tx.all(f'select {columns} from jobs')"),
        (sql, "x = '''\\n  insert into jobs values (1)'''"),
        (sql, "tx.run(f'update {table} set a = 1')"),
        (sql, "tx.run('delete from jobs' + where)"),
        (sql, "tx.run('create unique index a on b (c)')"),
        (sql, "tx.run('with due as (select 1) select * from due')"),
        (sql, "tx.run(b'update jobs set a = 1')"),
        (sql, "connection.execute('pragma foreign_keys = off')"),
        (time_reads, "import time\ntime.time()"),
        (time_reads, "import time as t\nt.monotonic()"),
        (time_reads, "from time import perf_counter as tick"),
        (time_reads, "from datetime import datetime\ndatetime.now()"),
        (time_reads, "from datetime import datetime as d\nd.utcnow()"),
        (time_reads, "import datetime\ndatetime.datetime.now(datetime.UTC)"),
        (time_reads, "from datetime import date\nborn = field(default_factory=date.today)"),
        (time_reads, "def f():\n    import time\n    return time.time_ns"),
        (outgoing, "import httpx"),
        (outgoing, "import httpcore._async"),
        (outgoing, "from urllib import request"),
        (outgoing, "from urllib.request import urlopen"),
        (outgoing, "def f():\n    import http.client"),
        (outgoing, "import socket\nsocket.create_connection(('a', 1))"),
        (outgoing, "from asyncio import open_connection"),
        (outgoing, "await_ = loop.create_connection"),
        (printing, "def f():\n    print('hello')"),
        (decoders, "def f(data):\n    return msgspec.json.decode(data, type=Mail)"),
        (decoders, "msgspec.msgpack.decode(data, type=list[Mail])"),
        (decoders, "to_thread(msgspec.json.decode, data, type=Mail)"),
        (decoders, "@cache\ndef f(kind):\n    return msgspec.json.Decoder(kind)"),
        (tokens, "PREFIX = 'deed_guest_'"),
        (tokens, "token = f'deed_guest_{x}'"),
        (tokens, "re.compile(r'whsec_\\w+')"),
        (tokens, "import secrets\nsecrets.token_urlsafe(32)"),
        (tokens, "from secrets import token_urlsafe"),
        (many_parameters, "def f(a, b, c, d, e, f, g): ..."),
        (many_parameters, "async def f(a, b, /, c, *d, e, f, **g): ..."),
        (many_parameters, "class A:\n    def f(self, a, b, c, *, d, e, f, g=1): ..."),
        (many_parameters, "lambda a, b, c, d, e, f, g: a"),
    ],
)
def test_a_planted_offence_is_caught(linter: Linter, code: str) -> None:
    assert list(linter(ast.parse(code)))


@pytest.mark.parametrize(
    ("linter", "code"),
    [
        (sql, "raise Conflict('Update the document first')"),
        (sql, "label = 'Select a file'"),
        (sql, "label = 'select'"),
        (sql, "'''Create a table of what was found.'''"),
        (sql, "label = 'with best regards'"),
        (sql, "label = 'Delete this key?'"),
        (time_reads, "import time\ntime.sleep(1)"),
        (time_reads, "from datetime import datetime, timedelta\ndatetime.fromisoformat(x)"),
        (time_reads, "clock.now()"),
        (time_reads, "self.today()"),
        (outgoing, "from urllib.parse import urlsplit\nfrom http import HTTPStatus"),
        (outgoing, "import asyncio\nasyncio.start_server(f)"),
        (printing, "log.info('hello')\nsheet.print()"),
        (decoders, "_MAIL = msgspec.json.Decoder(Mail)\ndef f(data):\n    return _MAIL.decode(data)"),
        (decoders, "def f(data):\n    return msgspec.json.decode(data)"),
        (tokens, "tokens.create(TokenPrefix.SESSION)\nname = 'deed_'"),
        (many_parameters, "def f(a, b, c, *, d, e, f): ..."),
        (many_parameters, "class A:\n    def f(self, a, b, c, d, e, f): ..."),
    ],
)
def test_what_is_allowed_is_left_alone(linter: Linter, code: str) -> None:
    assert list(linter(ast.parse(code))) == []


_PARTICIPLE = re.compile(r"[a-z]+(ed|ing)|made|told|kept|taken|given|found|seen|heard|laid|drawn|begun")
_VERBS = {"bring", "embed", "warning"}
"""Function names that only look like participles."""


def _defined(kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> Iterator[tuple[str, str]]:
    """Yield the name and the file of each public definition at the top of a module; the client's are generated."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(("client/calls/", "client/records/", "client/requests/")):
            continue
        for node in _module(name).body:
            if isinstance(node, kind) and not (defined := getattr(node, "name", "_")).startswith("_"):
                yield defined, name


def test_every_public_type_name_has_one_definition() -> None:
    files: dict[str, list[str]] = {}
    for name, file in _defined(ast.ClassDef):
        files.setdefault(name, []).append(file)
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_functions_are_named_by_verbs_not_participles() -> None:
    functions = _defined((ast.FunctionDef, ast.AsyncFunctionDef))
    assert [f"{file}: {name}" for name, file in functions if _PARTICIPLE.fullmatch(name) and name not in _VERBS] == []


def _limits() -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each limit."""
    for path in sorted(SOURCE.glob("*/limits.py")):
        file = path.relative_to(SOURCE).as_posix()
        for node in _module(file).body:
            for target in node.targets if isinstance(node, ast.Assign) else []:
                yield from ((file, each.id) for each in ast.walk(target) if isinstance(each, ast.Name))


def test_every_limit_is_set_once() -> None:
    """The second of two with one name would hold for both."""
    assert [name for name, count in Counter(name for _, name in _limits()).items() if count > 1] == []


def test_every_limit_is_used() -> None:
    texts = [path.read_text() for path in SOURCE.rglob("*") if path.suffix in (".py", ".html")]
    used = Counter(word for text in texts for word in re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))
    assert [f"{file}: {name}" for file, name in _limits() if used[name] < 2] == []
