package pgtest

import (
	"fmt"
	"os"
)

// Standby starts a streaming standby of the server, until the test ends. Its name is what
// synchronous_standby_names may name.
func (s *Server) Standby(name string) *Server {
	s.t.Helper()
	b := &Server{Dir: Dir(s.t), Port: freePort(s.t), t: s.t, bin: s.bin, with: s.with}
	if os.Getuid() == 0 {
		if err := os.Chown(b.Dir, int(owner(s.t).Uid), int(owner(s.t).Gid)); err != nil {
			s.t.Fatal(err)
		}
	}
	from := fmt.Sprintf("host=%s port=%d user=longshore application_name=%s", s.Dir, s.Port, name)
	if out, err := b.Command("pg_basebackup", "-D", b.data(), "-d", from, "-R", "-X", "stream", "-c", "fast", "--no-sync").CombinedOutput(); err != nil {
		s.t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	b.ends()
	b.Again()
	return b
}

// Promote makes a standby a server that takes writes.
func (s *Server) Promote() {
	s.t.Helper()
	if out, _ := s.Psql("postgres", "SELECT pg_promote()"); out != "t\n" {
		s.t.Fatalf("pg_promote: %s", out)
	}
}
