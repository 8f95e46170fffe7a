package config_test

import (
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
)

func TestWithoutAZoneTimesAreUTC(t *testing.T) {
	for name, want := range map[string]string{"": "UTC", "Europe/Berlin": "Europe/Berlin", "Mars/Base": "UTC"} {
		if got := (&config.Config{Timezone: name}).Zone(groups.Group{}).String(); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
	own := &config.Config{Timezone: "Europe/Berlin"}
	if goa, ulm := own.Zone(groups.Group{Folder: "goa", Timezone: "Asia/Kolkata"}).String(), own.Zone(groups.Group{Folder: "ulm"}).String(); goa != "Asia/Kolkata" || ulm != "Europe/Berlin" {
		t.Errorf("the groups' zones are %s and %s", goa, ulm)
	}
	if _, offset := time.Date(2026, 7, 1, 0, 0, 0, 0, (&config.Config{Timezone: "Asia/Kolkata"}).Zone(groups.Group{})).Zone(); offset != 19800 {
		t.Errorf("offset %d", offset)
	}
}
