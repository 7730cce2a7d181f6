package relay

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// A held key may have a mountain of events, all before those of other keys. A turn that finds one leaves its partition out
// of what it reads, so that the others get on, and puts a part of the mountain aside besides. The other keys of that
// partition are looked for past the mountain: in full order, and so at a cost that grows with it. That and the putting aside
// are done now and then, each for a sixteenth of the time at most while there is anything else to hand over. Since a look at
// what is pending goes past the mountain as well, a turn takes more at once meanwhile.

// A turn puts aside so much of a mountain: more as long as that takes little time.
const (
	leastStep = maxBatch / 2
	mostStep  = 16 * leastStep
	stepTime  = 200 * time.Millisecond
)

// seldom is how many times as long as something takes pass until it is done again, while there is something else to do.
const seldom = 16

const (
	// By (state, seq, partition_no), in order and without a sort.
	lookAtKeys = `SELECT seq, event_key, created_ms, due_ms, attempts, (SELECT {clock}) FROM {events}{use_pending}
WHERE state <= 0 AND seq > ? AND partition_no IN ({list}) ORDER BY state, seq LIMIT ?`
	lookPast = `SELECT ` + eventColumns + `
FROM {events}{use_pending} WHERE state <= 0 AND partition_no IN ({list}) AND (seq <= ? OR event_key NOT IN ({beside})) ORDER BY state, seq LIMIT ?`
)

// timesRoom is how many times its room a turn takes while there are mountains, since each look goes past them.
const timesRoom = 8

// mountains are the keys with so much behind their holder that their partition is read apart. Times are by r.now().Mono.
type mountains struct {
	keys                map[string]bool
	pastNext, levelNext time.Duration // when past them is to be looked next, and a part of them to be put aside
	levelTo             int64         // how far putting aside has come; what a rollback leaves before it is met again
	step                int           // how much a turn puts aside
	alone               bool          // the last look found nothing but mountains
}

// isTime reports whether what is done seldom is to be done.
func (m *mountains) isTime(next, now time.Duration) bool { return m.alone || now >= next }

func (m *mountains) add(key string) {
	if !m.keys[key] {
		m.keys[key], m.levelTo = true, 0
	}
}

func (m *mountains) forget() {
	clear(m.keys)
	m.levelTo = 0
}

// room is how much a turn takes that has room for a number of events beside what is in hand.
func (m *mountains) room(room int, left inHand) int {
	if len(m.keys) == 0 {
		return room
	}
	return max(room, min(timesRoom*room, maxBatch-len(left.seqs())))
}

// apart are the partitions with mountains that are owned and read.
func (s *keySource) apart() []int64 {
	var partitions []int64
	for key := range s.mountains.keys {
		p := int64(outbox.Partition(key))
		if _, owned := s.partitions[p]; owned && !s.leaving[p] && !slices.Contains(partitions, p) {
			partitions = append(partitions, p)
		}
	}
	return partitions
}

// readTogether are the partitions that are read, but for those with mountains.
func (s *keySource) readTogether() []int64 {
	apart := s.apart()
	return slices.DeleteFunc(s.readable(), func(p int64) bool { return slices.Contains(apart, p) })
}

