package relay

import (
	"cmp"
	"context"
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
	readOn = `SELECT ` + eventColumns + `
FROM {events}{use_pending} WHERE {above}{partitions} AND {below} IS NULL ORDER BY state, seq LIMIT ?`
	// And by primary key: "+ 0" leaves PostgreSQL no other way.
	readOnAndLate = `SELECT * FROM (SELECT ` + eventColumns + `
FROM {events}{use_key} WHERE seq IN ({list}) AND state + 0 = 0{plain_partitions} AND {below} IS NULL) late UNION ALL
SELECT * FROM (` + readOn + `) next`
	// Where nothing was read: whether it was for what is pending below.
	elsewhere = `SELECT COALESCE({below}, 0)`

	// By the same index, down from a place in it: up to a place, MariaDB goes on past it while it meets nothing but what is deleted.
	pendingBelow = `(SELECT seq FROM {events}{use_pending} WHERE {under}{partitions} ORDER BY state DESC, seq DESC LIMIT 1)`

	above, under      = `state = 0 AND seq > ?`, `state = 0 AND seq < ?`
	ofPartitions      = ` AND partition_no >= ? AND partition_no <= ?`
	ofPlainPartitions = ` AND partition_no + 0 >= ? AND partition_no + 0 <= ?`
	// For PostgreSQL. With "state = 0" it leaves the state out of the order (see lookPending), and may take the primary key. Of two
	// columns that are compared it finds the place in the index to begin at, but not one to end at.
	aboveRow, underRow = `state <= 0 AND (state, seq) > (0, ?)`, `state <= 0 AND (state, seq) < (0, ?)`
)

const (
	// maxGaps is with how many gaps a relay reads on. Each costs a look by number. What other relays own is a gap, too.
	maxGaps = 128
	// readOnFor is how long a relay reads on before it looks from the beginning all the same: an event that was published
	// may be put back, for a handler that is new.
	readOnFor = time.Second
)

// tail is which numbers a session has taken: all from first to last, but for the gaps. What has ended, and was not published,
// is a gap again.
type tail struct {
	first, last int64         // 0: nothing is known
	gaps        []int64       // ascending
	partitions  []any         // OrderPerKey: the lowest and the highest that it is about
	looked      time.Duration // from the beginning, by r.now().Mono
}

// with is the tail once these were taken; none if it would have too many gaps.
func (t tail) with(seqs []int64) tail {
	t.gaps = slices.Clone(t.gaps)
	for _, seq := range slices.Sorted(slices.Values(seqs)) {
		switch {
		case t.last == 0:
			t.first, t.last = seq, seq
		case seq-t.last-1 > maxGaps:
			return tail{}
		case seq > t.last:
			for gap := t.last + 1; gap < seq; gap++ {
				t.gaps = append(t.gaps, gap)
			}
			t.last = seq
		default:
			if i, is := slices.BinarySearch(t.gaps, seq); is {
				t.gaps = slices.Delete(t.gaps, i, i+1)
			}
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

// tailText is a statement about a tail with or without partitions. byRow is for PostgreSQL.
func tailText(statement string, byRow, partitions bool) string {
	above, under, of, ofPlain := above, under, "", ""
	if byRow {
		above, under = aboveRow, underRow
	}
	if partitions {
		of, ofPlain = ofPartitions, ofPlainPartitions
	}
	statement = strings.ReplaceAll(statement, "{below}", pendingBelow)
	return strings.NewReplacer("{above}", above, "{under}", under, "{partitions}", of, "{plain_partitions}", ofPlain).Replace(statement)
}

// readOn is the statement that reads up to room events, and those in the gaps.
func (t tail) readOn(r *Relay, room int) (text string, args []any) {
	text = tailText(readOn, r.filtersRows, len(t.partitions) > 0)
	args = slices.Concat([]any{t.last}, t.partitions, []any{t.first}, t.partitions, []any{int64(room)})
	if len(t.gaps) == 0 {
		return r.sql.SQL(text), args
	}
	text = tailText(readOnAndLate, r.filtersRows, len(t.partitions) > 0)
	gaps := sqltext.FilledUp(t.gaps)
	return r.sql.List(text, len(gaps)), slices.Concat(gaps, t.partitions, []any{t.first}, t.partitions, args)
}

// elsewhere is the statement that answers the seq of what is pending below, or 0.
func (t tail) elsewhere(r *Relay) (text string, args []any) {
	text = tailText(elsewhere, r.filtersRows, len(t.partitions) > 0)
	return r.sql.SQL(text), slices.Concat([]any{t.first}, t.partitions)
}

// readOn reads up to room events besides those in hand. done is false where it must be looked from the beginning: the turn's tail is not known, the
// last such look is long ago, or something is pending below.
func (s *session) readOn(ctx context.Context, tx dialect.Tx, t *turn, inHand []int64, room int) (events []*event, cut int, done bool, err error) {
	isBelow := func(seq int64) bool { return seq < t.tail.first }
	if t.tail.last == 0 || s.r.now().Mono-t.tail.looked > readOnFor || slices.ContainsFunc(inHand, isBelow) {
		return nil, 0, false, nil
	}
	text, args := t.tail.readOn(s.r, room)
	events, cut, err = s.r.readEvents(ctx, tx, text, args)
	if err != nil {
		return nil, 0, false, err
	}
	bySeq := func(a, b *event) int { return cmp.Compare(a.msg.Seq, b.msg.Seq) }
	if inOrder := slices.IsSortedFunc(events, bySeq); len(events) > 0 && (inOrder || cut == 0) {
		slices.SortFunc(events, bySeq)
		return events[:min(len(events), room)], cut, true, nil
	} else if len(events) > 0 { // the engine gave what is behind first, and more than there is room for
		return nil, 0, false, nil
	}
	var seq int64
	text, args = t.tail.elsewhere(s.r)
	err = rows.One(ctx, tx, text, args, &seq)
	return nil, 0, seq == 0, err
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
	if t.tail.last == 0 {
		seqs = append(seqs, left.seqs()...)
	}
	t.tail = t.tail.with(seqs)
}
