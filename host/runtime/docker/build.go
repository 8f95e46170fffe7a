package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/client"
)

//go:embed Dockerfile.agent
var dockerfile []byte

// Dockerfile returns the Dockerfile of the agent's image.
func Dockerfile() []byte { return bytes.Clone(dockerfile) }

// BuildOptions are the settings of a build. Tag and Runner are required.
type BuildOptions struct {
	Tag     string
	Runner  string            // path of an agentrunner for the engine's machine
	CA      string            // path of certificates that npm trusts in addition to its own; may be empty
	Args    map[string]string // build arguments: BASE, AGENT, TOOLS, …
	Network string            // network of the build; empty: the engine's default
	NoCache bool
	Pull    bool // look for a newer base image
	// Progress is called with each line of the build's output, which is
	// untrusted text.
	Progress func(line string)
}

// Build builds the agent's image with the engine's own builder and returns the
// image's id. Layers of an earlier build are reused. Progress, if set, is
// called from this goroutine.
func (e *Engine) Build(ctx context.Context, o BuildOptions) (id string, err error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if err := checkRunner(o.Runner, e.facts.Arch); err != nil {
		return "", err
	}
	args := make(map[string]*string, len(o.Args))
	for name, value := range o.Args {
		args[name] = &value
	}
	if agent := o.Args["AGENT"]; agent == "" || agent == "none" {
		args["FETCH"] = new(string)
	}
	pack, send := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		send.CloseWithError(writeContext(send, o))
	}()
	defer func() {
		pack.Close()
		<-packed
	}()
	answer, err := e.api.ImageBuild(ctx, pack, client.ImageBuildOptions{
		Tags: []string{o.Tag}, Dockerfile: "Dockerfile.agent", BuildArgs: args, NetworkMode: o.Network,
		NoCache: o.NoCache, PullParent: o.Pull, Remove: true, ForceRemove: true, Version: build.BuilderV1,
	})
	if err != nil {
		return "", fmt.Errorf("build image: %w", err)
	}
	defer answer.Body.Close()
	return readBuild(answer.Body, o.Progress)
}

// readBuild reads the engine's report of a build.
func readBuild(body io.Reader, progress func(string)) (id string, err error) {
	said := json.NewDecoder(body)
	for {
		var m struct {
			Stream string              `json:"stream"`
			Error  string              `json:"error"`
			Aux    struct{ ID string } `json:"aux"`
		}
		err := said.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("read the engine's answer: %w", err)
		}
		if m.Error != "" {
			return "", fmt.Errorf("build image: %s", m.Error)
		}
		if m.Aux.ID != "" {
			id = m.Aux.ID
		}
		for line := range bytes.Lines([]byte(m.Stream)) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				progress(string(line))
			}
		}
	}
	if id == "" {
		return "", errors.New("build image: the engine ended the build without a result")
	}
	return id, nil
}

// writeContext packs the files of the build. All times are equal, so that equal
// files make equal layers.
func writeContext(to io.Writer, o BuildOptions) error {
	pack := tar.NewWriter(to)
	runner, err := os.ReadFile(o.Runner)
	if err != nil {
		return err
	}
	var ca []byte
	if o.CA != "" {
		if ca, err = os.ReadFile(o.CA); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{{"Dockerfile.agent", 0o644, dockerfile}, {"ca.crt", 0o644, ca}, {"agentrunner", 0o755, runner}} {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: time.Unix(0, 0)}
		if err := pack.WriteHeader(header); err != nil {
			return err
		}
		if _, err := pack.Write(f.data); err != nil {
			return err
		}
	}
	return pack.Close()
}

// checkRunner refuses a program that cannot run in the image: one for another
// machine, or one that needs libraries which the base may lack.
func checkRunner(path, arch string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("agentrunner for the image: %w; build it for Linux: CGO_ENABLED=0 GOOS=linux go build -o agentrunner ./agentrunner", err)
	}
	defer f.Close()
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]
	if machine != elf.EM_NONE && f.Machine != machine {
		return fmt.Errorf("agentrunner for the image: %s is not for the engine's machine; build it with GOARCH=%s", path, arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("agentrunner for the image: %s needs libraries of its system; build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}
