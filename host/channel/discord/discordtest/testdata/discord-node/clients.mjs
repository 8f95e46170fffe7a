// Discord's best-known clients, discord.js, against the API and the gateway whose
// addresses and token are the arguments. It writes what it saw as one line of JSON.
import { createRequire } from 'node:module'

const [modules, api, token, channel] = process.argv.slice(2)
const require = createRequire(modules + '/')
const { REST } = require('@discordjs/rest')
const { WebSocketManager, WebSocketShardEvents } = require('@discordjs/ws')

const rest = new REST({ api, version: '10', retries: 0 }).setToken(token)
const manager = new WebSocketManager({ token, intents: 1 | (1 << 9) | (1 << 15), rest, fetchGatewayInformation: () => rest.get('/gateway/bot') })
const seen = []
let pressed
const press = new Promise((resolve) => { pressed = resolve })
const heard = new Promise((resolve) => {
  manager.on(WebSocketShardEvents.Dispatch, (first, id) => {
    const event = first.data ?? first
    seen.push(event.t)
    if (event.t === 'INTERACTION_CREATE') pressed(event.d)
    if (event.t === 'MESSAGE_CREATE' && event.d.attachments.length === 2) resolve(event.d)
  })
})
await manager.connect()

const body = {
  content: 'here', nonce: '0123456789abcdef01234567', enforce_nonce: true, allowed_mentions: { parse: [] },
  attachments: [{ id: 0, filename: 'a.txt', description: 'the first' }, { id: 1, filename: 'b.bin' }],
}
const files = [{ name: 'a.txt', data: Buffer.from('first') }, { name: 'b.bin', data: Buffer.from('second') }]
const path = `/channels/${channel}/messages`
const one = await rest.post(path, { body, files })
const two = await rest.post(path, { body, files })
const event = await heard
await rest.put(`${path}/${one.id}/reactions/${encodeURIComponent('👍')}/@me`)
const edited = await rest.patch(`${path}/${one.id}`, { body: { content: 'there' } })
const page = await rest.get(path, { query: new URLSearchParams({ after: '1', limit: '100' }) })
await rest.delete(`${path}/${one.id}`)
let refused = 0
try {
  await rest.get(`${path}/${one.id}`)
} catch (error) {
  refused = error.code
}
const command = { name: 'status', description: 'Say who answers', type: 1 }
await rest.post(`/applications/1003/commands`, { body: command })
const commands = await rest.get(`/applications/1003/commands`)
const rows = [{ type: 1, components: [{ type: 2, style: 2, label: 'Yes', custom_id: 'yes' }, { type: 2, style: 2, label: 'No', custom_id: 'no' }] }]
await rest.post(path, { body: { content: 'Shall we?', allowed_mentions: { parse: [] }, components: rows } })
const act = await press
await rest.post(`/interactions/${act.id}/${act.token}/callback`, { body: { type: 6 }, auth: false })
console.log(JSON.stringify({ one: one.id, two: two.id, event: event.id, edited: edited.content, page: page.length, refused, seen, commands: commands.map((c) => c.name), button: act.data.custom_id, by: act.member.user.id }))
await manager.destroy()
process.exit(0)
