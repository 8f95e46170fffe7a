//go:build !race

package whatsapp_test

const raceDetector = false
