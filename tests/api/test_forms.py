"""Forms of pages: the same structs as the API, every mistake beside its field, nothing typed is lost, sent once."""

import asyncio
import re
from collections.abc import Generator
from typing import Annotated, Any

import httpx
import msgspec
import pytest
from litestar.datastructures import FormMultiDict
from msgspec import Meta

from deedbox.kernel.errors import BadRequest
from deedbox.web.http import page_forms
from deedbox.web.http.page_forms import WrongForm
from tests.api.conftest import Api
from tests.api.test_login import EMAIL, NEW, PASSWORD, SETTLED, settled, signed_in

pytestmark = pytest.mark.anyio


class Person(msgspec.Struct):
    email: Annotated[str, Meta(max_length=20)]
    stage: Annotated[int, Meta(ge=1)] = 1


class InOrder(FormMultiDict):
    """A form whose names come in this order, whatever their hashes."""

    def __init__(self, names: list[str]) -> None:
        super().__init__([(name, "x") for name in names])
        self.names = names

    def multi_items(self) -> Generator[tuple[str, Any], None, None]:
        yield from [(name, "x") for name in self.names]


class Asked(msgspec.Struct):
    title: Annotated[str, Meta(max_length=10)]
    signers: list[Person] = []
    remind: bool = False
    days: int | None = None


def form(**typed: str) -> FormMultiDict:
    return FormMultiDict([(name.replace("__", "."), value) for name, value in typed.items()])


def test_names_with_dots_make_the_struct_of_the_api() -> None:
    typed = form(
        title="Lease", signers__0__email="a@b.example", signers__10__email="c@d.example", signers__10__stage="2",
        remind="true", days="", once="x",
    )  # fmt: skip
    assert page_forms.read_struct(typed, Asked) == Asked(
        "Lease", [Person("a@b.example"), Person("c@d.example", 2)], True
    )


def test_every_field_that_is_wrong_is_named_as_the_form_names_it() -> None:
    typed = form(signers__0__stage="0", signers__0__email="a@b.example", days="soon", remind="perhaps")
    with pytest.raises(WrongForm) as told:
        page_forms.read_struct(typed, Asked)
    assert told.value.wrong == {
        "title": "Fill in this field.",
        "signers.0.stage": "At least 1.",
        "remind": "Must be true or false.",
        "days": "Must be a whole number.",
    }


def test_what_is_missing_in_a_row_is_named_there() -> None:
    with pytest.raises(WrongForm) as told:
        page_forms.read_struct(form(title="Lease", signers__0__stage="1"), Asked)
    assert told.value.wrong == {"signers.0.email": "Fill in this field."}


@pytest.mark.parametrize("names", [["signers", "signers.0.email"], ["signers.0.email", "signers"]])
def test_a_name_that_is_value_and_group_at_once_is_refused(names: list[str]) -> None:
    with pytest.raises(BadRequest, match="both as a value and as a group"):
        page_forms.read_struct(InOrder(names), Asked)


async def test_the_page_comes_back_with_what_was_typed_and_the_mistake_beside_its_field(api: Api) -> None:
    client = await signed_in(api)
    answer = await client.post("/account", data={"name": "Mara <L>", "email": "nobody", "password": "long enough 1"})
    assert answer.status_code == 400
    assert 'value="Mara &lt;L&gt;"' in answer.text
    assert 'value="nobody"' in answer.text
    assert "long enough" not in answer.text
    [box] = re.findall(r'<input[^>]*name="email"[^>]*>', answer.text)
    assert 'aria-invalid="true"' in box
    assert "email-error" in box
    assert 'id="email-error" role="alert"' in answer.text


def once_of(page: httpx.Response) -> str:
    [value] = re.findall(r'name="once" value="([^"]+)"', page.text)
    return str(value)


async def test_a_form_that_is_sent_twice_is_saved_once_and_leads_to_the_same_place(api: Api) -> None:
    client = await settled(api)
    once = once_of(await client.get("/account"))
    change: dict[str, Any] = {**SETTLED, "password": NEW, "current_password": PASSWORD, "once": once}
    first = await client.post("/account", data=change)
    again = await client.post("/account", data=change)
    # Without `once` the second is wrong: the current password is another one by now.
    assert [(one.status_code, one.headers.get("location")) for one in (first, again)] == [
        (303, "/account?done=saved")
    ] * 2
    assert (await client.post("/account", data={**change, "once": ""})).status_code == 403
    kept = repr(await api.rows("select * from idempotency"))
    assert NEW not in kept
    assert once not in kept


async def test_a_form_that_comes_back_changed_is_another_one(api: Api) -> None:
    client = await settled(api)
    once = once_of(await client.get("/account"))
    for name in ("Olga", "Olaf"):
        data = {"name": name, "email": EMAIL, "current_password": PASSWORD, "once": once}
        assert (await client.post("/account", data=data)).status_code == 303
    assert await api.rows("select name from people where email is not null") == [("Olaf",)]


async def test_two_presses_at_once_save_once(api: Api) -> None:
    client = await settled(api)
    once = once_of(await client.get("/account"))
    change = {**SETTLED, "password": NEW, "current_password": PASSWORD, "once": once}
    answers = await asyncio.gather(*(client.post("/account", data=change) for _ in range(3)))
    assert sorted(answer.status_code for answer in answers)[0] == 303
    assert {answer.status_code for answer in answers} <= {303, 409}
    assert len(await api.rows("select * from idempotency")) == 1
