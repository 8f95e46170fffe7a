package config

import (
	"errors"
	"strings"
)

// State is where the state is.
type State struct {
	Directory string   `yaml:"directory" local:"true" help:"The state directory."`
	Postgres  Postgres `yaml:"postgres" help:"The PostgreSQL, version 15 or newer, that has the state's database in place of a file in the directory."`
	Files     Files    `yaml:"files" help:"Where files above 16 KiB are, if not in the directory: a directory that hosts share, or a block with s3."`
}

// Postgres is a database in PostgreSQL.
type Postgres struct {
	FromFile string `yaml:"from_file" help:"The file with the connection string, such as postgres://NAME:PASSWORD@HOST/DATABASE?sslmode=verify-full, for the host's user alone (mode 600)."`
}

// UnmarshalText reads the directory.
func (s *State) UnmarshalText(text []byte) error {
	if s.Directory = string(text); strings.ContainsRune(s.Directory, 0) {
		return errors.New("the path holds a NUL; write the path of a directory")
	}
	return nil
}

// MarshalYAML writes it as UnmarshalText reads it, or as a block.
func (s State) MarshalYAML() (any, error) {
	if s == (State{Directory: s.Directory}) {
		return s.Directory, nil
	}
	type block State
	return block(s), nil
}
