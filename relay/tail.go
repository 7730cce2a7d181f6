package relay

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// A look from the beginning of what is pending goes past the index entries of all that was deleted since the engine
// cleaned up; on PostgreSQL, beside a snapshot that is held open, past all there ever were. So a session remembers which numbers
// it has taken, and reads on: what is behind the last of them, and at the numbers between that it has not taken, if in the same
// moment nothing is pending below the first; else it looks from the beginning. So it finds what a look from the beginning finds,
// and nothing that commits late, or is put back, is overtaken.
const (
	// By (state, seq, partition_no), from a place in it.
	lookBehind = `SELECT ` + eventColumns + `
FROM {events}{use_behind} WHERE {above}{partitions} AND {pending_below} IS NULL ORDER BY {order} LIMIT ?`
	// And by primary key: "+ 0" leaves PostgreSQL no other way.
	lookBehindAndBetween = `SELECT * FROM (SELECT ` + eventColumns + `
FROM {events}{use_key} WHERE seq IN ({list}) AND state + 0 = 0{plain_partitions} UNION ALL
SELECT * FROM (SELECT ` + eventColumns + `
FROM {events}{use_behind} WHERE {above}{partitions} ORDER BY {order} LIMIT ?) behind) found WHERE {pending_below} IS NULL`
	// Where nothing was read: whether it was for what is pending below.
	lookBelow = `SELECT CASE WHEN {pending_below} IS NULL THEN 0 ELSE 1 END`

	// By the same index, down from a place in it: up to a place, MariaDB goes on past it while it meets nothing but what is deleted.
	pendingBelow = `(SELECT seq FROM {events}{use_pending} WHERE {below}{partitions} ORDER BY state DESC, seq DESC LIMIT 1)`

	above, below      = `state = 0 AND seq > ?`, `state = 0 AND seq < ?`
	ofPartitions      = ` AND partition_no >= ? AND partition_no <= ?`
	ofPlainPartitions = ` AND partition_no + 0 >= ? AND partition_no + 0 <= ?`
	// For PostgreSQL. With "state = 0" it leaves the state out of the order (see lookPending), and may take the primary key.
	// Of two columns that are compared it finds the place in the index to begin at, but not one to end at.
	aboveRow, belowRow = `state <= 0 AND (state, seq) > (0, ?)`, `state <= 0 AND (state, seq) < (0, ?)`
	// For an engine that keeps its rows in the order of the primary key: up to a number, however few of them are pending.
	near = `seq > ? AND seq <= ? AND state + 0 = 0`
)

const (
	// maxGaps is with how many gaps a relay reads on. Each costs a look by number. What other relays own is a gap, too.
	maxGaps = 128
	// numbersNear is how far a relay reads on by primary key, in numbers for each event that there is room for.
	numbersNear = 2
	// readOnFor is how long a relay reads on before it looks from the beginning all the same: nothing makes pending again what is
	// published, but a hand that writes SQL.
	readOnFor = time.Second
)

// tail is which numbers a session has taken: all from first to last, but for the gaps. What has ended, and was not published,
// is a gap again.
type tail struct {
	first, last int64         // 0: nothing is known
	gaps        []int64       // ascending
	partitions  []any         // OrderPerKey: the lowest and the highest that it is about
	looked      time.Duration // from the beginning, by r.now().Mono
	dense       bool          // what was taken last stood close together, and there was more
}

// with is the tail once these were taken; none if it would have too many gaps, or one of them was taken before.
func (t tail) with(seqs []int64) tail {
	t.gaps = slices.Clone(t.gaps)
	for _, seq := range slices.Sorted(slices.Values(seqs)) {
		switch {
		case t.last == 0:
			t.first, t.last = seq, seq
		case seq > t.last && uint64(seq-t.last) > maxGaps+1: // of an int64 and a lower one that is the distance, whatever the signs
			return tail{}
		case seq > t.last:
			for gap := t.last + 1; gap < seq; gap++ {
				t.gaps = append(t.gaps, gap)
			}
			t.last = seq
		case seq >= t.first:
			i, is := slices.BinarySearch(t.gaps, seq)
			if !is { // the number was given again: nothing is known
				return tail{}
			}
			t.gaps = slices.Delete(t.gaps, i, i+1)
		}
	}
	return t.bounded()
}

// without is the tail once these have ended.
func (t tail) without(all []ended) tail {
	t.gaps = slices.Clone(t.gaps)
	for _, x := range all {
		if seq := x.e.msg.Seq; x.o.verdict != published && seq >= t.first && seq <= t.last {
			if i, is := slices.BinarySearch(t.gaps, seq); !is {
				t.gaps = slices.Insert(t.gaps, i, seq)
			}
		}
	}
	return t.bounded()
}

func (t tail) bounded() tail {
	if len(t.gaps) > maxGaps {
		return tail{}
	}
	return t
}

