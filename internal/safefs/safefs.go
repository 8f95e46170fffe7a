// Package safefs works on files and directories in places where somebody else
// may write, such as an assistant in its container. No link is followed on the
// way, and what was checked is what is used.
package safefs
