package fleet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// githubEvents reads testdata/github-events.ndjson.gz: 329 real webhook payloads (see testdata/README.md).
func githubEvents(t *testing.T) []outbox.Event {
	t.Helper()
	f, err := os.Open("testdata/github-events.ndjson.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var events []outbox.Event
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Topic, Key string
			Payload    json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		events = append(events, outbox.Event{
			Topic: line.Topic, Key: line.Key, Payload: line.Payload,
			Headers: map[string]string{"content-type": "application/json"},
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(events) != 329 {
		t.Fatalf("%d events, want 329", len(events))
	}
	return events
}

// oddEvents are bytes and texts that an engine, a driver or a literal in SQL might change.
func oddEvents(rnd *rand.ChaCha8) []outbox.Event {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	payloads := [][]byte{
		nil, {0}, every, bytes.Repeat(every, 16), []byte(`\`), []byte(`'`), []byte("\\'\"\x00\x1a\r\n%?$1"),
		[]byte("\xff\xfe\xfd"), []byte("\xef\xbb\xbf{}"), []byte(` {"b": 1.0, "a":1e2, "a":"\u0000"} `),
		bytes.Repeat([]byte{0xff}, outbox.DefaultMaxPayload),
	}
	for size := range 40 {
		b := make([]byte, 1+size*size*13)
		_, _ = rnd.Read(b) // never fails
		payloads = append(payloads, b)
	}
	texts := []string{"plain", "a ", " a", "ä", "ä", "Straße", "日本", "😀", "'\"\\", "%_", "\u202e", "\ufeff", "\x01\x7f", "A", "a"}
	var events []outbox.Event
	for i, p := range payloads {
		text := texts[i%len(texts)]
		events = append(events, outbox.Event{
			ID: fmt.Sprint(i, text), Topic: "t" + text, Key: text, Payload: p,
			Headers: map[string]string{"h" + text: text, "empty": ""},
		})
	}
	return events
}

func TestBytesInAreBytesOut(t *testing.T) {
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		var seed [32]byte
		for i := range seed {
			seed[i] = byte(rand.IntN(256))
		}
		t.Logf("seed %x", seed)
		events := append(githubEvents(t), oddEvents(rand.NewChaCha8(seed))...)
		ids := d.write(t, events...)
		rc := newReceiver(t, nil)
		f := newFleet(t, d.url, rc, relay.Options{Order: order})
		f.start()
		eventually(t, time.Minute, "all have arrived", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 10*time.Second)
		f.stopAll()
		got := make(map[string]receipt)
		for _, r := range rc.receipts() {
			got[r.ID] = r
		}
		for i, e := range events {
			r := got[ids[i]]
			if e.ID != "" && e.ID != ids[i] {
				t.Errorf("event %d: id %q became %q", i, e.ID, ids[i])
			}
			if !bytes.Equal(r.Payload, e.Payload) {
				t.Errorf("event %d (%s): %d bytes of payload went in and %d other ones came out", i, e.Topic, len(e.Payload), len(r.Payload))
			}
			if r.Topic != e.Topic || r.Key != e.Key || !maps.Equal(r.Headers, e.Headers) {
				t.Errorf("event %d: %q %q %q became %q %q %q", i, e.Topic, e.Key, e.Headers, r.Topic, r.Key, r.Headers)
			}
		}
		rc.wantOrder(t, order)
	})
}