// pastMountains takes events of the other keys in the partitions with mountains, and those that hold the mountains up.
func (k *keyReader) pastMountains(ctx context.Context, tx dialect.Tx, left inHand) (wrote bool, err error) {
	s := k.s
	from := s.r.now().Mono
	if len(k.apart) == 0 || !s.mountains.isTime(s.mountains.pastNext, from) {
		return false, nil
	}
	partitions := sqltext.FilledUp(append(slices.Clone(k.apart), -1))
	var beside []any
	var of []*event
	for key := range s.mountains.keys {
		beside = append(beside, key)
		of = append(of, &event{msg: Message{Event: outbox.Event{Key: key}}})
	}
	holders, err := s.holders(ctx, tx, of)
	if err != nil {
		return false, fmt.Errorf("look for held keys: %w", err)
	}
	upTo := int64(0)
	for _, seq := range holders {
		upTo = max(upTo, seq)
	}
	text := s.r.sql.Lists(lookPast, len(partitions), len(beside))
	// What is in hand is read again, and left out here.
	limit := int64(k.room/2 + 1 + len(left.seqs()))
	events, _, err := s.r.readEvents(ctx, tx, text, slices.Concat(partitions, []any{upTo}, beside, []any{limit}))
	if err != nil {
		return false, fmt.Errorf("read past mountains: %w", err)
	}
	took := s.r.now().Mono - from
	s.mountains.pastNext = from + seldom*took
	events = slices.DeleteFunc(events, func(e *event) bool { return slices.Contains(left.seqs(), e.msg.Seq) })
	events = events[:min(len(events), k.room/2+1)]
	if k.lowest, err = s.holders(ctx, tx, events); err != nil {
		return false, fmt.Errorf("look for held keys: %w", err)
	}
	k.past = true
	defer func() { k.past = false }()
	return k.sort(ctx, tx, events)
}

// level puts aside what stands behind held keys in the partitions with mountains.
func (s *keySource) level(ctx context.Context, tx dialect.Tx, t *turn, left inHand) (wrote bool, err error) {
	m := &s.mountains
	if len(m.keys) == 0 {
		return false, nil
	}
	t.more = true
	from := s.r.now().Mono
	if !m.isTime(m.levelNext, from) {
		return false, nil
	}
	step := max(m.step, leastStep)
	defer func() {
		took := s.r.now().Mono - from
		m.levelNext = from + seldom*took
		if m.step = min(2*step, mostStep); took > stepTime {
			m.step = step / 2
		}
	}()
	behind, last, n, err := s.behind(ctx, tx, s.apart(), step, t, left)
	if err != nil {
		return false, fmt.Errorf("look at keys: %w", err)
	}
	sum := 0
	for key, seqs := range behind {
		sum += len(seqs)
		for part := range slicesOf(seqs, maxBatch) {
			if err := s.putBehind(ctx, tx, key, part); err != nil {
				return false, err
			}
		}
	}
	m.levelTo = last
	if n < step || 2*sum < n {
		m.forget()
	}
	return sum > 0, nil
}

// behind finds, among the next events of partitions, those that stand behind the holders of their keys, and answers how
// many it has looked at, and up to which seq.
func (s *keySource) behind(ctx context.Context, tx dialect.Tx, partitions []int64, step int, t *turn, left inHand) (behind map[string][]int64, last int64, n int, err error) {
	if len(partitions) == 0 {
		return nil, 0, 0, nil
	}
	text, args := s.r.listArgs(lookAtKeys, partitions, []any{s.mountains.levelTo}, []any{int64(step)})
	var events []*event
	err = rows.Each(ctx, tx, text, args, func(row *sql.Rows) error {
		e := &event{}
		var created int64
		err := row.Scan(&e.msg.Seq, &e.msg.Key, &created, &e.due, &e.msg.Attempt, &e.readAt)
		e.msg.CreatedAt = time.UnixMilli(created)
		e.msg.Attempt++
		events, last = append(events, e), e.msg.Seq
		return err
	})
	if err != nil {
		return nil, 0, 0, err
	}
	lowest, err := s.holders(ctx, tx, events)
	if err != nil {
		return nil, 0, 0, err
	}
	inHand := make(map[int64]bool)
	for _, seq := range left.seqs() {
		inHand[seq] = true
	}
	for _, e := range t.batch {
		inHand[e.msg.Seq] = true
	}
	behind = make(map[string][]int64)
	for _, e := range events {
		due := e.wait() <= 0 || e.neverDelayed() // what is not has a time of its own to keep
		if holder, held := lowest[e.msg.Key]; held && e.msg.Key != "" && e.msg.Seq > holder && due && !inHand[e.msg.Seq] {
			behind[e.msg.Key] = append(behind[e.msg.Key], e.msg.Seq)
		}
	}
	return behind, last, len(events), nil
}
