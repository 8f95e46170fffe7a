package compose

import "testing"

func TestTheMessageIDIsStableAndHasWhatsAppsForm(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	a, b := MessageID(id), MessageID(id)
	if a != b || len(a) != 22 || a[:4] != "3EB0" {
		t.Errorf("ids %q and %q", a, b)
	}
	for _, r := range a {
		if (r < '0' || r > '9') && (r < 'A' || r > 'F') {
			t.Errorf("id %q is not upper-case hex", a)
		}
	}
	if MessageID("other") == a {
		t.Error("two messages have one id")
	}
}
