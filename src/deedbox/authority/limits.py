"""Bounds of `deedbox.authority`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import KB

# certificates, time-stamps and seals
TSA_ANSWER_BYTES = 64 * KB
TSA_SECONDS = 10
PKCS12_BYTES = 64 * KB
PKCS12_CERTIFICATES = 8
PKCS11_SECONDS = 20
"""For one use of a token, waiting for its turn included."""
