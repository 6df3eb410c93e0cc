// A webhook receiver on Node's own modules: WEBHOOK_SECRET=whsec_… node receiver.mjs 9000
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = process.env.WEBHOOK_SECRET;
if (!secret) {
  console.error("WEBHOOK_SECRET is not set: anybody could sign with an empty secret");
  process.exit(1);
}
const tolerance = 300; // seconds
// The last two are sent during a rotation of the secret: one of the three matches the secret that you have.
const names = ["x-service-signature", "x-service-signature-next", "x-service-signature-previous"];

function isValid(headers, body) {
  const timestamp = headers["x-service-timestamp"];
  const mac = createHmac("sha256", secret);
  if (timestamp !== undefined) {
    const age = Math.abs(Date.now() - Date.parse(timestamp)) / 1000;
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(timestamp) || !(age <= tolerance)) return false;
    mac.update(`${timestamp}.`);
  }
  const expected = Buffer.from(`sha256=${mac.update(body).digest("hex")}`);
  return names.some((name) => {
    const given = Buffer.from(headers[name] ?? "");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks); // the signature covers these raw bytes, not the parsed content
  try {
    if (!isValid(request.headers, body)) {
      response.writeHead(401).end();
      return;
    }
    const event = JSON.parse(body);
    console.log(event.type, event.id); // an id seen before means the same event again
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(Number(process.argv[2]), "127.0.0.1");
