"""The models that read scans, PP-OCRv6 tiny: one finds lines of text, the other reads them."""

from pathlib import Path

from deedbox.search.embed.models import OCR

NAME = "PP-OCRv6 tiny"
DETECTION, RECOGNITION = "PP-OCRv6_det_tiny.onnx", "PP-OCRv6_rec_tiny.onnx"
SHA256 = {
    DETECTION: "f42c0fbd294d95eac1a550e131b277dac97462c8025fa4b6c3cec1b7894bd3d5",
    RECOGNITION: "38cd559cb4b24c5056592d981b13e086f9472db9b3c8968296f0d0c2b4a65531",
}
"""By which their files are known."""


def is_present(models: Path) -> bool:
    return all((models / OCR / name).is_file() for name in SHA256)
