"""Passkeys (WebAuthn): a second way to sign in, beside the password."""
