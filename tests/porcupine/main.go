// Judges with Porcupine whether a history of appends to a log and of reads of its end is linearizable.
//
//	go run . HISTORY
//
// HISTORY has a line of JSON for each operation, as tests/workload/timed_operations.py writes it. The exit code is 0 if
// the history is linearizable, 1 if it is not, and 2 if that was not decided.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const timeout = 2 * time.Minute

// operation is one line of the history.
type operation struct {
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	InvokedNs   int64  `json:"invoked_ns"`
	AnsweredNs  int64  `json:"answered_ns"`
	StartOffset int64  `json:"start_offset"`
	EndOffset   int64  `json:"end_offset"`
	HiddenTo    int64  `json:"hidden_to"`
}

// input says where an operation belongs in the order of the log. An append is number `lowest` of all appends. A read may
// follow any number of appends from `lowest`, those below the end that it returned, to `highest`, which includes those
// behind an open transaction. With these numbers the search has one append to try at each step, and not all in flight.
type input struct {
	isAppend        bool
	lowest, highest int
	start, end      int64
}

// state is the number of appends, and the highest end that a read has returned.
type state struct {
	appends int
	readEnd int64
}

var model = porcupine.Model{
	Init: func() interface{} { return state{} },
	Step: func(before, given, _ interface{}) (bool, interface{}) {
		log, in := before.(state), given.(input)
		if in.isAppend {
			return log.appends == in.lowest && in.start >= log.readEnd, state{log.appends + 1, log.readEnd}
		}
		isSeen := in.lowest <= log.appends && log.appends <= in.highest
		return isSeen && in.end >= log.readEnd, state{log.appends, in.end}
	},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "expected one argument: the file with the history")
		os.Exit(2)
	}
	operations, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot read %s: %v\n", os.Args[1], err)
		os.Exit(2)
	}
	result := porcupine.CheckOperationsTimeout(model, placed(operations), timeout)
	fmt.Printf("%s: %d operations\n", map[porcupine.CheckResult]string{
		porcupine.Ok:      "linearizable",
		porcupine.Illegal: "not linearizable",
		porcupine.Unknown: fmt.Sprintf("not decided within %s", timeout),
	}[result], len(operations))
	os.Exit(map[porcupine.CheckResult]int{porcupine.Ok: 0, porcupine.Illegal: 1, porcupine.Unknown: 2}[result])
}

func read(path string) ([]operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var operations []operation
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var each operation
		if err := json.Unmarshal(lines.Bytes(), &each); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(operations)+1, err)
		}
		if each.Kind != "append" && each.Kind != "read" {
			return nil, fmt.Errorf("line %d: kind %q: expected append or read", len(operations)+1, each.Kind)
		}
		operations = append(operations, each)
	}
	return operations, lines.Err()
}

// placed returns the operations with their places in the order of the log.
func placed(operations []operation) []porcupine.Operation {
	var starts []int64
	for _, each := range operations {
		if each.Kind == "append" {
			starts = append(starts, each.StartOffset)
		}
	}
	sort.Slice(starts, func(i, j int) bool { return starts[i] < starts[j] })
	below := func(offset int64) int {
		return sort.Search(len(starts), func(i int) bool { return starts[i] >= offset })
	}
	placed := make([]porcupine.Operation, 0, len(operations))
	for number, each := range operations {
		in := input{isAppend: each.Kind == "append", start: each.StartOffset, end: each.EndOffset}
		if in.isAppend {
			in.lowest = below(each.StartOffset)
		} else {
			in.lowest, in.highest = below(each.EndOffset), below(max(each.EndOffset, each.HiddenTo))
		}
		placed = append(placed, porcupine.Operation{
			ClientId: number, Input: in, Call: each.InvokedNs, Output: nil, Return: each.AnsweredNs,
		})
	}
	return placed
}
