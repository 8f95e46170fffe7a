//go:build e2e

package mounts_test

import "testing"

func TestALongRaceAgainstTheOpenerLeaksNothing(t *testing.T) { raceOpener(t, 200_000) }
