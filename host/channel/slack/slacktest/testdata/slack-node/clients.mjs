// Slack's own clients for Node, which a test moves.
//
//	node clients.mjs <node_modules> <address of the API> <bot's token> <app's token>
//
// A line on its input is a call, {call, method, args}, and a line of its output is
// what came of it: {call, answer} or {call, error}. The method "listen" connects
// Socket Mode; every event that comes is acknowledged and printed as {event, attempt}.
// A file of files.uploadV2 has its bytes in base64.
import readline from 'node:readline'
import { createRequire } from 'node:module'

const [modules, url, bot, app] = process.argv.slice(2)
const require = createRequire(modules + '/')
const { WebClient } = require('@slack/web-api')
const { SocketModeClient } = require('@slack/socket-mode')
const quiet = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, getLevel() {}, setName() {} }
const options = { slackApiUrl: url, retryConfig: { retries: 0 }, logger: quiet }
const web = new WebClient(bot, options)
const tell = line => console.log(JSON.stringify(line))

async function listen() {
  const socket = new SocketModeClient({ appToken: app, logger: quiet, clientOptions: { slackApiUrl: url, logger: quiet } })
  socket.on('slack_event', async ({ ack, body, retry_num }) => {
    await ack()
    tell({ event: body, attempt: retry_num ?? 0 })
  })
  await socket.start()
  return { ok: true }
}

async function call(method, args) {
  if (method === 'listen') return listen()
  for (const file of args.file_uploads ?? []) file.file = Buffer.from(file.file, 'base64')
  if (method === 'files.uploadV2') return web.filesUploadV2(args)
  return web.apiCall(method, args)
}

readline.createInterface({ input: process.stdin }).on('line', async line => {
  const { call: id, method, args } = JSON.parse(line)
  try {
    tell({ call: id, answer: await call(method, args ?? {}) })
  } catch (error) {
    tell({ call: id, error: error.data?.error ?? String(error) })
  }
}).on('close', () => process.exit(0))
