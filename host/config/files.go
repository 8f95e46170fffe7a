package config

import "strings"

// Files is where the state's files above 16 KiB are. The zero value: in the state directory.
type Files struct {
	Directory string `yaml:"directory" help:"A directory that every host of the state has mounted."`
	S3        S3     `yaml:"s3" help:"A bucket of a service that speaks S3."`
}

// S3 is a bucket.
type S3 struct {
	Endpoint       string `yaml:"endpoint" form:"url" help:"The service's address: https, or http on this machine's loopback."`
	Region         string `yaml:"region" help:"The bucket's region, as the service calls it."`
	Bucket         string `yaml:"bucket" help:"The bucket, which must be there."`
	Prefix         string `yaml:"prefix" help:"What all names in the bucket begin with, such as longshore/."`
	KeyFromFile    string `yaml:"key_from_file" help:"The file with the access key."`
	SecretFromFile string `yaml:"secret_from_file" help:"The file with the access key's secret, for the host's user alone (mode 600)."`
}

// UnmarshalText reads the directory.
func (f *Files) UnmarshalText(text []byte) error {
	f.Directory = string(text)
	return nil
}

// MarshalYAML writes it as UnmarshalText reads it, or as a block.
func (f Files) MarshalYAML() (any, error) {
	if f == (Files{Directory: f.Directory}) {
		return f.Directory, nil
	}
	type block Files
	return block(f), nil
}

// files checks where the state's files are.
func (c *checker) files() {
	f := &c.cfg.State.Files
	const key = "state.files"
	switch {
	case *f == (Files{}):
	case f.S3 == (S3{}):
		c.fileAt(c.directoryAt(key), &f.Directory)
	case f.Directory != "":
		c.bad(key, "the files are in a directory and in S3", "keep directory or s3, and take the other one out")
	default:
		c.bucket(key+".s3", &f.S3)
	}
}

func (c *checker) bucket(key string, s *S3) {
	for _, of := range [][2]string{{"endpoint", s.Endpoint}, {"bucket", s.Bucket}, {"key_from_file", s.KeyFromFile}, {"secret_from_file", s.SecretFromFile}} {
		if of[1] == "" {
			c.bad(key, "it has no "+of[0], "add "+of[0]+"; docs/operations.md has an example")
		}
	}
	if c.upstream(key+".endpoint", s.Endpoint); strings.Count(strings.TrimRight(s.Endpoint, "/"), "/") > 2 {
		c.bad(key+".endpoint", "it has a path", "write https://HOST, and the bucket's name below bucket")
	}
	for at, path := range map[string]*string{key + ".key_from_file": &s.KeyFromFile, key + ".secret_from_file": &s.SecretFromFile} {
		if *path != "" && c.fileAt(at, path) {
			c.secretFiles[at] = *path
		}
	}
}

// fileAt resolves the path at a key.
func (c *checker) fileAt(key string, path *string) bool {
	*path = c.real(key, *path)
	return *path != ""
}
