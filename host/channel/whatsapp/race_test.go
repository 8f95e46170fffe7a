//go:build race

package whatsapp_test

// raceDetector is on. whatsmeow asks a socket that has just died under a send
// whether it is connected, without the lock under which it closes.
const raceDetector = true
