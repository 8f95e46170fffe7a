package config_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
)

func TestWhereFilesAreIsRefusedInWords(t *testing.T) {
	dir := configDir(t)
	const whole = "endpoint: https://s3.example.org, region: eu-1, bucket: files, key_from_file: key, secret_from_file: secret"
	for files, want := range map[string]string{
		"shared":                "",
		"{directory: shared}":   "",
		"{s3: {" + whole + "}}": "",
		"{directory: shared, s3: {" + whole + "}}":                                      "in a directory and in S3",
		"{s3: {bucket: files}}":                                                         "it has no endpoint",
		"{s3: {" + strings.Replace(whole, "https", "http", 1) + "}}":                    "s3.example.org",
		"{s3: {" + strings.Replace(whole, "example.org", "example.org/files", 1) + "}}": "it has a path",
		"{s3: {" + strings.Replace(whole, "bucket", "bukket", 1) + "}}":                 "bukket",
	} {
		cfg, err := parse(t, dir, "state: {directory: state, files: "+files+"}\n")
		if err == nil && cfg.State.Files == (config.Files{}) {
			t.Errorf("%s: not read", files)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", files, err)
		}
	}
}
