package web

import (
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/host/channel"
)

// cleanName returns a name to show, or fallback if nothing of it is visible.
func cleanName(s, fallback string) string {
	if name := channel.CleanName(s); name != "" {
		return name
	}
	return fallback
}

// cleanText returns a text without control characters that no writer intends.
func cleanText(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return s
}
