// Package whatsapptest is a WhatsApp server for tests, on loopback.
//
// Unmodified whatsmeow and Baileys clients pair with it, log in, and talk to each
// other through it: one uploads a file and sends it to a group, another decrypts
// the message and downloads the same bytes. The server reads no message; like the
// real one it carries ciphertext between devices and keeps what they need to
// find each other.
//
// The files follow the protocol from the wire upwards:
//
//	trust.go      the certificate root
//	network.go    networks and HTTP clients that dial only here
//	wire/         frames on the websocket, the Noise XX handshake that makes them secret, nodes
//	session.go    one socket: stanzas in and out, in order
//	phone.go      a person's phone, which pairs new devices
//	pair.go       pairing: the refs of the QR code, and the signed device identity
//	linkcode.go   pairing by a code of eight characters typed into the phone
//	adopt.go      a device, and a file, of a server that is no more
//	login.go      a paired device comes back: success or failure, the offline queue
//	iq.go         questions and answers; prekeys.go, usync.go, groups.go hold some
//	relay.go      messages, fanned out device by device, and their acks
//	receipts.go   delivered, read, retry; and the re-upload of expired media
//	media.go      encrypted files over HTTP: uploads and downloads
//	faults.go     what may go wrong, scripted; break.go does it at once
//	observe.go    what the server saw, and waiting for it
//	member.go     a ready-made whatsmeow client for the other side of a chat
//	baileys/      the same made of Baileys, which package npmtest installs
//
// # The protocol, shortly
//
// A client opens a websocket and sends 'W' 'A' 6 3 and its ephemeral key. The
// server proves itself with a certificate chain that ends in a root built into
// the client. Inside the encrypted frames travel stanzas: XML-like nodes in a
// binary coding. An <iq> has an answer of the same id. A <message>, <receipt>
// or <notification> is confirmed by an <ack> of its id; until a device has
// acked what it was sent, the server keeps it and sends it again at the next
// login.
//
// An account has two names: a phone number (…@s.whatsapp.net, "PN") and an
// opaque number (…@lid, "LID"). A device is an account's name and a small
// number, and each group says by which of the two names its members address
// each other.
//
// The sender asks for the group's members (w:g2), for their devices (usync) and
// for the keys of devices it has no Signal session with (encrypt). The text of
// a group message is encrypted once with a sender key; that key travels beside
// it, encrypted for each device. A file is encrypted and uploaded over HTTP
// first, and the message holds its address, hash and key. A receiver that
// cannot decrypt sends a receipt of type retry, and the sender encrypts again
// for that device alone.
//
// # Using it
//
// The root is a variable of the whatsmeow module and so belongs to the whole
// process. Set it once, before any client connects:
//
//	func TestMain(m *testing.M) {
//		whatsapptest.TrustRoot(whatsapptest.Root())
//		goleak.VerifyTestMain(m)
//	}
//
// A program under test in another process does the same with the root and the
// address it was given, and gives ClientFor(addr), or a client that dials in
// NewNetwork(addr), to the three SetXHTTPClient setters of its whatsmeow client.
//
// # What it is not
//
// Phones here pair devices and own files, but hold no Signal sessions, so they
// are not in the device lists. There are no newsletters, calls, communities,
// status posts, app state or history. Numbers of refusals that WhatsApp does
// not document (420 for an announcement group, 403 for a sender who has left)
// are this server's choice. It is no place for real accounts: its root key
// is published below.
package whatsapptest
