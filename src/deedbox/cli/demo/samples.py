"""What the demo starts with: a workspace, a template, documents in three states, and an index. All of it by the API."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import msgspec

from deedbox.cli import limits
from deedbox.cli.demo.contracts import LEASE, SECRECY, SERVICES, Contract
from deedbox.client import (
    ApiError,
    AsyncDeedbox,
    Complete,
    Document,
    Indexed,
    LoneSigner,
    MadeHook,
    Message,
    NewDocument,
    NewHook,
    NewSigner,
    NewTemplate,
    Role,
    Typed,
    WorkspaceChange,
)

WORKSPACE = "Example Rentals"
ANN = NewSigner(name="Ann", email="ann@example.com")
BEN = NewSigner(name="Ben", email="ben@example.com")


class DemoSamples(msgspec.Struct, frozen=True):
    template_id: str
    """Of the agreement that the host page has its guests sign."""
    verification_code: str | None
    """Of the document that is sealed; None if sealing took too long."""
    no_search: str | None
    """Why nothing is indexed; None if it is."""


class SampleFiles(msgspec.Struct, frozen=True):
    """The contracts as PDF, by file name."""

    to_sign: dict[str, bytes]
    to_read: dict[str, bytes]


async def typeset(now: datetime) -> SampleFiles:
    return await asyncio.to_thread(_typeset, now)


def _typeset(now: datetime) -> SampleFiles:
    contracts = (LEASE, SERVICES, SECRECY)
    to_read = {one.file_name: one.without_fields().pdf(now) for one in contracts}
    return SampleFiles({one.file_name: one.pdf(now) for one in contracts}, to_read)


async def hook(server: AsyncDeedbox, target_url: str) -> str:
    """The secret of a new webhook that sends what happens to documents there."""
    made = await server.hooks.create(
        NewHook(
            target_url=target_url,
            events=[
                "document.sent", "document.signed", "document.completed", "document.declined", "document.voided",
                "document.expired", "party.completed",
            ],
            description="The receiver of the demo",
        )
    )  # fmt: skip
    if not isinstance(made, MadeHook) or made.secret is None:
        raise TypeError("the webhook was there before")
    return made.secret


async def fill(server: AsyncDeedbox, site: str, papers: SampleFiles) -> DemoSamples:
    """Names the workspace, sends the contracts and indexes them; `site` may show signing in its pages."""
    await server.workspace.change(WorkspaceChange(name=WORKSPACE, embed_sites=[site]))
    template = await server.templates.create(
        NewTemplate(name=SECRECY.title, roles=[Role(name="Guest"), Role(name="Company")]),
        [(SECRECY.file_name, papers.to_sign[SECRECY.file_name])],
    )
    sealed = await server.documents.create(agreement(template.id))
    for name in ("Ann", "Ben"):
        await _sign(server, sealed, name)
    await _send_lease(server, papers)
    await _send_services(server, papers)
    no_search = await _index(server, papers)
    return DemoSamples(template.id, await _code(server, sealed.id), no_search)


def agreement(template_id: str) -> NewDocument:
    """A document of the template, to be sent at once."""
    return NewDocument(template_id=template_id, roles={"Guest": ANN, "Company": BEN}, send=True)


async def guest_link(server: AsyncDeedbox, template_id: str) -> str:
    """A link for the guest of a new agreement, to be shown in a page of the company's."""
    document = await server.documents.create(agreement(template_id))
    return await _link(server, document, ANN.name)


async def _send_lease(server: AsyncDeedbox, papers: SampleFiles) -> None:
    """Ann is asked first; Ben's turn comes after her signature."""
    people = [_lone(ANN, 1), _lone(BEN, 2)]
    message = Message(subject="Your lease", body="Dear Ann, here is the lease as we have discussed it. Welcome!")
    await _send(server, LEASE, papers, people, message)


async def _send_services(server: AsyncDeedbox, papers: SampleFiles) -> None:
    """In German, signed by one of two."""
    eve = LoneSigner(name="Eve", email="eve@example.com", language="de", time_zone="Europe/Berlin")
    message = Message(subject="Ihr Garten", body="Guten Tag Eve, hier ist der Vertrag für das neue Jahr.")
    document = await _send(server, SERVICES, papers, [eve, _lone(BEN, 1)], message)
    await _sign(server, document, "Ben")


async def _send(
    server: AsyncDeedbox, contract: Contract, papers: SampleFiles, people: Sequence[LoneSigner], message: Message
) -> Document:
    new = NewDocument(title=contract.title, signers=[*people], message=message, language=contract.language, send=True)
    return await server.documents.create(new, [(contract.file_name, papers.to_sign[contract.file_name])])


def _lone(person: NewSigner, order: int) -> LoneSigner:
    return LoneSigner(name=person.name, email=person.email, order=order)


async def _link(server: AsyncDeedbox, document: Document, name: str) -> str:
    signer = next(one for party in document.parties for one in party.signers if one.name == name)
    return (await server.documents.signing_link(document.id, signer.id)).url


async def _sign(server: AsyncDeedbox, document: Document, name: str) -> None:
    """Signs as a program does, for the sender's system vouches for the person."""
    signer_id = await server.open_link(await _link(server, document, name))
    await server.signer.session(signer_id)
    await server.signer.complete(signer_id, Complete(consent=True, signature=Typed(text=name)))


async def _code(server: AsyncDeedbox, document_id: str) -> str | None:
    """The code of the document once it is sealed."""
    for _ in range(limits.DEMO_WAITS):
        document = await server.documents.get(document_id)
        if document.status == "completed":
            return document.verification_code
        await asyncio.sleep(limits.DEMO_WAIT_SECONDS)
    return None


async def _index(server: AsyncDeedbox, papers: SampleFiles) -> str | None:
    """Why the contracts could not be indexed; None if they are, and can be asked."""
    try:
        for paper in papers.to_read.items():
            await server.search.upload_document(paper)
        run = await server.search.build_index()
        while not isinstance(run, Indexed) and run.finished_at is None:
            await asyncio.sleep(limits.DEMO_WAIT_SECONDS)
            run = await server.search.get_run(run.id)
    except ApiError as error:
        return error.message
    return None
