// discord.js as a bot: it hears messages by the gateway, and writes what it takes each
// for as a line of JSON, until it hears one whose text is "end".
import { createRequire } from 'node:module'

const [modules, api, token] = process.argv.slice(2)
const require = createRequire(modules + '/')
const { Client, Events } = require('discord.js')

const client = new Client({ intents: 1 | (1 << 9) | (1 << 12) | (1 << 15), rest: { api } })
const name = (file) => {
  const extension = /\.[^.]*$/.exec(file.name)?.[0] ?? ''
  const name = file.title ?? file.name
  return name.toLowerCase().endsWith(extension.toLowerCase()) ? name : name + extension
}
const shown = (m) => ({
  content: m.content ?? '', system: m.system ?? false, files: [...m.attachments.values()].map(name),
  stickers: [...m.stickers.values()].map((s) => ({ name: s.name, url: s.url })),
  snapshots: [...(m.messageSnapshots?.values() ?? [])].map(shown),
  poll: m.poll ? [m.poll.question.text, ...m.poll.answers.map((a) => a.text)] : null,
})
client.on(Events.MessageCreate, (m) => {
  console.log(JSON.stringify({ id: m.id, robot: m.author.bot || m.author.system || m.webhookId !== null, ...shown(m) }))
  if (m.content === 'end') client.destroy().then(() => process.exit(0))
})
client.on(Events.ClientReady, () => console.log(JSON.stringify({ ready: client.user.id })))
await client.login(token)
