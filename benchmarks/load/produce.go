package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
)

const maxResponseBytes = 1 << 20

// produce sends one Produce request repeatedly, each client on a connection of its own.
func produce(arguments []string) (Summary, error) {
	flags := flag.NewFlagSet("produce", flag.ContinueOnError)
	address := flags.String("address", "", "the leader, host:port")
	frameFile := flags.String("frame", "", "file with the whole request, its size included")
	errorAt := flags.Int("error-at", 0, "position of the error code in the response, from the end of its size field")
	certificate := flags.String("certificate", "", "PEM file with key and certificate of the clients; empty for no TLS")
	authority := flags.String("authority", "", "PEM file with the authority of the leader's certificate")
	clients := flags.Int("clients", 1, "how many")
	total := flags.Int("total", 1, "appends of all clients together")
	if err := flags.Parse(arguments); err != nil {
		return Summary{}, err
	}
	frame, err := os.ReadFile(*frameFile)
	if err != nil {
		return Summary{}, err
	}
	dial := func() (net.Conn, error) { return net.Dial("tcp", *address) }
	if *certificate != "" {
		if dial, err = tlsDialer(*address, *certificate, *authority); err != nil {
			return Summary{}, err
		}
	}
	appends := make([]Append, *clients)
	for i := range appends {
		connection, err := dial()
		if err != nil {
			return Summary{}, err
		}
		defer connection.Close()
		appends[i] = producer(connection, frame, *errorAt)
	}
	return measure(appends, *total / *clients)
}

func tlsDialer(address, certificate, authority string) (func() (net.Conn, error), error) {
	pair, err := tls.LoadX509KeyPair(certificate, certificate)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: expected certificates as PEM", authority)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: trusted}
	return func() (net.Conn, error) { return tls.Dial("tcp", address, config) }, nil
}

func producer(connection net.Conn, frame []byte, errorAt int) Append {
	var size [4]byte
	var response []byte
	return func(int) error {
		if _, err := connection.Write(frame); err != nil {
			return err
		}
		if _, err := io.ReadFull(connection, size[:]); err != nil {
			return err
		}
		length := int(binary.BigEndian.Uint32(size[:]))
		if length < errorAt+2 || length > maxResponseBytes {
			return fmt.Errorf("a response of %d bytes: expected %d to %d", length, errorAt+2, maxResponseBytes)
		}
		if cap(response) < length {
			response = make([]byte, length)
		}
		response = response[:length]
		if _, err := io.ReadFull(connection, response); err != nil {
			return err
		}
		if code := int16(binary.BigEndian.Uint16(response[errorAt:])); code != 0 {
			return fmt.Errorf("the append was rejected with Kafka's error code %d", code)
		}
		return nil
	}
}
