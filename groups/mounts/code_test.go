package mounts_test

import (
	"errors"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// code is the code of a refusal, "" for no error, "passing" for another error.
func code(err error) string {
	var refusal *refusal.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Code
	}
	return "passing"
}
