// Verifies deliveries as the seed's rules say, on Node's own modules. Input: a JSON list of {secret, body_base64,
// headers}; output: a JSON list of true and false.
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";

const same = (one, other) => one.length === other.length && timingSafeEqual(one, other);

function service({ secret, headers }, body) {
  const stamp = headers["x-service-timestamp"];
  const mac = createHmac("sha256", secret);
  if (stamp !== undefined) mac.update(`${stamp}.`);
  const expected = `sha256=${mac.update(body).digest("hex")}`;
  return same(Buffer.from(headers["x-service-signature"] ?? ""), Buffer.from(expected));
}

function standard({ secret, headers }, body) {
  if (headers["webhook-signature"] === undefined) return headers["x-service-timestamp"] === undefined;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`);
  const expected = Buffer.from(`v1,${mac.update(body).digest("base64")}`);
  return headers["webhook-signature"].split(" ").some((one) => same(Buffer.from(one), expected));
}

const judged = JSON.parse(readFileSync(0, "utf8")).map((delivery) => {
  const body = Buffer.from(delivery.body_base64, "base64");
  return service(delivery, body) && standard(delivery, body);
});
process.stdout.write(JSON.stringify(judged));
