package directive

// PathIn is the path of the directive in one line.
func PathIn(line string) string {
	pieces, _ := parse(line)
	for _, p := range pieces {
		if p.file.Path != "" {
			return p.file.Path
		}
	}
	return ""
}
