package transcribe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/media/convert"
)

// The words of a command that stand for the sound.
const (
	FileWord = "{file}"
	WAVWord  = "{wav}"
)

// run has a program transcribe, which reads the sound as /dev/stdin.
func (t *Transcriber) run(ctx context.Context, e Entry, sound *os.File) (string, error) {
	select {
	case t.programs <- struct{}{}:
		defer func() { <-t.programs }()
	case <-ctx.Done():
		return "", fmt.Errorf("wait for other programs: %w", ctx.Err())
	}
	args := slices.Clone(e.Command[1:])
	if slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, WAVWord) }) {
		wav, err := t.sounds.Run(ctx, sound, convert.WAV, maxWAV)
		if err != nil {
			return "", err
		}
		defer wav.Close()
		sound = wav.File
	}
	words := strings.NewReplacer(FileWord, "/dev/stdin", WAVWord, "/dev/stdin")
	readable := Readable(args)
	for i := range args {
		args[i] = words.Replace(args[i])
	}
	copied := func() {}
	runner := confine.Runner{Mode: t.mode, Temp: func(bytes int64) (f *os.File, err error) {
		f, release, err := t.temp(bytes)
		if err == nil {
			copied = release
		}
		return f, err
	}}
	out, err := runner.Run(ctx, confine.Command{
		Program: e.Command[0], Args: args, Input: sound, Readable: readable, Time: e.Timeout, Output: maxAnswer,
		Limits: confine.Limits{Memory: 16 << 30, CPU: 16 * int(e.Timeout.Seconds()+1)},
	})
	copied()
	return string(out), err
}

// Readable are the files and directories that a command's arguments name, such as a
// model: absolute paths, also behind an equals sign.
func Readable(args []string) (paths []string) {
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg, "="); ok && !filepath.IsAbs(arg) {
			arg = value
		}
		if filepath.IsAbs(arg) {
			paths = append(paths, arg)
		}
	}
	return paths
}
