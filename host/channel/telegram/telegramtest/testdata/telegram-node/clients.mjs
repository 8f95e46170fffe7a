// Two well-known clients of the Bot API, grammy and node-telegram-bot-api, against the
// server whose address and token are the arguments. It writes what it saw as one line of
// JSON.
import { createRequire } from 'node:module'

const [modules, root, token, chatText] = process.argv.slice(2)
const require = createRequire(modules + '/')
const { Api, InputFile, InputMediaBuilder } = require('grammy')
const TelegramBot = require('node-telegram-bot-api')

const chat = Number(chatText)
const api = new Api(token, { apiRoot: root })
const me = await api.getMe()
const text = await api.sendMessage(chat, 'here', { message_thread_id: 7, entities: [{ type: 'bold', offset: 0, length: 4 }], link_preview_options: { is_disabled: true } })
const file = await api.sendDocument(chat, new InputFile(Buffer.from('first'), 'a.txt'), { caption: 'the first', reply_parameters: { message_id: text.message_id } })
await api.sendDocument(chat, file.document.file_id)
const album = await api.sendMediaGroup(chat, [
  InputMediaBuilder.document(new InputFile(Buffer.from('first'), 'a.txt'), { caption: 'both' }),
  InputMediaBuilder.document(new InputFile(Buffer.from('second'), 'b.bin')),
])
const poll = await api.sendPoll(chat, 'which?', [{ text: 'a' }, { text: 'b' }], { is_anonymous: false })
await api.stopPoll(chat, poll.message_id)
await api.editMessageText(chat, text.message_id, 'there')
await api.setMessageReaction(chat, text.message_id, [{ type: 'emoji', emoji: '👍' }])
const [update] = await api.getUpdates({ offset: 0, timeout: 1, allowed_updates: ['message'] })
const { file_path } = await api.getFile(update.message.document.file_id)
const content = await (await fetch(`${root}/file/bot${token}/${file_path}`)).text()
await api.deleteMessages(chat, album.map((m) => m.message_id))
let refused = ''
try {
  await api.sendMessage(chat - 1, 'nowhere')
} catch (error) {
  refused = error.description
}

const other = new TelegramBot(token, { baseApiUrl: root })
const sent = await other.sendDocument(chat, Buffer.from('third'), { caption: 'by another' }, { filename: 'c.bin', contentType: 'application/octet-stream' })
await other.deleteMessage(chat, sent.message_id)
let strict = ''
try {
  await other.sendMessage(chat, 'x', { nothing_like_this: 1 })
} catch (error) {
  strict = error.response.body.description
}
console.log(JSON.stringify({ name: me.username, text: text.message_id, album: album.length, content, refused, sent: sent.message_id, strict }))
process.exit(0)
