"""Rules of the pages that no tool knows: nothing inline, nothing from elsewhere, modules of bounded length."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import deedbox
from deedbox.i18n import dashboard
from deedbox.web.http import navigation

WEB = Path(deedbox.__file__).parent / "web"
MODULE_LINES = 350
STYLESHEET_BYTES = 25_000

Linter = Callable[[str], Iterator[str]]

_COMMENT = re.compile(r"\{#.*?#\}|<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"<[a-zA-Z][^<]*", re.DOTALL)
_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_JS_COMMENT = re.compile(r"(?:^|(?<=\s))//[^\n]*|/\*.*?\*/", re.DOTALL | re.MULTILINE)


def inline(template: str) -> Iterator[str]:
    """What the pages' policy forbids, and what would come from another host."""
    text = _COMMENT.sub("", template)
    for tag in _TAG.findall(text):
        bare = _JINJA.sub("", tag)
        if re.search(r"\sstyle\s*=", bare):
            yield f"style= in {tag[:60]!r}"
        if re.search(r"\son[a-z]+\s*=", bare):
            yield f"on…= in {tag[:60]!r}"
        if re.match(r"<script(?![^>]*\ssrc=)|<style", bare):
            yield f"inline {tag[:60]!r}"
    for address in re.findall(r"(?:https?:)?//[\w{]\S*", text):
        yield f"address {address[:60]}"


def makes_html(module: str) -> Iterator[str]:
    """Ways by which a module makes elements, or code, of text; and styles that the policy would not take."""
    code = _JS_COMMENT.sub("", module)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "createPolicy", "DOMParser"):
        if word in code:
            yield word
    if re.search(r"\beval\(|new Function\(|setAttribute\(\s*[\"']style", code):
        yield "eval, Function or a style attribute"


def from_elsewhere(module: str) -> Iterator[str]:
    """Addresses of other hosts; that of SVG names a language, and is never asked for."""
    code = _JS_COMMENT.sub("", module).replace("http://www.w3.org/2000/svg", "")
    yield from re.findall(r"(?:https?:)?//[\w$]+\.\S*", code)


def untold(template: str) -> Iterator[str]:
    """Sentences that stand in the template, and not in the tables of words."""
    text = _COMMENT.sub("", template)
    text = re.sub(r"\{% block (body_class|kind) %\}.*?\{% endblock %\}", " ", text)  # names for the stylesheet
    text = _JINJA.sub(" ", re.sub(r"<(code|kbd|title)\b.*?</\1>", " ", text, flags=re.DOTALL))
    text = re.sub(r"&\w+;", " ", re.sub(r"<[^>]*>", "\n", text))
    text = re.sub(r"\b[\w-]+=\"[^\"]*\"", " ", text)  # attributes that stand in a block of their own
    for line in text.splitlines():
        if re.search(r"[A-Za-z]{2,}", line.replace("Deedbox", "")):
            yield line.strip()


def typed_bounds(template: str) -> Iterator[str]:
    """Bounds typed as numbers: they come from `limits`, where the server's own stand. 0 and 1 are no bounds."""
    text = _COMMENT.sub("", template)
    given = r'\b((?:min|max)(?:length)?)(?:="(\{\{.*?\}\}|[^"]*)"|": *([^,}]*))'
    for name, attribute, value in re.findall(given, text):
        for number in re.findall(r"(?<![\w.])\d+", (attribute or value).replace("// 24", "")):  # hours in days
            if int(number) > 1:
                yield f"{name}: {number}"


def found(linter: Linter, pattern: str, exempt: tuple[str, ...] = ()) -> list[str]:
    offences = []
    for path in sorted(WEB.glob(pattern)):
        name = path.relative_to(WEB).as_posix()
        if name not in exempt:
            offences += [f"{name}: {one}" for one in linter(path.read_text(encoding="utf-8"))]
    return offences


def test_templates_hold_nothing_inline_and_no_address_of_another_host() -> None:
    assert found(inline, "templates/**/*.html") == []


def test_bounds_in_templates_are_those_of_the_server() -> None:
    assert found(typed_bounds, "templates/**/*.html") == []


def test_only_live_makes_html_of_text() -> None:
    assert found(makes_html, "static/**/*.js", ("static/js/live.js",)) == []
    assert list(makes_html((WEB / "static/js/live.js").read_text())) == ["innerHTML", "createPolicy"]


