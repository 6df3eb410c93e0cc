"""Failures of an object store, as errors of this product."""

from collections.abc import Iterator
from contextlib import contextmanager

from deedbox.kernel.errors import ErrorCode, NotFound, ServiceError, SetupError, Unavailable

_MISSING = {"NoSuchKey", "NoSuchVersion", "NotFound", "404"}
_FULL = {
    "InsufficientCapacity",
    "InsufficientStorage",
    "QuotaExceeded",
    "StorageFull",
    "XMinioAdminBucketQuotaExceeded",
    "XMinioStorageFull",
    "507",
}
_KEYS = "Check DEEDBOX_S3_ACCESS_KEY and DEEDBOX_S3_SECRET_KEY, or what boto3 finds without them."
_RIGHTS = (
    "Give the key the rights to list the bucket and to get, put and delete its objects, and check that the bucket "
    "is the right one."
)
_REGION = "Check DEEDBOX_S3_REGION and DEEDBOX_S3_ENDPOINT."
_REFUSALS = {
    "NoSuchBucket": ("the bucket does not exist", "Make the bucket, or correct the address."),
    "InvalidBucketName": ("the bucket has no valid name", "Correct the address."),
    "AccessDenied": ("access is denied", _RIGHTS),
    "AllAccessDisabled": ("access is denied", _RIGHTS),
    "403": ("access is denied", _RIGHTS),
    "InvalidAccessKeyId": ("the access key is unknown", _KEYS),
    "SignatureDoesNotMatch": ("the secret key is wrong", _KEYS),
    "ExpiredToken": ("the credentials have expired", _KEYS),
    "InvalidToken": ("the credentials are not valid", _KEYS),
    "RequestTimeTooSkewed": ("this machine's clock is wrong", "Switch on time synchronisation."),
    "PermanentRedirect": ("the bucket lies in another region", _REGION),
    "AuthorizationHeaderMalformed": ("the bucket lies in another region", _REGION),
    "IllegalLocationConstraintException": ("the bucket lies in another region", _REGION),
    "301": ("the bucket lies in another region", _REGION),
}


class StoreRefused(Unavailable):
    """The store answers, but not us, and will not until someone changes the settings, the rights or the bucket."""

    code = ErrorCode.STORAGE_UNAVAILABLE

    def __init__(self, where: str, reason: str, next_step: str) -> None:
        super().__init__(f"The store for files refuses this server: {reason}. Nothing was changed.")
        self.setup = SetupError(f"Files cannot be stored at {where}: {reason}.", next_step)


class Denied(StoreRefused):
    """The key has no right to what was asked for."""


class Rejected(Unavailable):
    """The store said no to this one request, for the reason in `answer`."""

    code = ErrorCode.STORAGE_UNAVAILABLE

    def __init__(self, answer: str) -> None:
        super().__init__(f"The store for files did not accept this ({answer}). Nothing was changed; try again.")
        self.answer = answer


@contextmanager
def translate_failures(where: str) -> Iterator[None]:
    """Requests to the store at `where`: whatever goes wrong with one is raised as an error of ours."""
    from botocore.exceptions import BotoCoreError, ClientError
    from urllib3.exceptions import HTTPError

    try:
        yield
    except ClientError as error:
        raise _judged(where, error.response.get("Error", {}).get("Code", ""), _status(error)) from error
    except (BotoCoreError, HTTPError) as error:  # the latter from the middle of a body
        raise _unheard(where, error) from error


def _status(error: Exception) -> int:
    response = getattr(error, "response", {})
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _judged(where: str, answer: str, status: int) -> ServiceError:
    if answer in _MISSING:
        return NotFound("The file is no longer stored.")
    if answer in _FULL or status == 507:
        return Unavailable(
            "The store for files is full. Nothing was changed; free some space in it and try again.",
            code=ErrorCode.STORAGE_FULL,
        )
    if answer in _REFUSALS:
        reason, next_step = _REFUSALS[answer]
        return (Denied if next_step is _RIGHTS else StoreRefused)(where, reason, next_step)
    if (status >= 500 and status != 501) or answer in ("SlowDown", "RequestTimeout", "Throttling", "TooManyRequests"):
        return _away(answer or str(status))
    return Rejected(answer or str(status))


def _unheard(where: str, error: Exception) -> ServiceError:
    from botocore.exceptions import CredentialRetrievalError, NoCredentialsError, PartialCredentialsError

    if isinstance(error, (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)):
        return StoreRefused(where, "there are no credentials", _KEYS)
    return _away(type(error).__name__)


def _away(reason: str) -> Unavailable:
    return Unavailable(
        f"The store for files does not answer as it should ({reason}). Nothing was changed; try again shortly.",
        code=ErrorCode.STORAGE_UNAVAILABLE,
    )
