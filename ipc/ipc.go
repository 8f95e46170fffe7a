// Package ipc is the file queue between a container and its host: what both ends write
// and read, and the container's end. The host's end is package spool.
//
// A request is one small JSON file. The container's end ([Client]) writes the file
// under a dotted name and renames it into messages/. The host's end reads the file
// once, decodes it strictly ([Decode]), hands it out in a batch, and answers with a
// [Result] in results/ under the same name.
//
//	ipc/<folder>/messages/<id>.json   requests, written by the container
//	ipc/<folder>/files/<id>/<name>    bytes that the container staged for a request
//	ipc/<folder>/results/<id>.json    results, read-only in the container
//	ipc/<folder>/results/<time>.batch results of requests that asked for them so, a line each
//	ipc/<folder>/files/<id>.json      requests too, as some NanoClaw forks write them
//	ipc/<folder>/input/<name>.json    follow-up messages for the assistant; _close asks it to end
//	ipc/<folder>/context/context.json what the tools may tell the agent, read-only
//	ipc/errors/<folder>-<id>.json     what was refused, as it was read
//	ipc/errors/<folder>-<id>.reason.json  why, when, and what to do about it
//
// The layout and the field names follow NanoClaw v1, if v1 has them.
//
// Neither package decides who may send what, opens the files that a request names, or
// keeps a record of its own. The caller of the spool does that.
package ipc

// Directory names below ipc/<folder>, and the errors folder beside the folders.
const (
	MessagesDir = "messages"
	FilesDir    = "files"
	ResultsDir  = "results"
	InputDir    = "input"
	ContextDir  = "context"
	ErrorsDir   = "errors"
)
