package operator_test

import "net/http"

// healthy is a Health that has nothing to complain about.
func healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
}
