package groups_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
)

// TestAGroupWasToldThatItMayNotSendWhereItMay: it may not schedule there.
func TestAGroupWasToldThatItMayNotSendWhereItMay(t *testing.T) {
	r, err := groups.NewRegistry([]groups.Group{
		{Name: "a", Folder: "a", Chat: "web:a", Channel: "web", MaySendTo: []string{"b"}}, {Name: "b", Folder: "b", Chat: "web:b", Channel: "web"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Authorize("a", "web:b"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AuthorizeCall("a", "web:b"); err == nil || strings.Contains(err.Error(), "may not send") || !strings.Contains(err.Error(), "schedule") {
		t.Errorf("it is told: %v", err)
	}
}
