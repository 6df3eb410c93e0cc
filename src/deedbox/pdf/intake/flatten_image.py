"""An image without what a sheet of paper does not have."""

from PIL import Image


def flat(image: Image.Image) -> Image.Image:
    """On white paper, in a mode that a PDF knows."""
    if image.mode in ("1", "L", "RGB"):
        return image
    if image.mode.startswith("I"):  # 16 bits for each grey
        return image.convert("I").point(lambda grey: grey / 257).convert("L")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        clear = image.convert("RGBA")
        paper = Image.new("RGB", clear.size, "white")
        paper.paste(clear, mask=clear.getchannel("A"))
        return paper
    return image.convert("RGB")
