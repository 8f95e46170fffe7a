//go:build unix && !linux

package mounts

import "os"

// openIn opens rel below h; it never returns a link.
func (r *root) openIn(h *dirHandle, rel, clean string) (*os.File, *link, error) {
	file, err := r.openPortable(h, rel, clean)
	return file, nil, err
}

// ownPath is unknown: names has followed the links.
func (h *dirHandle) ownPath(string, *os.File) (string, error) { return "", fileMissing() }

func pathOf(*os.File) (string, error) { return "", fileMissing() }

func factsOf(f *os.File) (facts, error) {
	info, err := f.Stat()
	if err != nil {
		return facts{}, err
	}
	return factsOfInfo(info), nil
}
