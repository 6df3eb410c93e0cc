// A webhook receiver on Node's own modules: WEBHOOK_SECRET=whsec_… node receiver.mjs 9000
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = process.env.WEBHOOK_SECRET;
const tolerance = 300; // seconds

function isValid(signature, timestamp, body) {
  const mac = createHmac("sha256", secret);
  if (timestamp !== undefined) {
    const age = Math.abs(Date.now() - Date.parse(timestamp)) / 1000;
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(timestamp) || !(age <= tolerance)) return false;
    mac.update(`${timestamp}.`);
  }
  const expected = Buffer.from(`sha256=${mac.update(body).digest("hex")}`);
  const given = Buffer.from(signature ?? "");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks); // these bytes are signed, not what they parse to
  const headers = request.headers;
  try {
    if (!isValid(headers["x-service-signature"], headers["x-service-timestamp"], body)) {
      response.writeHead(401).end();
      return;
    }
    const event = JSON.parse(body);
    console.log(event.type, event.id); // an id seen before is the same event once more
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(Number(process.argv[2]), "127.0.0.1");
