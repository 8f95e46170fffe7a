package command

import (
	"bytes"
	"testing"
)

// TestAListFitsTheTerminal cuts lines in columns, of which a wide character takes two,
// and leaves the lines of a pipe whole.
func TestAListFitsTheTerminal(t *testing.T) {
	for columns, want := range map[int]string{
		0:  "ID  NAME\n1   港港港港港港\n",
		10: "ID  NAME\n1   港港…\n",
	} {
		var out bytes.Buffer
		list := (&env{stdout: &out}).table("ID", "NAME")
		list.columns = columns
		list.row("1", "港港港港港港")
		if err := list.flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%d columns: got %q, want %q", columns, out.String(), want)
		}
	}
}
