// A member of a chat, made of Baileys. It takes commands and gives events, each
// a JSON object on a line of its own:
//
//   node member.mjs <node_modules/baileys> <port> <root key in hexadecimal>
//
//   {"do":"connect"}                               events qr, open, close
//   {"do":"code","number":"491…"}                  event code: pair by the code instead
//   {"do":"send","chat":…,"kind":…,"path":…,…}     event sent or failed
//   {"do":"forget"}                                loses all sessions and sender keys: event forgot
//
// What arrives is an event message; of one that was there: edited, deleted or reacted. A file in it is fetched, decrypted and
// measured here. The program ends when its input does.
import { createHash, randomBytes } from 'node:crypto'
import dns from 'node:dns'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [library, port, root] = process.argv.slice(2)
const {
	default: connect, aesEncryptGCM, downloadContentFromMessage, generateMessageIDV2, getContentType, hmacSign, initAuthCreds, jidNormalizedUser, normalizeMessageContent,
	proto, WA_CERT_DETAILS
} = await import(pathToFileURL(library + '/lib/index.js').href)

// All traffic goes to the server on loopback: the socket by its address, uploads
// by an agent, downloads by another fetch. No name is ever looked up.
WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root, 'hex')
dns.lookup = name => { throw new Error('looks up ' + name) }
class Loopback extends http.Agent {
	protocol = 'https:'
	createConnection(_, done) { return net.connect({ host: '127.0.0.1', port }, done) }
}
const overNetwork = globalThis.fetch
globalThis.fetch = (url, options) => {
	const { pathname, search } = new URL(url)
	return overNetwork(`http://127.0.0.1:${port}${pathname}${search}`, options)
}

const tell = (event, more = {}) => process.stdout.write(JSON.stringify({ event, ...more }) + '\n')
const complain = level => (...words) => process.stderr.write(level + ' ' + words.map(w => (w instanceof Object ? JSON.stringify(w) : w)).join(' ') + '\n')
const quiet = () => {}
const logger = { level: 'warn', child: () => logger, trace: quiet, debug: quiet, info: quiet, warn: complain('warn'), error: complain('error') }

// The device's keys live in memory: kinds of keys, by id.
const store = new Map()
const kind = type => store.get(type) ?? store.set(type, new Map()).get(type)
const keys = {
	get: async (type, ids) => Object.fromEntries(ids.filter(id => kind(type).has(id)).map(id => [id, kind(type).get(id)])),
	set: async changed => {
		for (const [type, entries] of Object.entries(changed))
			for (const [id, value] of Object.entries(entries)) value ? kind(type).set(id, value) : kind(type).delete(id)
	}
}
const creds = initAuthCreds()
const sent = new Map() // messages by id, for those who ask again
const received = new Map() // messages by id, to quote
let sock, ending = false

function open() {
	sock = connect({
		auth: { creds, keys }, logger, waWebSocketUrl: `ws://127.0.0.1:${port}/ws/chat`, fetchAgent: new Loopback(),
		shouldSyncHistoryMessage: () => false, syncFullHistory: false, getMessage: async key => sent.get(key.id)
	})
	sock.ev.on('creds.update', update => Object.assign(creds, update))
	sock.ev.on('connection.update', ({ qr, connection, lastDisconnect }) => {
		if (qr) tell('qr', { code: qr })
		if (connection === 'open') tell('open', { chat: sock.user.id, from: sock.user.lid })
		if (connection !== 'close' || ending) return
		const status = lastDisconnect?.error?.output?.statusCode ?? 0
		tell('close', { status })
		if (status === 515) open() // paired: log in
	})
	sock.ev.on('messages.update', updates => {
		for (const { key, update } of updates) {
			const edited = normalizeMessageContent(update.message?.editedMessage?.message)
			if (edited) tell('edited', { id: key.id, chat: key.remoteJid, text: edited.conversation || Object.values(edited)[0]?.text || Object.values(edited)[0]?.caption || '' })
			if (update.message === null) tell('deleted', { id: key.id, chat: key.remoteJid })
		}
	})
	sock.ev.on('messages.reaction', reactions => {
		for (const { key, reaction } of reactions) tell('reacted', { id: key.id, chat: key.remoteJid, text: reaction.text ?? '' })
	})
	sock.ev.on('messages.upsert', async ({ messages }) => {
		for (const m of messages) if (!m.key.fromMe && m.message) await show(m)
	})
}

