// Package safefs works on files and directories in places where somebody else
// may write, such as an assistant in its container. It follows no link, and
// uses exactly the file that it has checked.
package safefs
