"""Objects in any S3-compatible store. boto3 is loaded with the first request: no one else pays for it."""
