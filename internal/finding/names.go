package finding

// The names of findings. Those of an assistant that does not answer are package cause's.
const (
	OK = "ok" // of all that is well

	Host     = "host_down"     // no host runs
	Silent   = "host_silent"   // the host runs and does not answer
	Denied   = "host_denied"   // this user may not ask the host
	Process  = "no_proc"       // there is no /proc
	Inotify  = "inotify_few"   // the kernel allows few watches
	Unasked  = "not_examined"  // a part has not answered within the time of an examination
	FilesFew = "files_few"     // the host's process can open no more files
	FileSize = "file_limit"    // the host's process may not write files of the size of its database
	User     = "user_differs"  // who asks is not the host's user
	Listener = "listener_down" // nobody can listen on an address
	Backup   = "backup_failed" // the daily backup was not made
	Fixed    = "not_fixed"     // doctor --fix could not mend something

	Invalid    = "config_invalid" // longshore.yaml cannot be served
	Config     = "config_refused" // the last reload was refused
	ConfigOpen = "config_open"    // others may write longshore.yaml
	Advice     = "config_advice"  // longshore.yaml has something that is unsafe or uncertain
	Secret     = "secret_unread"  // the file of a secret that the host has read cannot be read again
	Groups     = "groups_gone"    // the file has lost groups that the host has served

	ClusterConfig   = "cluster_config"   // a host of the cluster has another configuration than the owner
	ClusterVersion  = "cluster_version"  // a host's program is older than the state
	ClusterName     = "cluster_name"     // two hosts have one name, or one state two clusters
	ClusterHost     = "cluster_host"     // a host of the cluster is gone
	ClusterPromoted = "cluster_promoted" // a server was promoted that may lack the last commits
	ClusterDatabase = "cluster_database" // the lease cannot be asked for or renewed

	StateGone = "state_gone"          // the state, or a file of it, went away while the host runs
	State     = "state_unusable"      // the host cannot read and write a part of the state
	StateOpen = "state_open"          // other users may see or change a part of the state
	StateNone = "state_missing"       // no host has made the state yet
	Restore   = "restore_interrupted" // a restore has left something
	Damaged   = "store_damaged"       // a database cannot be read
	Locked    = "store_locked"        // a process that does not answer has a database open
	Aside     = "files_aside"         // a start has moved files aside
	Trail     = "audit_broken"        // the audit trail is not as it was written

	FilesAway      = "files_away"      // the place of state.files is not there
	FilesUnread    = "files_unread"    // files there could not be read
	FilesUnwritten = "files_unwritten" // files there could not be written
	FilesDamaged   = "files_damaged"   // files there are missing, or have other bytes than were accepted

	Disk      = "disk_low"       // little of the disk is free
	DiskKind  = "disk_unsuited"  // the state's file system may lose it
	Accepting = "not_accepting"  // no delivery can be accepted
	Clock     = "clock_off"      // the platforms' clocks show another time
	Unsynced  = "clock_unsynced" // nobody sets the clock

	Channel      = "channel_down"           // the channel is not connected
	ChannelSetup = "channel_setup"          // the channel works, and may not for all
	Chat         = "chat_not_registered"    // somebody calls the assistant in a chat that no group has
	Tools        = "media_tools"            // how the programs run that read files
	Transcribe   = "transcription_unusable" // an entry of transcription: cannot be used

	NotServed   = "group_not_served" // the host does not serve the group, or not as the file says
	NoAssistant = "no_assistant"     // the group has none
	NoToken     = "no_token"         // no token lets the assistant elsewhere fetch the group's messages
	Hours       = "outside_hours"    // files leave later: may_send.hours

	Trigger = "never_called"       // members write, and none has ever used the group's trigger
	Turns   = "turns_broken"       // turns of an assistant broke in a row
	Limits  = "engine_limits"      // the container engine cannot limit everything
	Key     = "key_exposed"        // a container gets the model's key
	Untried = "key_untried"        // it is unknown whether the service takes the model's key
	Model   = "model_missing"      // the service does not have the assistant's model
	Call    = "model_call_refused" // an assistant's call of the model holds what provider_tools does not allow

	Queue   = "queue_unusable" // the host, or the group's container, may not use a directory of a group's queue
	Unknown = "queue_unknown"  // a queue belongs to no group
	Stuck   = "queue_waits"    // a group's queue waits behind a request that the host cannot accept
	Errors  = "errors_growing" // requests are refused one after the other
	Refused = "errors_waiting" // there are requests in the errors folder
)
