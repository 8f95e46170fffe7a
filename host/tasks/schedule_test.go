package tasks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// times are the next times of a schedule after a time of the zone's clocks.
func times(t testing.TB, kind, value, zoneName, after string, n int) (all []string) {
	t.Helper()
	z := zone(t, zoneName)
	s, err := tasks.Parse(kind, value, z)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if at = s.Next(at); at.IsZero() {
			break
		}
		all = append(all, at.In(z).Format(time.RFC3339))
	}
	return all
}

// NanoClaw v1 skipped 2:30 in spring, and ran twice in autumn.
func TestADayWithAnotherClockHasOneRun(t *testing.T) {
	for name, tt := range map[string]struct {
		value, zone, after string
		want               []string
	}{
		"a gap":                            {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		"an overlap":                       {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		"in the second pass of an overlap": {"40 2 * * *", "Europe/Berlin", "2026-10-25T02:35:00+01:00", []string{"2026-10-26T02:40:00+01:00"}},
		"in the first pass":                {"40 2 * * *", "Europe/Berlin", "2026-10-25T02:35:00+02:00", []string{"2026-10-25T02:40:00+02:00"}},
		"several in a gap":                 {"*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		"each hour, in autumn":             {"0 * * * *", "Europe/Berlin", "2026-10-25T01:30:00+02:00", []string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"}},
		"each hour, in spring":             {"30 * * * *", "Europe/Berlin", "2026-03-29T01:00:00+01:00", []string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"}},
		"half an hour":                     {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", []string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		"a gap at midnight":                {"30 0 * * *", "America/Santiago", "2026-09-05T12:00:00-04:00", []string{"2026-09-06T01:00:00-03:00", "2026-09-07T00:30:00-03:00"}},
		"a day that was left out":          {"0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00-10:00", []string{"2011-12-31T00:00:00+14:00", "2012-12-30T09:00:00+14:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, times(t, tasks.Cron, tt.value, tt.zone, tt.after, len(tt.want))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSevenIsSunday(t *testing.T) {
	for seven, zero := range map[string]string{"7": "0", "5-7": "5,6,0", "1-7/2": "1,3,5,0", "1,7": "1,0", "0-7": "*", "7-7": "0"} {
		got := times(t, tasks.Cron, "0 9 * * "+seven, "UTC", "2026-11-23T00:00:00Z", 10)
		want := times(t, tasks.Cron, "0 9 * * "+zero, "UTC", "2026-11-23T00:00:00Z", 10)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", seven, diff)
		}
	}
}

func TestOnceIsATimeOfTheZoneOrOfItsOwn(t *testing.T) {
	for value, want := range map[string]string{
		"2026-02-01T15:30:00":       "2026-02-01T15:30:00+01:00",
		"2026-02-01 15:30":          "2026-02-01T15:30:00+01:00",
		"2026-02-01T15:30:00Z":      "2026-02-01T16:30:00+01:00",
		"2026-02-01T15:30:00-08:00": "2026-02-02T00:30:00+01:00",
		"2026-03-29T02:30:00":       "2026-03-29T03:00:00+02:00",
		"2026-10-25T02:30:00":       "2026-10-25T02:30:00+02:00",

		"2026-12-01T09:00+01:00":                    "2026-12-01T09:00:00+01:00",
		"2026-12-01 09:00:00+01:00":                 "2026-12-01T09:00:00+01:00",
		"2026-12-01 09:00 +0100":                    "2026-12-01T09:00:00+01:00",
		"2026-12-01 09:00:00.5-08":                  "2026-12-01T18:00:00+01:00",
		"2026-12-01 09:00Z":                         "2026-12-01T10:00:00+01:00",
		"CRON_TZ=America/New_York 2026-12-01T09:00": "2026-12-01T15:00:00+01:00",
	} {
		if got := times(t, tasks.Once, value, "Europe/Berlin", "2026-01-01T00:00:00Z", 2); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, want %s", value, got, want)
		}
	}
}

// TestABadScheduleIsRefusedWithARemedy: NanoClaw v1 wrote a line into its log, and its
// model heard nothing.
func TestABadScheduleIsRefusedWithARemedy(t *testing.T) {
	for _, bad := range [][2]string{
		{"cron", ""}, {"cron", "* * * *"}, {"cron", "* * * * * *"}, {"cron", "61 * * * *"}, {"cron", "0 0 30 2 *"}, {"cron", "0 9 * * 8"},
		{"cron", "CRON_TZ=Atlantis 0 9 * * *"}, {"cron", "CRON_TZ= 0 9 * * *"}, {"cron", "CRON_TZ=Local 0 9 * * *"}, {"once", "CRON_TZ=UTC"}, {"cron", ", 9 * * *"},
		{"cron", "0 9 L-2 * *"}, {"cron", "0 9 * * L"}, {"cron", "0 9 * * 1#6"}, {"cron", "0 9 * * 1,2#1"}, {"cron", "0 9 * * 1-5L"}, {"cron", "L 9 * * *"}, {"cron", "@every 1s * * *"}, {"cron", "x y z a b"}, {"cron", "0 9 * * 7-3"}, {"cron", "0 9 * * 7-8"},
		{"interval", ""}, {"interval", "-1"}, {"interval", "59999"}, {"interval", "1h"}, {"interval", "99999999999999999999"},
		{"once", ""}, {"once", "tomorrow"}, {"once", "2026-02-30T09:00:00"}, {"weekly", "1"}, {"cron", strings.Repeat("*", 300)},
	} {
		_, err := tasks.Parse(bad[0], bad[1], time.UTC)
		if r := refusal.Of(err); r == nil || r.Code != "invalid_schedule" || r.Hint == "" || strings.Contains(err.Error(), "failed to parse") || strings.Contains(err.Error(), "range (") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0 9 * * 1-7", "*/5 * * * *", "60000", "2026-02-01T15:30:00", "30 2 29 2 *", "1-5/2,7 * 1,15 JAN-MAR MON", "0 0 31 2 7"} {
		for _, kind := range []string{"cron", "interval", "once"} {
			f.Add(kind, s, int64(1_790_000_000))
		}
	}
	z := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, kind, value string, unix int64) {
		s, err := tasks.Parse(kind, value, z)
		if err != nil {
			if refusal.Of(err) == nil {
				t.Errorf("%q is refused without a remedy: %v", value, err)
			}
			return
		}
		now := time.Unix(unix%4_000_000_000, 0)
		for range 5 {
			next := s.Next(now)
			if next.IsZero() {
				break
			}
			if !next.After(now) {
				t.Fatalf("%q after %v is %v", value, now, next)
			}
			now = next
		}
		_ = s.Words(now)
	})
}

// TestTheNightTheClockGoesBackMeansTheSameHoweverItIsSpelled: with 0-23 for the hours, the hour
// that comes twice had one run, and two with a star.
func TestTheNightTheClockGoesBackMeansTheSameHoweverItIsSpelled(t *testing.T) {
	const before = "2026-10-25T00:10:00+02:00"
	for _, spellings := range [][]string{
		{"*/30 * * * *", "0,30 0-23 * * *", "0-59/30 */1 * * *", "0/30 0-11,12-23 ? * *", "*/30 0/1 * * 0-7", "*/30 * 1-31 * *", "CRON_TZ=Europe/Berlin 30,0 0,1-23 * * *"},
		{"0 */2 * * *", "0 0,2,4,6,8,10,12,14,16,18,20,22 * * *", "0 0-23/2 * * *", "0 0-22/2 * 1-12 *"},
		{"*/20 2 * * *", "0,20,40 2-2 * * *", "0-40/20 2 * * 0-6"},
		{"0 * * * 0", "0 0-23 * * 7", "0 * * * SUN", "0 */1 * * 0L"},
	} {
		want := times(t, tasks.Cron, spellings[0], "Europe/Berlin", before, 8)
		for _, other := range spellings[1:] {
			if diff := cmp.Diff(want, times(t, tasks.Cron, other, "Europe/Berlin", before, 8)); diff != "" {
				t.Errorf("%q (-) and %q (+): %s", spellings[0], other, diff)
			}
		}
	}
}

func TestDaysCountedFromTheEndOrTheWeekday(t *testing.T) {
	for value, want := range map[string][]string{
		"0 9 L * *":    {"2026-11-30T09:00:00Z", "2026-12-31T09:00:00Z", "2027-01-31T09:00:00Z", "2027-02-28T09:00:00Z"},
		"0 9 * * 1#1":  {"2026-12-07T09:00:00Z", "2027-01-04T09:00:00Z", "2027-02-01T09:00:00Z"},
		"0 9 * * friL": {"2026-11-27T09:00:00Z", "2026-12-25T09:00:00Z", "2027-01-29T09:00:00Z"},
		"0 9 15,L 2 *": {"2027-02-15T09:00:00Z", "2027-02-28T09:00:00Z", "2028-02-15T09:00:00Z", "2028-02-29T09:00:00Z"},
		"* * 29 2 1#5": {"2028-02-29T00:00:00Z"},
	} {
		if diff := cmp.Diff(want, times(t, tasks.Cron, value, "UTC", "2026-11-23T00:00:00Z", len(want))); diff != "" {
			t.Errorf("%s: %s", value, diff)
		}
	}
}

func TestAScheduleMayHaveAZoneOfItsOwn(t *testing.T) {
	got := times(t, tasks.Cron, "CRON_TZ=America/New_York 0 9 * * *", "Europe/Berlin", "2026-11-23T00:00:00+01:00", 1)
	if diff := cmp.Diff([]string{"2026-11-23T15:00:00+01:00"}, got); diff != "" {
		t.Error(diff)
	}
	s, err := tasks.Parse(tasks.Cron, "TZ=Asia/Tokyo 0 9 * * *", time.UTC)
	if err != nil || !strings.Contains(s.Words(s.Next(time.Unix(1_790_000_000, 0))), "times of Asia/Tokyo") {
		t.Error(err)
	}
}
