package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"syscall"
	"time"
)

const (
	putsBefore = 20
	// A put whose leader is gone waits for seconds; one that is given up and sent again finds the next leader sooner.
	tryFor    = 200 * time.Millisecond
	pause     = 2 * time.Millisecond
	giveUpFor = 60 * time.Second
)

// Call asks for one measurement: {"name": "recover", "arguments": {"pid": 4711, "signal": 9}}.
type Call struct {
	Name      string `json:"name"`
	Arguments Fault  `json:"arguments"`
}

// Fault is a signal for a process.
type Fault struct {
	Pid    int `json:"pid"`
	Signal int `json:"signal"`
}

// Answer is the answer to a Call: {"result": {"ms": 1220.5}}.
type Answer struct {
	Result Recovery `json:"result"`
}

// Recovery says how long it took until the next put was acknowledged.
type Recovery struct {
	Ms float64 `json:"ms"`
}

// putAfterSignal reads calls, one a line. It puts a few values, sends the signal, and puts until one is acknowledged.
func putAfterSignal(arguments []string, calls io.Reader, answers io.Writer) error {
	flags := flag.NewFlagSet("put-after-signal", flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "the members, host:port,...")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	connection, err := connect(*endpoints)
	if err != nil {
		return err
	}
	defer connection.Close()
	tryPut := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), tryFor)
		defer cancel()
		_, err := connection.Put(ctx, "key", "value")
		return err
	}
	lines := bufio.NewScanner(calls)
	for lines.Scan() {
		var call Call
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return err
		}
		fault := call.Arguments
		for range putsBefore {
			if err := until(tryPut); err != nil {
				return err
			}
		}
		started := time.Now()
		if err := syscall.Kill(fault.Pid, syscall.Signal(fault.Signal)); err != nil {
			return fmt.Errorf("signal %d to process %d: %w", fault.Signal, fault.Pid, err)
		}
		if err := until(tryPut); err != nil {
			return err
		}
		answer := Answer{Result: Recovery{Ms: time.Since(started).Seconds() * 1000}}
		if err := json.NewEncoder(answers).Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func until(try func() error) error {
	deadline := time.Now().Add(giveUpFor)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no put is acknowledged within %s: %w", giveUpFor, err)
		}
		time.Sleep(pause)
	}
}
