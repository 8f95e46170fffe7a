package cli

import "runtime/debug"

// Version returns the version of the running program: linked, which the linker sets;
// else the module's version, as "go install" records it; else "devel" with the
// revision, if the program was built in a checkout. "go run" records neither, so its
// version is "devel".
func Version(linked string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(linked, info)
}

func versionOf(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	version, changed := "devel", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			version = "devel-" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+dirty"
		}
	}
	return version + changed
}
