// What discord-api-types knows of what comes in, as JSON. The argument is the directory
// of the installed packages.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const [modules] = process.argv.slice(2)
const require = createRequire(modules + '/')
const types = require('discord-api-types/v10')
const root = dirname(require.resolve('discord-api-types/v10'))
const read = (path) => readFileSync(join(root, path), 'utf8').replace(/\/\*\*[^]*?\*\//g, '')
const message = read('payloads/v10/message.d.ts')
const gateway = read('gateway/v10.d.ts')

// fields are the names in an interface.
const fields = (text, name) => {
  const body = new RegExp(`export interface ${name}[ <][^{]*{([^]*?)\n}`).exec(text)
  if (!body) throw new Error(`there is no interface ${name}`)
  return [...body[1].matchAll(/^ {4}(\w+)\??:/gm)].map((m) => m[1])
}
const values = (object) => Object.fromEntries(Object.entries(object).filter(([name]) => isNaN(name)))
const snapshot = /type APIMessageSnapshotFields = Pick<APIMessage, ([^>]*)>/.exec(message)[1].match(/\w+/g)
const all = (...lists) => [...new Set(lists.flat())].sort()

console.log(JSON.stringify({
  messageTypes: values(types.MessageType),
  messageFields: all(fields(message, 'APIBaseMessageNoChannel'), fields(message, 'APIBaseMessage'), fields(message, 'APIMessageMentions'), fields(gateway, 'GatewayMessageEventExtraFields')),
  snapshotFields: all(snapshot),
  attachmentFields: all(fields(message, 'APIAttachment')),
  embedFields: all(fields(message, 'APIEmbed')),
  pollFields: all(fields(read('payloads/v10/poll.d.ts'), 'APIPoll'), fields(read('payloads/v10/poll.d.ts'), 'APIBasePoll'), fields(read('payloads/v10/poll.d.ts'), 'APIPollDefaults')),
  componentTypes: values(types.ComponentType),
  stickerFormats: values(types.StickerFormatType),
  referenceTypes: values(types.MessageReferenceType),
  events: Object.values(types.GatewayDispatchEvents).sort(),
}, null, 1))
