// Package setting holds the kinds of value that longshore.yaml is written in:
// sizes, durations and secrets. Channels use them in their settings.
package setting

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Size is a number of bytes: "16MB" (16,000,000), "16MiB" (16,777,216), "512".
type Size int64

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("%q is no size; write one such as 16MB, 256MiB or 4096", text)
	}
	*s = Size(n)
	return nil
}

func (s Size) String() string { return humanize.IBytes(uint64(max(s, 0))) }

// Duration is a length of time: "45s", "5m", "24h", "30d".
type Duration time.Duration

// UnmarshalText reads a duration, which is not negative.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	var parsed time.Duration
	var err error
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		parsed = time.Duration(n) * 24 * time.Hour //nolint:gosec // 16 bits of days fit
	} else {
		parsed, err = time.ParseDuration(s)
	}
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is no duration; write one such as 45s, 5m, 24h or 30d", text)
	}
	*d = Duration(parsed)
	return nil
}

// Std is d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes a duration as UnmarshalText reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// What stands wherever a Secret is printed.
const (
	redacted = "[redacted]"
	notHere  = "[not set here]"
)

// Secret is a text that only Reveal gives away: printing it, with any verb, or
// writing it as JSON, YAML or a log attribute shows that it is there, not what
// it is. The zero Secret is empty.
type Secret struct {
	// A pointer, so that reflection over a struct that holds a Secret in a
	// field nobody exported still prints an address and not the text.
	text  *string
	unset bool // it is meant to come from the environment, which does not have it here
}

// NewSecret keeps text.
func NewSecret(text string) Secret { return Secret{text: &text} }

// UnsetSecret is one that is meant to come from the environment, which this
// process does not have it in.
func UnsetSecret() Secret { return Secret{unset: true} }

// Reveal is the text itself.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero says whether there is no secret.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Unset says whether the secret is one that this process does not have, though
// another with the same configuration may.
func (s Secret) Unset() bool { return s.unset }

// Equal says whether both are the same text.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

func (s Secret) String() string {
	if s.unset {
		return notHere
	}
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format prints what String says, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue is what slog prints.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is what JSON and YAML hold.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText keeps text.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
