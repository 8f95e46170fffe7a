package httpd_test

import (
	"io"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// The name of a file is the one that the member saw, whatever program wrote the form.
func TestAFileOfAFormHasTheNameThatItsSenderSaw(t *testing.T) {
	for disposition, want := range map[string]string{
		`filename="plain.txt"`:                                       "plain.txt",
		`filename="%22quoted%22 & 100% 'really' %41.txt"`:            `"quoted" & 100% 'really' %41.txt`, // browsers
		`filename="\"quoted\".txt"`:                                  `"quoted".txt`,                     // curl before 7.81, Go
		`filename="日本語; a=b, c.pdf"`:                                 "日本語; a=b, c.pdf",
		`filename="Q4/2026.pdf"`:                                     "Q4/2026.pdf",
		`filename="line%0D%0Abreak.pdf"`:                             "line\r\nbreak.pdf",
		`filename*=UTF-8''%E2%82%AC%20%22rates%22%20100%25.pdf`:      `€ "rates" 100%.pdf`,
		`filename="_.pdf"; filename*=utf-8'de'Pr%C3%BCfung%2522.pdf`: "Prüfung%22.pdf",
		`filename=""`: "",
		`x="y"`:       "",
	} {
		form := httpd.Form(strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"files\"; "+disposition+"\r\n\r\nx\r\n--b--\r\n"), "b")
		part, err := form.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if got := httpd.FileName(part); got != want {
			t.Errorf("%s: %q, want %q", disposition, got, want)
		}
		if _, err := form.NextPart(); err != io.EOF {
			t.Error(err)
		}
	}
}
