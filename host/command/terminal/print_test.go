package terminal

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
		list := (&Terminal{Stdout: &out}).Table("ID", "NAME")
		list.Columns = columns
		list.Row("1", "港港港港港港")
		if err := list.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%d columns: got %q, want %q", columns, out.String(), want)
		}
	}
}
