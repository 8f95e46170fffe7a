// This module is not below Longshore's import path, as your program is not: it can use
// exported types only.
module example.com/wordcount

go 1.26.5

replace github.com/longshore-bridge/longshore => ../..

require (
	github.com/longshore-bridge/longshore v0.0.0-00010101000000-000000000000
	github.com/mark3labs/mcp-go v1.2.1
)

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/gabriel-vasile/mimetype v1.4.16 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/spf13/cast v1.7.1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
