#!/bin/sh
# A webhook receiver as a CGI program: the web server passes headers as HTTP_… variables and the body as input.
# It needs openssl and GNU date. Use it only on your own machine: while openssl runs, other users can see the secret in
# the arguments of the process.
set -eu
export LC_ALL=C
tolerance=300 # seconds

answer() {
    printf 'Status: %s\r\n\r\n' "$1"
    exit 0
}

if [ -z "${WEBHOOK_SECRET:-}" ]; then
    echo 'WEBHOOK_SECRET is not set: anybody could sign with an empty secret' >&2
    answer 500
fi

# mac KEY: the HMAC-SHA256 of the input, in lowercase hexadecimal.
mac() {
    openssl dgst -sha256 -hmac "$1" -r | cut -d ' ' -f 1
}

# A file, because a variable would lose bytes: the signature covers the raw bytes, not the parsed content.
body=$(mktemp)
trap 'rm -f "$body"' EXIT
head -c 1048576 > "$body"

if [ -n "${HTTP_X_SERVICE_TIMESTAMP+given}" ]; then
    case $HTTP_X_SERVICE_TIMESTAMP in
    [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z) ;;
    *) answer 401 ;;
    esac
    sent=$(date -u -d "$HTTP_X_SERVICE_TIMESTAMP" +%s 2> /dev/null) || answer 401
    age=$(($(date +%s) - sent))
    [ "$age" -le "$tolerance" ] && [ "$age" -ge "-$tolerance" ] || answer 401
    expected=sha256=$({ printf %s. "$HTTP_X_SERVICE_TIMESTAMP"; cat "$body"; } | mac "$WEBHOOK_SECRET")
else
    expected=sha256=$(mac "$WEBHOOK_SECRET" < "$body")
fi

# A shell compares byte by byte. Comparing two digests under a random key reveals nothing through its duration.
once=$(openssl rand -hex 32)
hidden=$(printf %s "$expected" | mac "$once")
valid=
# The last two are sent during a rotation of the secret: one of the three matches the secret that you have.
for signature in "${HTTP_X_SERVICE_SIGNATURE:-}" "${HTTP_X_SERVICE_SIGNATURE_NEXT:-}" \
    "${HTTP_X_SERVICE_SIGNATURE_PREVIOUS:-}"; do
    [ "$(printf %s "$signature" | mac "$once")" != "$hidden" ] || valid=yes
done
[ -n "$valid" ] || answer 401

[ "$(head -c 1 "$body")" = '{' ] || answer 400
cat "$body" >&2 # the event, as JSON; an id seen before means the same event again
answer 204
