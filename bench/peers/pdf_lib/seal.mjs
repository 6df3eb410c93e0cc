// Signs one PDF again and again, as products on pdf-lib and @signpdf do, and prints the CPU seconds of each round.
// Usage: node seal.mjs FILE KEY.p12 SIGNED.pdf; then a number on standard input for each round of so many signatures.
import fs from 'node:fs'
import readline from 'node:readline'
import { PDFDocument } from 'pdf-lib'
import placeholder from '@signpdf/placeholder-pdf-lib'
import p12 from '@signpdf/signer-p12'
import signpdf from '@signpdf/signpdf'

const [file, key, signed] = process.argv.slice(2)
const data = fs.readFileSync(file)
const packed = fs.readFileSync(key)
const sign = (signpdf.default ?? signpdf)

async function once () {
  const pdfDoc = await PDFDocument.load(data)
  placeholder.pdflibAddPlaceholder({
    pdfDoc, reason: 'Bench', contactInfo: '', name: 'Bench', location: '', signatureLength: 8192
  })
  // It uses up what it is given: a signer is good for one signature.
  const signer = new p12.P12Signer(packed, { passphrase: 'bench' })
  return sign.sign(Buffer.from(await pdfDoc.save({ useObjectStreams: false })), signer)
}

fs.writeFileSync(signed, await once())
for await (const line of readline.createInterface({ input: process.stdin })) {
  const before = process.cpuUsage()
  for (let number = 0; number < Number(line); number++) await once()
  const spent = process.cpuUsage(before)
  console.log((spent.user + spent.system) / 1e6)
}
