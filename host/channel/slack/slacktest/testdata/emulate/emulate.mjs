// The Slack of npm's emulate, which posts its events to an address.
//
//	node emulate.mjs <node_modules> <address that it calls its own> <address for events>
//
// The first line of its input is what it starts with, the seed. It prints
// {port} and ends when its input does. emulate has no way to subscribe to events
// from outside, so the subscription is added while its Slack registers itself.
import net from 'node:net'
import path from 'node:path'
import readline from 'node:readline'
import { pathToFileURL } from 'node:url'

const [modules, baseUrl, url] = process.argv.slice(2)
const part = name => import(pathToFileURL(path.join(modules, 'emulate', 'dist', name)))
const { createEmulator } = await part('api.js')
const { slackPlugin } = await part('dist-6ZQHD4DN.js')
const register = slackPlugin.register
slackPlugin.register = (app, store, webhooks, ...rest) => {
  webhooks.register({ url, events: ['*'], active: true, owner: 'slack' })
  return register(app, store, webhooks, ...rest)
}

// An emulator that calls itself otherwise does not say on which port it listens.
let port
const { listen } = net.Server.prototype
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => { port = this.address().port })
  return listen.apply(this, args)
}

readline.createInterface({ input: process.stdin }).once('line', async line => {
  await createEmulator({ service: 'slack', port: 0, baseUrl, seed: { slack: JSON.parse(line) } })
  console.log(JSON.stringify({ port }))
}).on('close', () => process.exit(0))