// tailText is a statement about a tail with or without partitions.
func tailText(statement string, by way, partitions bool) string {
	up, down, of, ofPlain, hint, order := above, below, "", "", "{use_pending}", "state, seq"
	switch by {
	case byRow:
		up, down = aboveRow, belowRow
	case byKey:
		up, hint, order = near, "{use_key}", "seq"
	}
	if partitions {
		of, ofPlain = ofPartitions, ofPlainPartitions
	}
	statement = strings.NewReplacer("{pending_below}", pendingBelow, "{use_behind}", hint, "{order}", order).Replace(statement)
	return strings.NewReplacer("{above}", up, "{below}", down, "{partitions}", of, "{plain_partitions}", ofPlain).Replace(statement)
}

// way is how what is behind a tail is read.
type way int

const (
	byIndex way = iota
	byRow       // the same, for PostgreSQL
	byKey       // as far as is near; of a dense tail that is quicker than the index, and then each of its rows
)

// way is how to read up to room events behind the tail.
func (t tail) way(r *Relay, room int) way {
	switch {
	case r.filtersRows:
		return byRow
	case t.dense && t.last < math.MaxInt64-int64(numbersNear*room):
		return byKey
	}
	return byIndex
}

// look is the statement that reads up to room events behind the tail, and those in its gaps.
func (t tail) look(r *Relay, by way, room int) (text string, args []any) {
	behind := []any{t.last}
	if by == byKey {
		behind = append(behind, t.last+int64(numbersNear*room))
	}
	behind = append(behind, t.partitions...)
	none := slices.Concat([]any{t.first}, t.partitions)
	limit := []any{int64(room)}
	if len(t.gaps) == 0 {
		return r.sql.SQL(tailText(lookBehind, by, len(t.partitions) > 0)), slices.Concat(behind, none, limit)
	}
	gaps := sqltext.FilledUp(t.gaps)
	text = r.sql.List(tailText(lookBehindAndBetween, by, len(t.partitions) > 0), len(gaps))
	return text, slices.Concat(gaps, t.partitions, behind, limit, none)
}

// lookBelow is the statement that asks whether anything is pending below the tail.
func (t tail) lookBelow(r *Relay) (text string, args []any) {
	by := byIndex
	if r.filtersRows {
		by = byRow
	}
	text = tailText(lookBelow, by, len(t.partitions) > 0)
	return r.sql.SQL(text), slices.Concat([]any{t.first}, t.partitions)
}

// mayReadOn is false where what is published is put back for a handler that is new.
func (r *Relay) mayReadOn() bool { return r.handlers == nil || r.opts.Retention == 0 && !r.feeds() }

// readOn reads up to room events besides those in hand. done is false where it must be looked from the beginning: the turn's
// tail is not known, the last such look is long ago, or something is pending below.
func (s *session) readOn(ctx context.Context, tx dialect.Tx, t *turn, inHand []int64, room int) (events []*event, cut int, done bool, err error) {
	isBelow := func(seq int64) bool { return seq < t.tail.first }
	if t.tail.last == 0 || s.r.now().Mono-t.tail.looked > readOnFor || slices.ContainsFunc(inHand, isBelow) || !s.r.mayReadOn() {
		return nil, 0, false, nil
	}
	by := t.tail.way(s.r, room)
	text, args := t.tail.look(s.r, by, room)
	events, cut, err = s.r.readEvents(ctx, tx, text, args)
	if by == byKey && err == nil && cut == 0 && len(events) < room { // there may be more beyond what is near
		text, args = t.tail.look(s.r, byIndex, room)
		events, cut, err = s.r.readEvents(ctx, tx, text, args)
	}
	switch {
	case err != nil:
		return nil, 0, false, err
	case cut > 0 && len(t.tail.gaps) > 0: // what was not read may be what is in the gaps
		return nil, 0, false, nil
	case len(events) > 0:
		slices.SortFunc(events, func(a, b *event) int { return cmp.Compare(a.msg.Seq, b.msg.Seq) })
		return events[:min(len(events), room)], cut, true, nil
	case t.empty && len(t.ended) == 0: // it was to read alone, since something is pending
		return nil, 0, false, nil
	}
	var isPending int64
	text, args = t.tail.lookBelow(s.r)
	err = rows.One(ctx, tx, text, args, &isPending)
	return nil, 0, isPending == 0, err
}

// beginTail is called once a turn has recorded what has ended.
func (s *session) beginTail(t *turn, partitions []any) {
	if t.tail = s.tail.without(t.ended); !slices.Equal(t.tail.partitions, partitions) {
		t.tail = tail{}
	}
	t.tail.partitions = partitions
}

// endTail is called once a turn has taken what it takes, beside what is left.
func (s *session) endTail(t *turn, left inHand) {
	if t.looked > 0 {
		t.tail.looked = t.looked
	}
	var seqs []int64
	for _, e := range t.batch {
		seqs = append(seqs, e.msg.Seq)
	}
	dense := t.more && len(seqs) > 1 && uint64(slices.Max(seqs)-slices.Min(seqs)) <= uint64(len(seqs)*3/2) // room for what is not pending
	if t.tail.last == 0 {
		seqs = append(seqs, left.seqs()...)
	}
	t.tail = t.tail.with(seqs)
	t.tail.dense = dense
}
