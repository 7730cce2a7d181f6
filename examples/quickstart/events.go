package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

//go:embed testdata/github-events.ndjson
var builtIn []byte

// event is one line of the input. The payload stays as it is, byte for byte.
type event struct {
	Topic   string          `json:"topic"`
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload"`

	line int
}

// loadEvents reads up to n events from the named source.
func loadEvents(name string, stdin io.Reader, n int) ([]event, error) {
	switch name {
	case "":
		return readEvents(bytes.NewReader(builtIn), "the built-in events", n)
	case "-":
		return readEvents(stdin, "standard input", n)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	defer file.Close()
	return readEvents(file, name, n)
}

func readEvents(r io.Reader, name string, n int) ([]event, error) {
	in := bufio.NewReader(r) // not a Scanner: it gives up at lines over 64 KiB
	var events []event
	for line := 1; len(events) < n; line++ {
		text, readErr := in.ReadBytes('\n')
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return nil, fmt.Errorf("%w: read %s: %w", errUsage, name, readErr)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			e, err := parseEvent(text)
			if err != nil {
				return nil, fmt.Errorf("%w: %s, line %d: %w", errUsage, name, line, err)
			}
			e.line = line
			events = append(events, e)
		}
		if readErr != nil {
			break
		}
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("%w: %s: there is no event in it", errUsage, name)
	}
	return events, nil
}

func parseEvent(text []byte) (event, error) {
	var e event
	switch err := json.Unmarshal(text, &e); {
	case err != nil:
		return e, fmt.Errorf("not an event: %w", err)
	case e.Topic == "":
		return e, errors.New(`not an event: "topic" is missing or empty`)
	case e.Payload == nil:
		return e, errors.New(`not an event: "payload" is missing`)
	}
	return e, nil
}
