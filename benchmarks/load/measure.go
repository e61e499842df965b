package main

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

// Summary has the number of acknowledged appends and the times that they took.
type Summary struct {
	Appends int     `json:"appends"`
	Seconds float64 `json:"seconds"`
	P50Ms   float64 `json:"p50_ms"`
	P99Ms   float64 `json:"p99_ms"`
}

// Append makes the append with this number and returns once it is acknowledged.
type Append func(number int) error

// measure has every client append `each` times, one append at a time, all clients at once. Connections are open before.
func measure(clients []Append, each int) (Summary, error) {
	if len(clients) == 0 || each == 0 {
		return Summary{}, fmt.Errorf("%d clients with %d appends each: expected 1 or more of both", len(clients), each)
	}
	times := make([][]time.Duration, len(clients))
	errors := make([]error, len(clients))
	var running sync.WaitGroup
	started := time.Now()
	for i, client := range clients {
		running.Add(1)
		go func() {
			defer running.Done()
			times[i], errors[i] = timed(client, each)
		}()
	}
	running.Wait()
	seconds := time.Since(started).Seconds()
	for i, err := range errors {
		if err != nil {
			return Summary{}, fmt.Errorf("client %d: %w", i, err)
		}
	}
	return summarize(times, seconds), nil
}

func timed(client Append, each int) ([]time.Duration, error) {
	times := make([]time.Duration, 0, each)
	for number := range each {
		started := time.Now()
		if err := client(number); err != nil {
			return nil, err
		}
		times = append(times, time.Since(started))
	}
	return times, nil
}

func summarize(times [][]time.Duration, seconds float64) Summary {
	var all []time.Duration
	for _, of := range times {
		all = append(all, of...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	at := func(percent int) float64 { return all[len(all)*percent/100].Seconds() * 1000 }
	return Summary{Appends: len(all), Seconds: seconds, P50Ms: at(50), P99Ms: at(99)}
}
