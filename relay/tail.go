package relay

import (
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
// it has taken, and reads on behind the last of them, if in the same moment nothing is pending at any other number before it:
// below the first, and in the gaps between. What commits late there, or is put back, has the relay look from the beginning,
// in the same turn, and nothing overtakes it.
const (
	// By (state, seq, partition_no), from a place in it.
	readOn = `SELECT ` + eventColumns + `
FROM {events}{use_pending} WHERE {above}{partitions} AND {below} IS NULL{and_between} ORDER BY state, seq LIMIT ?`
	// Where that reads nothing: whether it was for what is pending elsewhere.
	elsewhere = `SELECT COALESCE({below}{or_between}, 0)`

	// By the same index, down from a place in it: up to a place, MariaDB goes on past it while it meets nothing but what is deleted.
	pendingBelow = `
  (SELECT seq FROM {events}{use_pending} WHERE {under}{partitions} ORDER BY state DESC, seq DESC LIMIT 1)`
	// By primary key, and "+ 0" leaves PostgreSQL no other way.
	pendingBetween = `
  (SELECT seq FROM {events}{use_key} WHERE seq IN ({list}) AND state + 0 = 0{plain_partitions} LIMIT 1)`

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
		case seq-t.last > maxGaps:
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

// text is a statement about a tail with or without partitions and gaps. byRow is for PostgreSQL.
func tailText(statement string, byRow, partitions, gaps bool) string {
	above, under, and, or, of, ofPlain := above, under, "", "", "", ""
	if byRow {
		above, under = aboveRow, underRow
	}
	if gaps {
		and, or = " AND "+pendingBetween+" IS NULL", ", "+pendingBetween
	}
	if partitions {
		of, ofPlain = ofPartitions, ofPlainPartitions
	}
	statement = strings.NewReplacer("{below}", pendingBelow, "{and_between}", and, "{or_between}", or).Replace(statement)
	return strings.NewReplacer("{above}", above, "{under}", under, "{partitions}", of, "{plain_partitions}", ofPlain).Replace(statement)
}

// statement is one about the tail, with what it asks for before and after what is said of the tail.
func (t tail) statement(r *Relay, statement string, before, after []any) (text string, args []any) {
	text = tailText(statement, r.filtersRows, len(t.partitions) > 0, len(t.gaps) > 0)
	args = slices.Concat(before, []any{t.first}, t.partitions)
	if len(t.gaps) == 0 {
		return r.sql.SQL(text), append(args, after...)
	}
	gaps := sqltext.FilledUp(t.gaps)
	return r.sql.List(text, len(gaps)), slices.Concat(args, gaps, t.partitions, after)
}

// readOn reads up to room events behind the turn's tail. done is false where it must be looked from the beginning: the tail is not known, the
// last such look is long ago, or something is pending elsewhere.
func (s *session) readOn(ctx context.Context, tx dialect.Tx, t *turn, room int) (events []*event, cut int, done bool, err error) {
	if t.tail.last == 0 || s.r.now().Mono-t.tail.looked > readOnFor {
		return nil, 0, false, nil
	}
	text, args := t.tail.statement(s.r, readOn, slices.Concat([]any{t.tail.last}, t.tail.partitions), []any{int64(room)})
	events, cut, err = s.r.readEvents(ctx, tx, text, args)
	if err != nil || len(events) > 0 {
		return events, cut, true, err
	}
	var seq int64
	text, args = t.tail.statement(s.r, elsewhere, nil, nil)
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
