package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const (
	dialTimeout = 5 * time.Second
	// A connection of etcd's client has many calls in flight; with 8 connections, they do not limit the rate.
	mostConnections = 8
)

// put writes values to etcd, each under a new key.
func put(arguments []string) (Summary, error) {
	flags := flag.NewFlagSet("put", flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "the members, host:port,...")
	valueBytes := flags.Int("value-bytes", 256, "size of each value")
	clients := flags.Int("clients", 1, "how many")
	total := flags.Int("total", 1, "puts of all clients together")
	if err := flags.Parse(arguments); err != nil {
		return Summary{}, err
	}
	value := strings.Repeat("x", *valueBytes)
	connections := make([]*clientv3.Client, min(*clients, mostConnections))
	for i := range connections {
		connection, err := connect(*endpoints)
		if err != nil {
			return Summary{}, err
		}
		defer connection.Close()
		if _, err := connection.Put(context.Background(), "first", value); err != nil {
			return Summary{}, err
		}
		connections[i] = connection
	}
	appends := make([]Append, *clients)
	for i := range appends {
		connection := connections[i%len(connections)]
		appends[i] = func(number int) error {
			_, err := connection.Put(context.Background(), fmt.Sprintf("client-%d-%d", i, number), value)
			return err
		}
	}
	return measure(appends, *total / *clients)
}

func connect(endpoints string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints:   strings.Split(endpoints, ","),
		DialTimeout: dialTimeout,
		Logger:      zap.NewNop(),
	})
}
