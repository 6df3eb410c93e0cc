# Written by scripts/client.py from the OpenAPI document: change it there.
"""Files, roles and fields of which documents are made, in versions."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.download import AsyncDownload, Download
from deedbox.client.records.templates import Template, TemplatePage, TemplateVersions
from deedbox.client.requests.templates import NewTemplate, TemplateChange


class ListTemplatesQuery(TypedDict, total=False):
    """What `list_templates` can be asked for."""

    limit: int
    """How many to show at most."""
    q: str
    """Only templates whose name contains this."""


class ShowTemplateQuery(TypedDict, total=False):
    """What `show_template` can be asked for."""

    version: int
    """Which version; the newest unless given."""


class ListTemplateVersionsQuery(TypedDict, total=False):
    """What `list_template_versions` can be asked for."""

    limit: int
    """How many to show at most."""


class TemplatePageImageQuery(TypedDict, total=False):
    """What `template_page_image` can be asked for."""

    width: int
    """Of the picture, in pixels: it is made in the next of the widths 480, 820, 1240, 1860 and 2480."""
    version: int
    """Of which version; of the newest unless given."""


class TemplatesCalls:
    """Files, roles and fields of which documents are made, in versions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListTemplatesQuery]) -> Iterator[Template]:
        """List templates, newest first."""
        return self._connection.pages(
            Call("GET", "/api/v1/templates", query=query), TemplatePage, lambda page: page.templates
        )

    def create(
        self, body: NewTemplate, files: Sequence[FileSource] = (), *, idempotency_key: str | None = None
    ) -> Template:
        """Create a template from files, or from a document.

        Text tags and the fields of a fillable PDF are found. Word and HTML are converted in the background."""
        return self._connection.answer(
            Call(
                "POST",
                "/api/v1/templates",
                headers=once(idempotency_key),
                body=Form([*(("file", each) for each in files)], {"document": body}) if files else body,
            ),
            Template,
        )

    def get(self, template_id: str, **query: Unpack[ShowTemplateQuery]) -> Template:
        """One template."""
        return self._connection.answer(Call("GET", f"/api/v1/templates/{part(template_id)}", query=query), Template)

    def delete(self, template_id: str) -> None:
        """Delete a template; documents made from it live on."""
        self._connection.done(Call("DELETE", f"/api/v1/templates/{part(template_id)}"))

    def change(self, template_id: str, body: TemplateChange) -> Template:
        """Change a template: a new version.

        What was sent keeps its own version. What is given as it is changes nothing, and makes no version."""
        return self._connection.answer(Call("PATCH", f"/api/v1/templates/{part(template_id)}", body=body), Template)

    def list_versions(self, template_id: str, **query: Unpack[ListTemplateVersionsQuery]) -> Iterator[Template]:
        """The versions of a template, newest first."""
        return self._connection.pages(
            Call("GET", f"/api/v1/templates/{part(template_id)}/versions", query=query),
            TemplateVersions,
            lambda page: page.versions,
        )

    def page_image(self, template_id: str, page: str, **query: Unpack[TemplatePageImageQuery]) -> Download:
        """A page as a picture."""
        return self._connection.download(
            Call("GET", f"/api/v1/templates/{part(template_id)}/pages/{part(page)}", query=query)
        )


class AsyncTemplatesCalls:
    """Files, roles and fields of which documents are made, in versions."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListTemplatesQuery]) -> AsyncIterator[Template]:
        """List templates, newest first."""
        return self._connection.pages(
            Call("GET", "/api/v1/templates", query=query), TemplatePage, lambda page: page.templates
        )

    async def create(
        self, body: NewTemplate, files: Sequence[FileSource] = (), *, idempotency_key: str | None = None
    ) -> Template:
        """Create a template from files, or from a document.

        Text tags and the fields of a fillable PDF are found. Word and HTML are converted in the background."""
        return await self._connection.answer(
            Call(
                "POST",
                "/api/v1/templates",
                headers=once(idempotency_key),
                body=Form([*(("file", each) for each in files)], {"document": body}) if files else body,
            ),
            Template,
        )

    async def get(self, template_id: str, **query: Unpack[ShowTemplateQuery]) -> Template:
        """One template."""
        return await self._connection.answer(
            Call("GET", f"/api/v1/templates/{part(template_id)}", query=query), Template
        )

    async def delete(self, template_id: str) -> None:
        """Delete a template; documents made from it live on."""
        await self._connection.done(Call("DELETE", f"/api/v1/templates/{part(template_id)}"))

    async def change(self, template_id: str, body: TemplateChange) -> Template:
        """Change a template: a new version.

        What was sent keeps its own version. What is given as it is changes nothing, and makes no version."""
        return await self._connection.answer(
            Call("PATCH", f"/api/v1/templates/{part(template_id)}", body=body), Template
        )

    def list_versions(self, template_id: str, **query: Unpack[ListTemplateVersionsQuery]) -> AsyncIterator[Template]:
        """The versions of a template, newest first."""
        return self._connection.pages(
            Call("GET", f"/api/v1/templates/{part(template_id)}/versions", query=query),
            TemplateVersions,
            lambda page: page.versions,
        )

    def page_image(self, template_id: str, page: str, **query: Unpack[TemplatePageImageQuery]) -> AsyncDownload:
        """A page as a picture."""
        return self._connection.download(
            Call("GET", f"/api/v1/templates/{part(template_id)}/pages/{part(page)}", query=query)
        )
