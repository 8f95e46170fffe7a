package turns

import (
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/internal/cause"
)

// phrase describes for the chat why the assistant cannot answer, without a period. Causes
// with sentences of their own, which stand below, are missing here.
func phrase(c cause.Cause) string {
	switch c {
	case cause.Busy:
		return "The model is busy"
	case cause.Failing:
		return "The model's service reports an error"
	case cause.Unreachable:
		return "The model cannot be reached"
	case cause.Silent:
		return "The model is not answering"
	case cause.Key:
		return "The model's service does not accept the assistant's key"
	case cause.Credit:
		return "The model's credit is used up"
	case cause.Budget:
		return "The budget of this chat's assistant is used up"
	case cause.NotInstalled:
		return "The assistant's program is not installed"
	case cause.Tools:
		return "The assistant's tools do not work"
	case cause.Image:
		return "The assistant's image is missing"
	case cause.Start:
		return "The container engine does not start the assistant"
	case cause.Directory, cause.Mount:
		return "A directory of the assistant's is missing or not usable"
	case cause.Setup:
		return "The assistant's setup is not complete"
	case cause.Absent:
		return "The assistant does not fetch its messages"
	}
	return "The assistant could not answer"
}

// What a chat is told of a cause.
func stillTrying(c cause.Cause) string { return phrase(c) + "; the assistant is still trying." }
func triesAgain(c cause.Cause) string  { return phrase(c) + ". The assistant tries again." }
func isGivenUp(c cause.Cause) string {
	return phrase(c) + ", also after several attempts. Please ask again later."
}
func brokeOff(c cause.Cause) string {
	return phrase(c) + ", so the assistant stopped in the middle of its answer. Please ask again for what is missing."
}
func tooLong(c cause.Cause) string {
	return phrase(c) + ", so the assistant was ended. Please ask again later."
}

// waitsFor says that a message waits until an operator has fixed something, such as a
// missing package; empty: none is known.
func waitsFor(c cause.Cause, missing string, hold time.Duration) string {
	if c == cause.Absent {
		return fmt.Sprintf("The assistant is not connected at the moment. Your message is kept for %s and answered when the assistant is back.", span(hold))
	}
	if c == cause.Budget {
		return fmt.Sprintf("%s. Your message is kept for %s and answered when the budget begins anew, or the operator raises it.", phrase(c), span(hold))
	}
	if missing != "" {
		missing = ": the package " + missing + " is missing"
	}
	return fmt.Sprintf("%s%s. An operator has to see to it. Your message is kept for %s and answered after that.", phrase(c), missing, span(hold))
}

// expired says that messages have waited too long, or were too many.
func expired(n int, hold time.Duration) string {
	which := "One message was"
	if n > 1 {
		which = fmt.Sprintf("%d messages were", n)
	}
	return fmt.Sprintf("%s not answered: the assistant cannot answer at the moment, and messages are kept for %s and up to %d of them. Please send again what still matters.", which, span(hold), maxHeld)
}

// span formats a duration for people.
func span(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return fmt.Sprintf("%d seconds", int(d.Seconds()))
}

// The host's own messages to a chat.
const (
	tryingAgain  = "The assistant stopped unexpectedly. It is being started again."
	failedOnce   = "The assistant could not answer. It is being asked again."
	interrupted  = "The assistant was interrupted while it was answering. Please ask again for what is missing."
	gaveUp       = "The assistant could not answer, after several attempts. The operator finds the reason in the host's log; please ask again later."
	tookTooLong  = "The assistant took too long and was ended. Please ask again, perhaps for less at once."
	outOfMemory  = "The assistant ran out of memory each time it tried. Please ask for less at once, or have the operator give it more."
	outOfRoom    = "The assistant ran out of memory. It is being started again."
	startsAnew   = "This thread was quiet for long, so the assistant no longer remembers what was said in it."
	movedOn      = "The assistant now works on another machine and begins anew: it no longer has its files, nor what it remembered of this chat."
	waitsTurn    = "The assistant is still busy with another thread of this chat. It answers here as soon as it is done there."
	answersAgain = "The model answers again."
	notThere     = "The assistant cannot be started at the moment. Your message is kept and will be answered as soon as it can be."
)
