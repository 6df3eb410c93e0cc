# Written by scripts/client.py from the OpenAPI document: change it there.
"""Webhooks, their deliveries, and the events that they tell of."""

from collections.abc import AsyncIterator, Iterator
from typing import Literal, TypedDict, Unpack

from deedbox.client.call import Call, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.records.hooks import (
    Catalogue,
    Delivery,
    DeliveryDetail,
    DeliveryPage,
    Event,
    EventKind,
    EventPage,
    Hook,
    HookPage,
    MadeHook,
    Recovery,
    RotatedHook,
)
from deedbox.client.requests.hooks import HookChange, HookRecovery, HookRotation, HookTest, NewHook


class ListHooksQuery(TypedDict, total=False):
    """What `list_hooks` can be asked for."""

    limit: int
    """How many to show at most."""


class ListAllDeliveriesQuery(TypedDict, total=False):
    """What `list_all_deliveries` can be asked for."""

    limit: int
    """How many to show at most."""
    status: (
        Literal["delivered", "failed", "pending", "sending"]
        | list[Literal["delivered", "failed", "pending", "sending"]]
    )
    """Deliveries of this status; of several, if repeated."""


class ListDeliveriesQuery(TypedDict, total=False):
    """What `list_deliveries` can be asked for."""

    limit: int
    """How many to show at most."""
    status: (
        Literal["delivered", "failed", "pending", "sending"]
        | list[Literal["delivered", "failed", "pending", "sending"]]
    )
    """Deliveries of this status; of several, if repeated."""


class EventCatalogueQuery(TypedDict, total=False):
    """What `event_catalogue` can be asked for."""

    limit: int
    """How many to show at most."""


class ListEventsQuery(TypedDict, total=False):
    """What `list_events` can be asked for."""

    limit: int
    """How many to show at most."""
    after: str
    """The id of the last event that you know: those after it are shown, now or when they happen."""
    type: (
        Literal[
            "document.sent",
            "document.signed",
            "document.approved",
            "document.completed",
            "document.declined",
            "document.voided",
            "document.expired",
            "document.failed",
            "party.completed",
            "packet.sent",
            "packet.completed",
            "packet.declined",
            "bulk_send.completed",
        ]
        | list[
            Literal[
                "document.sent",
                "document.signed",
                "document.approved",
                "document.completed",
                "document.declined",
                "document.voided",
                "document.expired",
                "document.failed",
                "party.completed",
                "packet.sent",
                "packet.completed",
                "packet.declined",
                "bulk_send.completed",
            ]
        ]
    )
    """Only events of this kind; of several, if repeated."""


