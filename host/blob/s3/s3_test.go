package s3_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/blob/s3"
)

func TestFilesCrossNoNetworkInTheOpen(t *testing.T) {
	for endpoint, words := range map[string]string{
		"https://s3.example.org":      "",
		"https://s3.example.org:9000": "",
		"http://127.0.0.1:7070":       "",
		"http://[::1]:7070":           "",
		"http://localhost:7070":       "",
		"http://s3.example.org":       "in the open",
		"http://10.0.0.7:9000":        "in the open",
		"http://127.0.0.1.evil.org":   "in the open",
		"s3.example.org":              "is not https",
		"https://u:p@s3.example.org":  "is not https",
		"https://s3.example.org/x":    "is not https",
		"ftp://s3.example.org":        "is not https",
		"":                            "is not https",
	} {
		_, err := s3.New(s3.Settings{Endpoint: endpoint, Bucket: "files"})
		if (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
