package config_test

import (
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
)

func TestWithoutAZoneTimesAreUTC(t *testing.T) {
	for name, want := range map[string]string{"": "UTC", "Europe/Berlin": "Europe/Berlin", "Mars/Base": "UTC"} {
		if got := (&config.Config{Timezone: name}).Zone().String(); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
	if _, offset := time.Date(2026, 7, 1, 0, 0, 0, 0, (&config.Config{Timezone: "Asia/Kolkata"}).Zone()).Zone(); offset != 19800 {
		t.Errorf("offset %d", offset)
	}
}
