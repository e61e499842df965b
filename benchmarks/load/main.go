// Command load appends to a quorum or to etcd and measures the time. One generator measures both, so that its own
// cost is the same on both.
//
//	load produce -address HOST:PORT -frame FILE -error-at N -clients N -total N [-certificate PEM -authority PEM]
//	load put -endpoints HOST:PORT,... -value-bytes N -clients N -total N
//	load put-after-signal -endpoints HOST:PORT,...
//
// The first two print one JSON object, a Summary. The third reads calls from standard input; see failover.go.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("expected one of produce, put, put-after-signal")
	}
	var summary Summary
	var err error
	switch name := arguments[0]; name {
	case "produce":
		summary, err = produce(arguments[1:])
	case "put":
		summary, err = put(arguments[1:])
	case "put-after-signal":
		return putAfterSignal(arguments[1:], os.Stdin, os.Stdout)
	default:
		return fmt.Errorf("command %q: expected one of produce, put, put-after-signal", name)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(summary)
}
