<?php
// A webhook receiver: WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:9000 receiver.php

const TOLERANCE = 300; // seconds
// The last two are sent during a rotation of the secret: one of the three matches the secret that you have.
const SIGNATURES = ['X_SERVICE_SIGNATURE', 'X_SERVICE_SIGNATURE_NEXT', 'X_SERVICE_SIGNATURE_PREVIOUS'];

function is_valid(array $headers, string $body): bool
{
    $signed = $body;
    $timestamp = $headers['HTTP_X_SERVICE_TIMESTAMP'] ?? null;
    if ($timestamp !== null) {
        $shape = preg_match('/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\z/', $timestamp);
        if (!$shape || abs(time() - (int) strtotime($timestamp)) > TOLERANCE) {
            return false;
        }
        $signed = "$timestamp.$body";
    }
    $expected = 'sha256=' . hash_hmac('sha256', $signed, getenv('WEBHOOK_SECRET'));
    foreach (SIGNATURES as $name) {
        // hash_equals runs in constant time and rejects a different length.
        if (hash_equals($expected, $headers["HTTP_$name"] ?? '')) {
            return true;
        }
    }
    return false;
}

if ((string) getenv('WEBHOOK_SECRET') === '') {
    error_log('WEBHOOK_SECRET is not set: anybody could sign with an empty secret');
    http_response_code(500);
    exit;
}
$body = file_get_contents('php://input'); // the signature covers these raw bytes, not the parsed content
if (!is_valid($_SERVER, $body)) {
    http_response_code(401);
    exit;
}
$event = json_decode($body, true);
if ($event === null) {
    http_response_code(400);
    exit;
}
error_log("{$event['type']} {$event['id']}"); // an id seen before means the same event again
http_response_code(204);
