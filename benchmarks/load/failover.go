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
	// A put to a dead leader waits for seconds; one that is cancelled and sent again finds the next leader sooner.
	tryFor  = 200 * time.Millisecond
	pause   = 2 * time.Millisecond
	longest = 60 * time.Second
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

// Response is the response to a Call: {"result": {"ms": 1220.5}}.
type Response struct {
	Result Recovery `json:"result"`
}

// Recovery has the time from the signal until the next put was acknowledged.
type Recovery struct {
	Ms float64 `json:"ms"`
}

// putAfterSignal reads one call from each line. It puts some values, sends the signal, and puts until one is acknowledged.
func putAfterSignal(arguments []string, calls io.Reader, responses io.Writer) error {
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
		response := Response{Result: Recovery{Ms: time.Since(started).Seconds() * 1000}}
		if err := json.NewEncoder(responses).Encode(response); err != nil {
			return err
		}
	}
	return lines.Err()
}

func until(try func() error) error {
	deadline := time.Now().Add(longest)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no put was acknowledged within %s: %w", longest, err)
		}
		time.Sleep(pause)
	}
}
