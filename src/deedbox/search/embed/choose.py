"""Which embedding model the settings ask for."""

from deedbox.kernel.egress import Egress
from deedbox.kernel.settings import Settings
from deedbox.search.embed import Embedder, models
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.recipe import vectors_of


def open_embedder(settings: Settings, egress: Egress) -> Embedder | None:
    """The endpoint that the settings name, or else the installed model in use; None if there is neither."""
    size, overlap = settings.chunk_size, settings.chunk_overlap
    if settings.embedding_url is not None and settings.embedding_model is not None:
        from deedbox.search.embed.remote import RemoteEmbedder, RemoteModel

        endpoint = RemoteModel(settings.embedding_url, settings.embedding_model, settings.embedding_key)
        return RemoteEmbedder(egress, endpoint, settings.models, size=size, overlap=overlap)
    model = models.current(settings.models)
    return LocalEmbedder(settings.models, model, size=size, overlap=overlap) if model else None


def open_former(settings: Settings, egress: Egress, recipe: str) -> Embedder | None:
    """A model whose vectors can be compared with those of the recipe; None if it is neither chosen nor installed."""
    size, overlap = settings.chunk_size, settings.chunk_overlap
    candidates = [open_embedder(settings, egress)]
    candidates += [
        LocalEmbedder(settings.models, model, size=size, overlap=overlap) for model in models.installed(settings.models)
    ]
    wanted = vectors_of(recipe)
    return next((one for one in candidates if one is not None and vectors_of(one.recipe) == wanted), None)
