# A webhook receiver. It runs as a Rack application on any server; here on WEBrick (gem install webrick):
# WEBHOOK_SECRET=whsec_… ruby receiver.rb 9000
require "json"
require "openssl"
require "time"

SECRET = ENV.fetch("WEBHOOK_SECRET", "").freeze
abort "WEBHOOK_SECRET is not set: anybody could sign with an empty secret" if SECRET.empty?
TOLERANCE = 300 # seconds
# The last two are sent during a rotation of the secret: one of the three matches the secret that you have.
SIGNATURES = %w[X-Service-Signature X-Service-Signature-Next X-Service-Signature-Previous].freeze

def valid?(signatures, timestamp, body)
  signed = body
  if timestamp
    return false unless timestamp.match?(/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\z/)
    return false if (Time.now - Time.iso8601(timestamp)).abs > TOLERANCE
    signed = "#{timestamp}.".b + body
  end
  expected = "sha256=#{OpenSSL::HMAC.hexdigest("SHA256", SECRET, signed)}"
  signatures.compact.any? do |signature|
    signature.bytesize == expected.bytesize && OpenSSL.fixed_length_secure_compare(signature, expected)
  end
rescue ArgumentError # a timestamp such as 2026-13-01T00:00:00Z
  false
end

# The block returns a header by its name.
def receive(body)
  body = body.b # the signature covers these raw bytes, not the parsed content
  signatures = SIGNATURES.map { |name| yield name }
  return 401 unless valid?(signatures, yield("X-Service-Timestamp"), body)
  event = JSON.parse(body.force_encoding("UTF-8"))
  warn "#{event["type"]} #{event["id"]}" # an id seen before means the same event again
  204
rescue JSON::ParserError
  400
end

# In a config.ru: run APPLICATION
APPLICATION = lambda do |env|
  [receive(env["rack.input"].read) { |name| env["HTTP_#{name.upcase.tr("-", "_")}"] }, {}, []]
end

if $PROGRAM_NAME == __FILE__
  require "webrick"
  server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ARGV[0].to_i, AccessLog: [])
  server.mount_proc("/") do |request, response|
    response.status = receive(request.body.to_s) { |name| request[name] }
  end
  server.start
end
