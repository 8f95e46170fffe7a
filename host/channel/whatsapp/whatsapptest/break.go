package whatsapptest

// Cut kills the sockets of all of the phone's devices without a word.
func (p *Phone) Cut() {
	p.each(func(d *Device) { d.session.cancel() })
}

// StreamError ends the streams of all of the phone's devices with a code; 503
// is what a server says that restarts.
func (p *Phone) StreamError(code int) {
	p.each(func(d *Device) { d.session.end(streamError(code)) })
}

// Replace ends the streams of all of the phone's devices as if each had
// logged in elsewhere.
func (p *Phone) Replace() {
	p.each(func(d *Device) { d.session.end(conflict(409, "replaced")) })
}

// Unlink removes all of the phone's devices, as its owner does in the list of
// linked devices. Those that are online hear of it at once, the others when
// they log in: failure 401.
func (p *Phone) Unlink() {
	p.each(func(d *Device) { d.session.end(conflict(401, "device_removed")) })
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	for _, d := range p.linked() {
		p.srv.unlink(d)
	}
}

// each does something to the devices that are online, under the server's lock.
func (p *Phone) each(do func(*Device)) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	for _, d := range p.linked() {
		if d.session != nil {
			do(d)
		}
	}
}

// ExpireAuth makes all media tokens of the past worthless: uploads with them
// are answered 401 until the client has asked for a new one.
func (s *Server) ExpireAuth() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.auths)
}

// RenewAt makes all phones answer with this path when they are asked for a
// file again, as one with a modified app may.
func (s *Server) RenewAt(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewAt = path
}

// ExpireMedia makes all uploads of the past unavailable (410). A client may
// ask the sender's phone for them; that has those which Members sent.
func (s *Server) ExpireMedia() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.expired = true
	}
}

// LoseMedia is ExpireMedia when the phones of those who sent the files no longer
// have them either.
func (s *Server) LoseMedia() {
	s.ExpireMedia()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.fileKey)
}