def test_no_script_stylesheet_or_icon_asks_another_host() -> None:
    assert found(from_elsewhere, "static/**/*.js") == []
    assert found(from_elsewhere, "static/*.css") == []
    assert found(from_elsewhere, "static/*.svg") == []


def test_modules_and_stylesheet_are_of_bounded_length() -> None:
    long = [path.name for path in WEB.glob("static/**/*.js") if len(path.read_text().splitlines()) > MODULE_LINES]
    assert long == []
    assert [path.name for path in WEB.glob("static/*.css") if path.stat().st_size > STYLESHEET_BYTES] == []


def test_every_sentence_stands_in_the_tables_of_words() -> None:
    assert found(untold, "templates/**/*.html") == []


def test_every_word_of_the_dashboard_is_used_and_every_one_that_is_used_is_there() -> None:
    pages = "".join(path.read_text() for path in (WEB / "templates/dashboard").rglob("*.html"))
    shared = (WEB / "templates/macros.html").read_text()
    code = "".join(path.read_text() for path in [*WEB.glob("dashboard/**/*.py"), *WEB.glob("http/*.py")])
    used = set(re.findall(r"\bt\.(\w+)", pages + shared)) | set(re.findall(r'WORDS\["(\w+)"\]', code))
    made = {part.name for part in (*navigation.PARTS, *navigation.SETTINGS)} | {"refused_"}
    made |= set(re.findall(r'\bt\["(\w+_)" ~', pages)) | set(re.findall(r'WORDS\[f"(\w+_)\{', code))
    assert used <= set(dashboard.WORDS)
    assert {name for name in set(dashboard.WORDS) - used if not name.startswith(tuple(made))} == set()
    assert len(dashboard.WORDS) == sum(len(part.WORDS) for part in dashboard.PARTS), "two parts have the same name"


def test_every_template_takes_its_icons_from_those_there_are() -> None:
    known = set(re.findall(r'<symbol id="(\w+)"', (WEB / "static/icons.svg").read_text()))
    pages = "".join(path.read_text() for path in (WEB / "templates").rglob("*.html"))
    assert set(re.findall(r'icon\("(\w+)"', pages)) <= known


@pytest.mark.parametrize(
    ("linter", "text"),
    [
        (inline, '<p style="color: red">'),
        (inline, '<p\n class="{{ x }}"\n style = "color: red">'),
        (inline, '<button onclick="x()">'),
        (inline, "<script>x()</script>"),
        (inline, "<style>p {}</style>"),
        (inline, '<img src="https://cdn.example/x.png">'),
        (inline, '<script src="//cdn.example/x.js">'),
        (typed_bounds, '<input maxlength="254">'),
        (typed_bounds, '<input max="{{ field.most or 2000 }}">'),
        (typed_bounds, '{{ ui.field("a", t.a, more={"required": "", "minlength": 10}) }}'),
        (makes_html, "part.innerHTML = text"),
        (makes_html, "part.insertAdjacentHTML('beforeend', text)"),
        (makes_html, "mark.setAttribute('style', 'left: 1px')"),
        (makes_html, "trustedTypes.createPolicy('mine', {})"),
        (from_elsewhere, 'fetch("https://evil.example/x")'),
        (from_elsewhere, "@import url(//fonts.example.com/x.css)"),
        (untold, "<p>Sign here</p>"),
        (untold, "{% if x %}Welcome{% endif %}"),
    ],
)
def test_a_planted_offence_is_caught(linter: Linter, text: str) -> None:
    assert list(linter(text))


@pytest.mark.parametrize(
    ("linter", "text"),
    [
        (inline, '<a href="{{ link }}" data-on="x" class="style">{{ t.open }}</a>'),
        (inline, "{# style= and https://example.com in a comment #}"),
        (typed_bounds, '<input min="1" max="{{ limits.REMINDER_HOURS_MAX // 24 }}"><progress max="1">'),
        (makes_html, "// innerHTML is for live.js alone\npart.textContent = text; part.style.setProperty('--x', 1)"),
        (from_elsewhere, "document.createElementNS('http://www.w3.org/2000/svg', 'path') // see https://example.com"),
        (untold, '<p class="small">{{ t.name }} · <code>deedbox login-link</code> &lt;{{ x }}&gt;</p>'),
    ],
)
def test_what_is_allowed_is_left_alone(linter: Linter, text: str) -> None:
    assert list(linter(text)) == []
