package finding

// The names of findings. Those of an assistant that does not answer are package cause's.
const (
	Channel   = "channel_down"     // the channel is not connected
	Listener  = "listener_down"    // an address cannot be listened on
	Turns     = "turns_broken"     // turns of an assistant broke in a row
	Disk      = "disk_low"         // less than twice limits.free_disk is free
	Accepting = "not_accepting"    // no delivery can be accepted
	Stuck     = "queue_waits"      // a group's queue waits behind a request that the host cannot accept
	Errors    = "errors_growing"   // requests are refused one after the other
	Clock     = "clock_off"        // the platforms' clocks show another time
	Config    = "config_refused"   // the last reload was refused
	Backup    = "backup_failed"    // the daily backup was not made
	Engine    = "engine_down"      // the container engine does not answer, or lacks an image
	Program   = "program_missing"  // the host does not find an assistant's program
	Machine   = "machine_down"     // the machine of an assistant over ssh does not answer
	Trigger   = "never_called"     // members write, and none has ever used the group's trigger
	Chat      = "chat_unknown"     // somebody calls the assistant in a chat that no group has
	Groups    = "groups_gone"      // the file has lost more than half of the groups
	Queue     = "queue_unreadable" // the host may not use a directory of a group's queue
	Mount     = "mount_missing"    // a directory that a group shares is gone
	Call      = "call_refused"     // an assistant's call of the model holds what provider_tools does not allow
)
