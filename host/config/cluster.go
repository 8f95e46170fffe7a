package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Cluster is the set of hosts that share one state on PostgreSQL: one owns, the others stand by.
type Cluster struct {
	Name  string   `yaml:"name" form:"cluster" help:"Its name, the same on each of its hosts. Without it, no other host stands by."`
	Host  string   `yaml:"host" form:"host" local:"true" help:"This host's name in it. Without it, that of the machine."`
	Lease Duration `yaml:"lease" min:"2s" max:"10m" help:"How long the owner may be silent before another host takes over. The same on each host."`
}

// cluster refuses one whose hosts would not share their state.
func (c *checker) cluster() {
	if c.cfg.Cluster.Name != "" && c.cfg.State.Postgres.FromFile == "" {
		c.bad("cluster.name", "the hosts of a cluster share one PostgreSQL, and the state is on this machine", "add state: {directory: DIR, postgres: {from_file: FILE}}, or leave cluster: out")
	}
	if c.cfg.Cluster.Name != "" && c.cfg.State.Files == (Files{}) {
		c.warn("cluster.name", "the hosts share no place for files above 16 KiB: after a take-over, those that wait or are shown on the page are missing", "add files: to state:, a directory that all of them have mounted, or s3")
	}
	if c.cfg.Cluster.Name == "" && (c.has("cluster.host") || c.has("cluster.lease")) {
		c.bad("cluster", "the cluster has no name", "add name: the same one on each host")
	}
}

// Common is the hash of what the hosts of a cluster must have alike: all but the keys whose tag says
// that they are this machine's own, and the files of secrets, whose contents count. Groups that
// register_group has made are in the state.
func (c *Config) Common() string {
	h := sha256.New()
	own := *c
	own.Groups = slices.Clone(c.Groups)
	for i := range own.Groups {
		if own.Groups[i].RegisteredBy != "" {
			own.Groups = own.Groups[:i] // they follow the file's
			break
		}
	}
	write(h, reflect.ValueOf(own))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// write writes a value so that different ones differ.
func write(h io.Writer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			write(h, v.Elem())
		}
	case reflect.Struct:
		writeStruct(h, v)
	case reflect.Slice:
		fmt.Fprintf(h, "%d\n", v.Len())
		for i := range v.Len() {
			write(h, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		fmt.Fprintf(h, "%d\n", len(keys))
		for _, key := range keys {
			fmt.Fprintf(h, "%q\n", key.String())
			write(h, v.MapIndex(key))
		}
	default:
		fmt.Fprintf(h, "%q\n", fmt.Sprint(v.Interface()))
	}
}

func writeStruct(h io.Writer, v reflect.Value) {
	switch is := v.Interface().(type) {
	case Secret:
		fmt.Fprintf(h, "%q\n", is.Reveal())
		return
	case Channel:
		fmt.Fprintf(h, "%q %q\n", is.Name, is.Platform.Key())
		write(h, reflect.ValueOf(is.Settings))
		return
	}
	for field, value := range v.Fields() {
		if key := field.Tag.Get("yaml"); field.IsExported() && !ofMachine(v.Type(), key, field.Tag) {
			fmt.Fprintf(h, "%s\n", field.Name)
			write(h, value)
		}
	}
}

// ofMachine reports whether a key of a struct is each machine's own.
func ofMachine(t reflect.Type, key string, tag reflect.StructTag) bool {
	unwritten := key == "-" && t == reflect.TypeFor[Config]() // what was read beside the keys
	return unwritten || tag.Get("local") != "" || key == "listen" || strings.HasSuffix(key, "_file") || strings.HasSuffix(key, "from_file")
}