// show gives what an app shows of a message, and what its file is.
async function show(m) {
	const { id, remoteJid: chat, participant: from } = m.key
	received.set(id, m)
	const content = normalizeMessageContent(m.message)
	const type = getContentType(content)
	const part = content[type] ?? {}
	if (['senderKeyDistributionMessage', 'protocolMessage'].includes(type)) return
	const context = part.contextInfo ?? {}
	const shown = {
		id, chat, from: from ?? chat, kind: type.replace('Message', ''),
		text: content.conversation || part.text || part.caption || (part.options && part.name) || '', name: part.fileName ?? '', choices: part.options?.map(o => o.optionName), selectable: part.selectableOptionsCount ?? 0, mime: part.mimetype ?? '',
		width: part.width ?? 0, height: part.height ?? 0, seconds: part.seconds ?? 0, voice: !!part.ptt, gif: !!part.gifPlayback,
		thumbnail: !!part.jpegThumbnail?.length, waveform: part.waveform?.length ?? 0,
		secret: m.message.messageContextInfo?.messageSecret?.length ?? 0,
		pictures: part.expectedImageCount ?? 0, videos: part.expectedVideoCount ?? 0,
		album: m.message.messageContextInfo?.messageAssociation?.parentMessageKey?.id ?? '',
		quoted: context.stanzaId ?? '', quotedFrom: context.participant ?? '',
		quotedSecret: context.quotedMessage?.messageContextInfo?.messageSecret?.length ?? 0
	}
	if (part.mediaKey) {
		try {
			const sum = createHash('sha256')
			for await (const chunk of await downloadContentFromMessage(part, shown.kind)) sum.update(chunk)
			shown.sha256 = sum.digest('hex')
		} catch (error) {
			shown.error = String(error)
		}
	}
	tell('message', shown)
}

// vote chooses in a poll that was received, as the reverse of Baileys' decryptPollVote.
async function vote(chat, about, choices) {
	const poll = received.get(about)
	const creator = jidNormalizedUser(poll.key.participant || poll.key.remoteJid)
	const voter = jidNormalizedUser(creator.endsWith('@lid') ? sock.user.lid : sock.user.id)
	const secret = hmacSign(poll.message.messageContextInfo.messageSecret, new Uint8Array(32))
	const key = hmacSign(Buffer.from(about + creator + voter + 'Poll Vote\x01'), secret)
	const selectedOptions = choices.map(c => createHash('sha256').update(c).digest())
	const encIv = randomBytes(12)
	const encPayload = aesEncryptGCM(proto.Message.PollVoteMessage.encode({ selectedOptions }).finish(), key, encIv, Buffer.from(about + '\0' + voter))
	const message = { pollUpdateMessage: { pollCreationMessageKey: { ...poll.key, fromMe: false }, vote: { encPayload, encIv }, senderTimestampMs: Date.now() } }
	const id = generateMessageIDV2(sock.user.id)
	await sock.relayMessage(chat, message, { messageId: id })
	return { key: { id }, message }
}

async function send({ chat, kind: type, path, name, mime, text, quoted, about, choices, tag }) {
	try {
		if (type === 'vote') {
			const m = await vote(chat, about, choices ?? [])
			sent.set(m.key.id, m.message)
			return tell('sent', { id: m.key.id, tag })
		}
		const file = path && readFileSync(path)
		const key = { remoteJid: chat, fromMe: true, id: about }
		if (type === 'live') {
			const message = { liveLocationMessage: { degreesLatitude: 53.5, degreesLongitude: 9.9, caption: text } }
			const id = generateMessageIDV2(sock.user.id)
			await sock.relayMessage(chat, message, { messageId: id })
			return tell('sent', { id, tag })
		}
		const content = {
			text: () => ({ text }),
			document: () => ({ document: file, fileName: name, mimetype: mime, caption: text }),
			image: () => ({ image: file, mimetype: mime, caption: text, jpegThumbnail: null, width: 1, height: 1, ...(about && { albumParentKey: key }) }),
			ptv: () => ({ video: file, ptv: true, mimetype: mime, seconds: 1, jpegThumbnail: null, width: 1, height: 1 }),
			sticker: () => ({ sticker: file, mimetype: mime }),
			album: () => ({ album: { expectedImageCount: 1, expectedVideoCount: 0 } }),
			poll: () => ({ poll: { name: text, values: choices, selectableCount: 1 } }),
			contact: () => ({ contacts: { displayName: name, contacts: [{ displayName: name, vcard: text }] } }),
			event: () => ({ event: { name, description: text, startDate: new Date('2026-12-01T09:00:00Z') } }),
			buttonReply: () => ({ buttonReply: { displayText: text, id: '1' }, type: 'plain' }),
			templateReply: () => ({ buttonReply: { displayText: text, id: '1', index: 0 }, type: 'template' }),
			listReply: () => ({ listReply: { title: text, listType: 1 } }),
			pin: () => ({ pin: key, type: 1, time: 86400 }),
			forward: () => ({ forward: { key, message: sent.get(about) }, force: true }),
			voice: () => ({ audio: file, mimetype: mime, ptt: true, seconds: 1, waveform: new Uint8Array(64) }),
			location: () => ({ location: { degreesLatitude: 48.137154, degreesLongitude: 11.576124, name } }),
			edit: () => ({ text, edit: key }),
			deletion: () => ({ delete: key }),
			reaction: () => ({ react: { text, key } })
		}[type]()
		const m = await sock.sendMessage(chat, content, quoted ? { quoted: received.get(quoted) } : {})
		sent.set(m.key.id, m.message)
		tell('sent', { id: m.key.id, tag })
	} catch (error) {
		tell('failed', { error: String(error?.stack ?? error), tag })
	}
}

const commands = {
	connect: open,
	code: async ({ number }) => tell('code', { code: await sock.requestPairingCode(number) }),
	send,
	forget: () => { for (const type of ['session', 'sender-key']) store.delete(type); tell('forgot') }
}
for await (const line of createInterface({ input: process.stdin })) {
	const command = JSON.parse(line)
	await commands[command.do](command)
}
ending = true
await sock?.end()
process.exit(0)
