package whatsapp_test

// childPrograms are what the test binary does instead of testing when
// WHATSAPP_TEST_CHILD names one: what has to be a process of its own.
var childPrograms = map[string]func() int{}
