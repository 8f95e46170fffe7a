//go:build unix

package mounts

// OpenPortable is Open as on systems other than Linux, but without following a
// link at the path's end.
func (m *Map) OpenPortable(p string) error {
	r, rel, err := m.find(p)
	if err != nil {
		return err
	}
	return r.use(func(h *dirHandle) error {
		f, err := r.openPortable(h, rel, p)
		if err != nil {
			return err
		}
		return f.Close()
	})
}