class HooksCalls:
    """Webhooks, their deliveries, and the events that they tell of."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListHooksQuery]) -> Iterator[Hook]:
        """List webhooks, newest first."""
        return self._connection.pages(Call("GET", "/api/v1/hooks", query=query), HookPage, lambda page: page.hooks)

    def create(self, body: NewHook, *, idempotency_key: str | None = None) -> MadeHook | Hook:
        """Subscribe a webhook; its deliveries are timestamped."""
        return self._connection.either(
            Call("POST", "/api/v1/hooks", headers=once(idempotency_key), body=body), MadeHook, Hook
        )

    def get(self, hook_id: str) -> Hook:
        """One webhook."""
        return self._connection.answer(Call("GET", f"/api/v1/hooks/{part(hook_id)}"), Hook)

    def delete(self, hook_id: str) -> None:
        """Unsubscribe a webhook."""
        self._connection.done(Call("DELETE", f"/api/v1/hooks/{part(hook_id)}"))

    def change(self, hook_id: str, body: HookChange) -> Hook:
        """Change a webhook's target, events or description."""
        return self._connection.answer(Call("PATCH", f"/api/v1/hooks/{part(hook_id)}", body=body), Hook)

    def test(self, hook_id: str, body: HookTest | None = None, *, idempotency_key: str | None = None) -> Delivery:
        """Send a webhook the sample of an event."""
        return self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/test", headers=once(idempotency_key), body=body), Delivery
        )

    def rotate(
        self, hook_id: str, body: HookRotation | None = None, *, idempotency_key: str | None = None
    ) -> RotatedHook:
        """Give a webhook a new secret."""
        return self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/rotate", headers=once(idempotency_key), body=body), RotatedHook
        )

    def pause(self, hook_id: str, *, idempotency_key: str | None = None) -> Hook:
        """Hold a webhook's deliveries back."""
        return self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/pause", headers=once(idempotency_key)), Hook
        )

    def resume(self, hook_id: str, *, idempotency_key: str | None = None) -> Hook:
        """Send to a webhook again that was paused or disabled."""
        return self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/resume", headers=once(idempotency_key)), Hook
        )

    def recover(self, hook_id: str, body: HookRecovery, *, idempotency_key: str | None = None) -> Recovery:
        """Send a webhook again what never reached it since a time."""
        return self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/recover", headers=once(idempotency_key), body=body), Recovery
        )

    def list_all_deliveries(self, **query: Unpack[ListAllDeliveriesQuery]) -> Iterator[Delivery]:
        """The deliveries to all webhooks, newest first."""
        return self._connection.pages(
            Call("GET", "/api/v1/deliveries", query=query), DeliveryPage, lambda page: page.deliveries
        )

    def list_deliveries(self, hook_id: str, **query: Unpack[ListDeliveriesQuery]) -> Iterator[Delivery]:
        """A webhook's deliveries, newest first."""
        return self._connection.pages(
            Call("GET", f"/api/v1/hooks/{part(hook_id)}/deliveries", query=query),
            DeliveryPage,
            lambda page: page.deliveries,
        )

    def get_delivery(self, delivery_id: str) -> DeliveryDetail:
        """One delivery, with each attempt's request and response."""
        return self._connection.answer(Call("GET", f"/api/v1/deliveries/{part(delivery_id)}"), DeliveryDetail)

    def redeliver(self, delivery_id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Send the same event and bytes once more."""
        return self._connection.answer(
            Call("POST", f"/api/v1/deliveries/{part(delivery_id)}/redeliver", headers=once(idempotency_key)), Delivery
        )

    def event_catalogue(self, **query: Unpack[EventCatalogueQuery]) -> Iterator[EventKind]:
        """Every kind of event, with a sample."""
        return self._connection.pages(
            Call("GET", "/api/v1/hooks/events", query=query), Catalogue, lambda page: page.events
        )

    def list_events(self, **query: Unpack[ListEventsQuery]) -> Iterator[Event]:
        """The events that happened, oldest first."""
        return self._connection.pages(Call("GET", "/api/v1/events", query=query), EventPage, lambda page: page.events)


class AsyncHooksCalls:
    """Webhooks, their deliveries, and the events that they tell of."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListHooksQuery]) -> AsyncIterator[Hook]:
        """List webhooks, newest first."""
        return self._connection.pages(Call("GET", "/api/v1/hooks", query=query), HookPage, lambda page: page.hooks)

    async def create(self, body: NewHook, *, idempotency_key: str | None = None) -> MadeHook | Hook:
        """Subscribe a webhook; its deliveries are timestamped."""
        return await self._connection.either(
            Call("POST", "/api/v1/hooks", headers=once(idempotency_key), body=body), MadeHook, Hook
        )

    async def get(self, hook_id: str) -> Hook:
        """One webhook."""
        return await self._connection.answer(Call("GET", f"/api/v1/hooks/{part(hook_id)}"), Hook)

    async def delete(self, hook_id: str) -> None:
        """Unsubscribe a webhook."""
        await self._connection.done(Call("DELETE", f"/api/v1/hooks/{part(hook_id)}"))

    async def change(self, hook_id: str, body: HookChange) -> Hook:
        """Change a webhook's target, events or description."""
        return await self._connection.answer(Call("PATCH", f"/api/v1/hooks/{part(hook_id)}", body=body), Hook)

    async def test(self, hook_id: str, body: HookTest | None = None, *, idempotency_key: str | None = None) -> Delivery:
        """Send a webhook the sample of an event."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/test", headers=once(idempotency_key), body=body), Delivery
        )

    async def rotate(
        self, hook_id: str, body: HookRotation | None = None, *, idempotency_key: str | None = None
    ) -> RotatedHook:
        """Give a webhook a new secret."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/rotate", headers=once(idempotency_key), body=body), RotatedHook
        )

    async def pause(self, hook_id: str, *, idempotency_key: str | None = None) -> Hook:
        """Hold a webhook's deliveries back."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/pause", headers=once(idempotency_key)), Hook
        )

    async def resume(self, hook_id: str, *, idempotency_key: str | None = None) -> Hook:
        """Send to a webhook again that was paused or disabled."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/resume", headers=once(idempotency_key)), Hook
        )

    async def recover(self, hook_id: str, body: HookRecovery, *, idempotency_key: str | None = None) -> Recovery:
        """Send a webhook again what never reached it since a time."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/hooks/{part(hook_id)}/recover", headers=once(idempotency_key), body=body), Recovery
        )

    def list_all_deliveries(self, **query: Unpack[ListAllDeliveriesQuery]) -> AsyncIterator[Delivery]:
        """The deliveries to all webhooks, newest first."""
        return self._connection.pages(
            Call("GET", "/api/v1/deliveries", query=query), DeliveryPage, lambda page: page.deliveries
        )

    def list_deliveries(self, hook_id: str, **query: Unpack[ListDeliveriesQuery]) -> AsyncIterator[Delivery]:
        """A webhook's deliveries, newest first."""
        return self._connection.pages(
            Call("GET", f"/api/v1/hooks/{part(hook_id)}/deliveries", query=query),
            DeliveryPage,
            lambda page: page.deliveries,
        )

    async def get_delivery(self, delivery_id: str) -> DeliveryDetail:
        """One delivery, with each attempt's request and response."""
        return await self._connection.answer(Call("GET", f"/api/v1/deliveries/{part(delivery_id)}"), DeliveryDetail)

    async def redeliver(self, delivery_id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Send the same event and bytes once more."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/deliveries/{part(delivery_id)}/redeliver", headers=once(idempotency_key)), Delivery
        )

    def event_catalogue(self, **query: Unpack[EventCatalogueQuery]) -> AsyncIterator[EventKind]:
        """Every kind of event, with a sample."""
        return self._connection.pages(
            Call("GET", "/api/v1/hooks/events", query=query), Catalogue, lambda page: page.events
        )

    def list_events(self, **query: Unpack[ListEventsQuery]) -> AsyncIterator[Event]:
        """The events that happened, oldest first."""
        return self._connection.pages(Call("GET", "/api/v1/events", query=query), EventPage, lambda page: page.events)
