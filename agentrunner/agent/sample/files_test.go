package sample

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// A burst may have its words before, behind or without its files; a quoted file counts
// if no other came.
func TestTheFilesAndTheLastWordsOfABurstAreRead(t *testing.T) {
	file := func(path string) string {
		return "\n<attachment path=\"" + path + "\" name=\"A &amp; B.png\" kind=\"image\" mime=\"image/png\" size=\"1 kB\" />"
	}
	quote := `<quoted_message from="Ann" from_id="1">old words` + file("/q.png") + `</quoted_message>`
	wrap := func(messages ...string) string {
		return "<context timezone=\"UTC\" />\n<messages>\n<message sender=\"A\">" + strings.Join(messages, "</message>\n<message sender=\"A\">") + "</message>\n</messages>"
	}
	for prompt, want := range map[string]request{
		wrap(file("/1.png")+"\n", "look"):                {"look", []agent.File{{Path: "/1.png", Name: "A & B.png", Kind: "image"}}},
		wrap("look", file("/1.png")+"\n"):                {"look", []agent.File{{Path: "/1.png", Name: "A & B.png", Kind: "image"}}},
		wrap(quote + "what is this?"):                    {"what is this?", []agent.File{{Path: "/q.png", Name: "A & B.png", Kind: "image"}}},
		wrap(quote+"and", file("/1.png")+"\n"):           {"and", []agent.File{{Path: "/1.png", Name: "A & B.png", Kind: "image"}}},
		wrap("&lt;attachment path=&quot;/x&quot; /&gt;"): {`<attachment path="/x" />`, nil},
		"send a.pdf": {"send a.pdf", nil},
	} {
		if diff := cmp.Diff(want, read(prompt), cmp.AllowUnexported(request{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prompt, diff)
		}
	}
}

func TestAFileThatDidNotComeIsSaidInWords(t *testing.T) {
	prompt := `<messages><message sender="A">` + "\n" + `<attachment name="boat.jpg" not_stored="files may have up to 1 kB" /></message></messages>`
	reply, err := Agent{}.Turn(t.Context(), agent.Turn{Prompt: prompt})
	if err != nil || reply.Text != "I did not get boat.jpg: files may have up to 1 kB." {
		t.Errorf("%q, %v", reply.Text, err)
	}
}
