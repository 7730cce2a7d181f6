package fleet

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// publisher hands messages to a receiver, one request and one answer at a time on each of its connections.
type publisher struct {
	name    string
	address string
	patient bool // waits for the answer, also when it comes too late
	idle    chan *link
}

type link struct {
	net.Conn
	enc *gob.Encoder
	dec *gob.Decoder
}

func newPublisher(name, address string, patient bool) *publisher {
	return &publisher{name: name, address: address, patient: patient, idle: make(chan *link, 64)}
}

func (p *publisher) Publish(ctx context.Context, m relay.Message) error {
	l, err := p.link(ctx)
	if err != nil {
		return relay.Unavailable(err)
	}
	cut := context.AfterFunc(ctx, func() {
		if !p.patient {
			_ = l.SetDeadline(time.Now().Add(100 * time.Millisecond)) // an answer that has come already is not thrown away
		}
	})
	a, err := l.ask(receipt{
		ID: m.ID, Topic: m.Topic, Key: m.Key, Payload: m.Payload, Headers: m.Headers,
		Seq: m.Seq, Attempt: m.Attempt, Requeued: m.Requeued, Token: m.Token, Relay: p.name,
	})
	if !cut() || err != nil {
		_ = l.Close()
	} else {
		p.idle <- l
	}
	if err != nil {
		return relay.Unavailable(errors.Join(err, ctx.Err()))
	}
	switch a.Kind {
	case answerPermanent:
		return relay.Permanent(errors.New(a.Text))
	case answerFailed:
		return errors.New(a.Text)
	case answerExit:
		os.Exit(exitCulprit)
	}
	return nil
}

func (p *publisher) link(ctx context.Context) (*link, error) {
	select {
	case l := <-p.idle:
		return l, nil
	default:
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	return &link{Conn: c, enc: gob.NewEncoder(c), dec: gob.NewDecoder(c)}, nil
}

func (l *link) ask(r receipt) (answer, error) {
	var a answer
	if err := l.enc.Encode(r); err != nil {
		return a, fmt.Errorf("hand over: %w", err)
	}
	if err := l.dec.Decode(&a); err != nil {
		return a, fmt.Errorf("read answer: %w", err)
	}
	return a, nil
}
