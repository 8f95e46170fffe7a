package groups

// Asker is who asks for something. A queue directory and a token without a thread are a
// whole group: for them a thread is an address. A token with a thread is that one
// conversation of the group's chat: what lies in another does not exist for it. Look-ups
// take an Asker, so that none knows the folder alone. [Registry.Asker] makes one.
type Asker struct {
	folder string
	chat   Address // the group's own
	thread string  // the one conversation; empty: the whole group
}

// Asker returns who asks in the name of a group: the one conversation in a thread of its
// chat, or the whole group if thread is empty.
func (r *Registry) Asker(folder, thread string) Asker {
	g, _ := r.ByFolder(folder)
	return Asker{folder: folder, chat: g.Address(), thread: thread}
}

// Folder is the folder of the group.
func (a Asker) Folder() string { return a.folder }

// Bound returns the thread of the one conversation that asks; false: the whole group asks.
func (a Asker) Bound() (thread string, bound bool) { return a.thread, a.thread != "" }

// Object says where something lies that a request names, such as a delivery or a task.
type Object struct {
	Chat   Address // that shows it
	Thread string  // of that chat
	Folder string  // of the group that asked for it
	Asked  string  // the one conversation that asked for it; empty: the whole group
}

// Sees reports whether an object exists for the asker, among those that its whole group may
// name. A conversation sees what its thread shows, and what it has asked for elsewhere.
func (a Asker) Sees(o Object) bool {
	if a.thread == "" {
		return true
	}
	return o.Chat == a.chat && o.Thread == a.thread || o.Folder == a.folder && o.Asked == a.thread
}
