package docker_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// Who finds the file at the root of the tree reads there what builds it.
func TestDockerfileSaysInItsFirstLineWhatBuildsIt(t *testing.T) {
	b, err := os.ReadFile("../../../Dockerfile.agent")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), "\n")
	if !strings.Contains(first, "longshore image build") || string(b) != string(docker.Dockerfile()) {
		t.Errorf("the first line is %q", first)
	}
}

// What the image is made of is fixed, or can be fixed by an argument.
func TestDockerfilePinsWhatItFetches(t *testing.T) {
	text := string(docker.Dockerfile())
	versions := regexp.MustCompile(`(?m)^ARG ([A-Z]+)_VERSION=(.*)$`).FindAllStringSubmatch(text, -1)
	if len(versions) != 5 {
		t.Errorf("%d versions", len(versions))
	}
	for _, v := range versions {
		if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(v[2]) || !strings.Contains(text, "$"+v[1]+"_VERSION") {
			t.Errorf("%s is at %q, which is no exact version, or is not used", v[1], v[2])
		}
	}
	if n := strings.Count(text, "apt-get update"); n == 0 || strings.Count(text, "debian/$SNAPSHOT $VERSION_CODENAME\"") != n ||
		strings.Count(text, "debian-security/$SNAPSHOT $VERSION_CODENAME-security\"") != n {
		t.Errorf("apt-get runs %d times, not each with its snapshot", n)
	}
	if strings.Count(text, "npm install") != 1 || !strings.Contains(text, "npm install $before") {
		t.Error("npm is not told the time of the snapshot")
	}
}
