package main

import (
	"errors"
	"testing"
	"time"
)

func TestSummaryHoldsTheMedianAndTheNinetyNinthPercentile(t *testing.T) {
	var times []time.Duration
	for ms := range 200 {
		times = append(times, time.Duration(ms)*time.Millisecond)
	}

	summary := summarize([][]time.Duration{times[100:], times[:100]}, 2)

	expected := Summary{Appends: 200, Seconds: 2, P50Ms: 100, P99Ms: 198}
	if summary != expected {
		t.Fatalf("got %+v, expected %+v", summary, expected)
	}
}

func TestMeasureReturnsTheErrorOfAClient(t *testing.T) {
	refused := errors.New("refused")
	accepts := func(int) error { return nil }
	refuses := func(int) error { return refused }

	_, err := measure([]Append{accepts, refuses}, 3)

	if !errors.Is(err, refused) {
		t.Fatalf("got %v, expected %v", err, refused)
	}
}
