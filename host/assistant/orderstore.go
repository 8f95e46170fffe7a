package assistant

// turn returns the records of a thread's present turn, as they were last written; nil if
// there is none.
func (s *store) turn(thread string) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &turn{}
	if s.load(turnName(thread), t) != nil {
		return nil
	}
	return t
}

// turnName is the name of the file that holds a thread's turn.
func turnName(thread string) string {
	if thread == "" {
		return turnFile
	}
	return threadTurn + key(thread)
}

// oldest is the name of the turn's first record, or empty.
func (t *turn) oldest() string {
	if t.empty() {
		return ""
	}
	first := t.Names[0]
	for _, name := range t.Names {
		first = min(first, name)
	}
	return first
}

// forgetSession makes a thread's next turn begin a new conversation.
func (s *store) forgetSession(thread string) error {
	if s.session(thread) == "" {
		return nil
	}
	return s.saveSession(thread, "")
}

// forgetThreads does the same for all threads.
func (s *store) forgetThreads() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	any := false
	for i := range s.register.Threads {
		t := &s.register.Threads[i]
		any = any || t.Session != ""
		t.Session, t.Forgotten = "", false
	}
	if !any {
		return nil
	}
	return s.save(threadsFile, s.register)
}
