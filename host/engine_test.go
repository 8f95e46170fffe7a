package main

import (
	"strings"
	"testing"
)

// TestDoctorTellsHowTheImageIsBuilt has an engine without the image. What the
// operator is told to run puts the assistant's CLI into it.
func TestDoctorTellsHowTheImageIsBuilt(t *testing.T) {
	for agent, want := range map[string]string{
		"claude": "longshore image build --tag longshore-test/nothing:here --agent claude",
		"sample": "longshore image build --tag longshore-test/nothing:here",
	} {
		said := newBoxesOf(t, 1, "{runtime: docker, agent: "+agent+`, image: "longshore-test/nothing:here"}`).doctor() + " "
		if !strings.Contains(said, "ok engine it answers") || !strings.Contains(said, "to do: build it: "+want+" ") {
			t.Errorf("the doctor says:\n%s\nwant it to tell: %s", said, want)
		}
	}
}
