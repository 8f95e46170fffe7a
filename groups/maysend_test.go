package groups_test

import (
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

func TestHoursBeginAndEndByTheClock(t *testing.T) {
	for _, c := range []struct {
		hours groups.Hours
		clock string
		want  bool
	}{
		{"", "03:00", true},
		{"08:00-20:00", "07:59", false}, {"08:00-20:00", "08:00", true}, {"08:00-20:00", "19:59", true}, {"08:00-20:00", "20:00", false},
		{"22:00-06:00", "23:59", true}, {"22:00-06:00", "00:00", true}, {"22:00-06:00", "05:59", true}, {"22:00-06:00", "06:00", false}, {"22:00-06:00", "12:00", false},
		{"18:00-24:00", "23:59", true}, {"18:00-24:00", "00:00", false}, {"00:00-24:00", "12:00", true},
	} {
		at, err := time.Parse("15:04", c.clock)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.hours.Contain(at); got != c.want {
			t.Errorf("%s contains %s: %v, want %v", c.hours, c.clock, got, c.want)
		}
	}
}
