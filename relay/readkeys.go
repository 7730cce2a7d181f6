package relay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

const (
	// By (state, seq, partition_no), in order and without a sort; see lookPending. Rows without a partition (-1) are read
	// by all relays, and taken by the one that owns the partition of their key.
	lookKeys = `SELECT ` + eventColumns + `
FROM {events}{use_pending} WHERE state <= 0 AND partition_no IN ({list}){aside} ORDER BY state, seq LIMIT ?`

	// The same for partitions that follow each other, as all of them do: compared in the index, and without a list for each row.
	lookKeysFromTo = `SELECT ` + eventColumns + keysFromTo
	keysFromTo     = `
FROM {events}{use_pending} WHERE state <= 0 AND partition_no >= ? AND partition_no <= ?{aside} ORDER BY state, seq LIMIT ?`
)

// maxLooks is how often a turn reads again when what it has read stands behind held keys, so that the others get on.
const maxLooks = 8

// read takes what may be handed over, beside what is left in hand, and puts aside what may not.
func (s *keySource) read(ctx context.Context, tx dialect.Tx, t *turn, left inHand) (wrote bool, err error) {
	k := &keyReader{
		s: s, t: t, room: s.mountains.room(t.room, left), most: s.mostOfKey(), apart: s.apart(), keys: s.keysInHand,
	}
	clear(k.keys)
	for _, seq := range left.seqs() {
		if e := s.taken[seq]; e != nil {
			k.take(e)
		}
	}
	if wrote, err = k.pastMountains(ctx, tx, left); err != nil {
		return false, err
	}
	for look := range maxLooks {
		k.apart = s.apart()
		room := k.room - len(t.batch)
		inHand := slices.Clone(left.seqs())
		for _, e := range t.batch {
			inHand = append(inHand, e.msg.Seq)
		}
		events, cut, err := s.lookForKeys(ctx, tx, t, inHand, room, look == 0)
		s.mountains.alone = len(events) == 0
		if err != nil || len(events) == 0 {
			return wrote, err
		}
		t.more = cut > 0 || len(events) == room
		t.cut = max(t.cut, cut)
		if k.lowest, err = s.holders(ctx, tx, events); err != nil {
			return wrote, fmt.Errorf("look for held keys: %w", err)
		}
		before := len(t.batch)
		put, err := k.sort(ctx, tx, events)
		for key, seqs := range k.behind {
			if t.more && 2*len(seqs) > len(events) {
				s.mountains.add(key)
			}
		}
		wrote = wrote || put
		if err != nil || !t.more || !put || 2*(len(t.batch)-before) > len(events) {
			return wrote, err
		}
	}
	return wrote, nil
}

// oneRange are the lowest and the highest of the partitions that are read, if they follow each other.
func (s *keySource) oneRange() (ends []any, is bool) {
	ends = sqltext.RangesOf(s.readTogether())
	return ends, len(ends) == 2 && len(s.mountains.keys) == 0
}

// fewRanges is how many ranges of partitions a look takes, in place of a list, where partitions follow each other but for some:
// beside a mountain there are two, and so there are with rows that have no partition. It is for engines that read each row
// for a list.
const fewRanges = 3

// lookForKeys reads up to room events beside what is in hand, or cut of them, if so many are enough by their bytes. It is one
// statement, and so one moment: of two, the second could find an event of a key that committed together with a lower one which the first
// has not seen, or a row again that another relay has given its partition. It reads on, if it may.
func (s *keySource) lookForKeys(ctx context.Context, tx dialect.Tx, t *turn, inHand []int64, room int, may bool) (events []*event, cut int, err error) {
	if may {
		events, cut, done, err := s.readOn(ctx, tx, t, inHand, room)
		if err != nil {
			return nil, 0, fmt.Errorf("read on: %w", err)
		}
		if done {
			return events, cut, nil
		}
		t.looked = s.r.now().Mono
	}
	text, args := s.keysStatement(inHand, room)
	events, cut, err = s.r.readEvents(ctx, tx, text, args)
	if err != nil {
		return nil, 0, fmt.Errorf("read pending: %w", err)
	}
	return events, cut, nil
}

// keysStatement asks for up to room events beside what is in hand.
func (s *keySource) keysStatement(inHand []int64, room int) (text string, args []any) {
	partitions := s.readTogether()
	ends := sqltext.RangesOf(partitions)
	if len(ends) > 2 && !s.r.filtersRows || len(ends) > 2*fewRanges {
		list := sqltext.FilledUp(partitions)
		text, besides := s.r.sql.Aside(lookKeys, len(list), inHand)
		return text, slices.Concat(list, besides, []any{int64(room)})
	}
	text, besides := s.r.sql.Aside(lookKeysIn(len(ends)/2), 0, inHand)
	for one := range slices.Chunk(ends, 2) {
		args = slices.Concat(args, one, besides, []any{int64(room)})
	}
	if len(ends) > 2 {
		args = append(args, int64(room))
	}
	return text, args
}

// lookKeysIn reads some ranges of partitions: each in the order of the index, and merged in that order, so that nothing is
// sorted.
func lookKeysIn(ranges int) string {
	if ranges == 1 {
		return lookKeysFromTo
	}
	each := slices.Repeat([]string{"(SELECT *" + keysFromTo + ")"}, ranges)
	return "SELECT " + eventColumns + "\nFROM (" + strings.Join(each, " UNION ALL\n") + ") found ORDER BY state, seq LIMIT ?"
}
