// A receiver that is made of npm's standardwebhooks and Node alone.
//
//	node receiver.mjs <node_modules> <secret> <port>
//
// It prints a line of JSON for each post: {event: "message", message, files} with
// the SHA-256 of each file that came, or {event: "refused", error}. A line on its
// input, {to, id, reply}, is a reply to post; {event: "answered", status} comes of
// it. First comes {event: "listening", port}.
import crypto from 'node:crypto'
import http from 'node:http'
import readline from 'node:readline'
import { createRequire } from 'node:module'

const [modules, secret, port] = process.argv.slice(2)
const { Webhook } = createRequire(import.meta.url)(modules + '/standardwebhooks')
const webhook = new Webhook(secret)
const tell = event => console.log(JSON.stringify(event))

async function read(req) {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const type = req.headers['content-type']
  if (!type.startsWith('multipart/form-data')) return { signed: body.toString(), files: [] }
  const form = await new Response(body, { headers: { 'content-type': type } }).formData()
  const signed = await part(form.get('message'))
  const files = []
  for (const [name, file] of form) {
    if (name === 'message') continue
    files.push(crypto.createHash('sha256').update(await bytes(file)).digest('hex'))
  }
  return { signed, files }
}

const part = async value => (typeof value === 'string' ? value : (await bytes(value)).toString())
const bytes = async file => Buffer.from(await file.arrayBuffer())

const server = http.createServer(async (req, res) => {
  try {
    const { signed, files } = await read(req)
    const message = webhook.verify(signed, req.headers)
    const wanted = (message.files ?? []).map(f => f.sha256)
    if (JSON.stringify(files) !== JSON.stringify(wanted)) throw new Error('other files came than were signed')
    res.setHeader('Content-Type', 'application/json')
    res.end(JSON.stringify({ id: 'node-' + message.id.slice(0, 8) }))
    tell({ event: 'message', message, files })
  } catch (error) {
    res.statusCode = 401
    res.end(String(error))
    tell({ event: 'refused', error: String(error) })
  }
})
server.listen(Number(port), '127.0.0.1', () => tell({ event: 'listening', port: server.address().port }))

readline.createInterface({ input: process.stdin }).on('line', async line => {
  const { to, id, reply } = JSON.parse(line)
  const body = JSON.stringify(reply)
  const now = new Date()
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': webhook.sign(id, now, body),
  }
  const res = await fetch(to, { method: 'POST', headers, body })
  tell({ event: 'answered', status: res.status })
}).on('close', () => process.exit(0))
