package relay

import (
	"database/sql"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/plans"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

func TestATailIsWhatWasTaken(t *testing.T) {
	upTo := func(from, to int64) (seqs []int64) {
		for seq := from; seq <= to; seq++ {
			seqs = append(seqs, seq)
		}
		return seqs
	}
	ended := func(v verdict, seqs ...int64) (all []ended) {
		for _, seq := range seqs {
			all = append(all, ended{&event{msg: Message{Seq: seq}}, outcome{verdict: v}})
		}
		return all
	}
	known := tail{first: 10, last: 20, gaps: []int64{12, 15}}
	for _, c := range []struct {
		name      string
		got, want tail
	}{
		{"the first", tail{}.with([]int64{7, 5, 8}), tail{first: 5, last: 8, gaps: []int64{6}}},
		{"what follows", known.with([]int64{21, 24}), tail{first: 10, last: 24, gaps: []int64{12, 15, 22, 23}}},
		{"what came late", known.with([]int64{15, 21}), tail{first: 10, last: 21, gaps: []int64{12}}},
		{"what is below is not among it", known.with([]int64{9}), known},
		{"what it has already: its number was given again", known.with([]int64{14, 20}), tail{}},
		{"nothing", known.with(nil), known},
		{"as many gaps as may be", tail{first: 1, last: 1}.with([]int64{2 + maxGaps}), tail{first: 1, last: 2 + maxGaps, gaps: upTo(2, 1+maxGaps)}},
		{"too many at once", tail{first: 1, last: 1}.with([]int64{3 + maxGaps}), tail{}},
		{"too many with those before", known.with([]int64{20 + maxGaps}), tail{}},
		{"a number so high that there are too many", tail{first: 1, last: 1}.with([]int64{math.MaxInt64}), tail{}},
		{"a number so high that their number is none", tail{first: math.MinInt64, last: math.MinInt64}.with([]int64{math.MaxInt64}), tail{}},
		{"published", known.without(ended(published, 11, 13)), known},
		{"failed", known.without(ended(failed, 13)), tail{first: 10, last: 20, gaps: []int64{12, 13, 15}}},
		{"put back", known.without(ended(untouched, 20, 10)), tail{first: 10, last: 20, gaps: []int64{10, 12, 15, 20}}},
		{"dead: it may be requeued", known.without(ended(dead, 12, 11)), tail{first: 10, last: 20, gaps: []int64{11, 12, 15}}},
		{"below", known.without(ended(failed, 9)), known},
		{"too many that are not published", tail{first: 1, last: 1000}.without(ended(failed, upTo(1, 1+maxGaps)...)), tail{}},
	} {
		if c.got.first != c.want.first || c.got.last != c.want.last || !slices.Equal(c.got.gaps, c.want.gaps) {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
	if !slices.Equal(known.gaps, []int64{12, 15}) {
		t.Errorf("the tail that others were made from is %v now", known.gaps)
	}
}

func TestADenseTailIsReadOnByKey(t *testing.T) {
	for name, c := range map[string]struct {
		t       tail
		filters bool
		want    way
	}{
		"one that is not dense":      {tail{first: 1, last: 9}, false, byIndex},
		"a dense one":                {tail{first: 1, last: 9, dense: true}, false, byKey},
		"a dense one on PostgreSQL":  {tail{first: 1, last: 9, dense: true}, true, byRow},
		"what is near has no number": {tail{first: 1, last: math.MaxInt64 - 150, dense: true}, false, byIndex},
	} {
		if got := c.t.way(&Relay{filtersRows: c.filters}, 100); got != c.want {
			t.Errorf("%s is read by way %d, want %d", name, got, c.want)
		}
	}
}

// What is deleted stays in PostgreSQL's indexes while any snapshot may see it. To read on costs nothing of that.
func TestReadingOnPassesByWhatIsDeleted(t *testing.T) {
	e := engines.Get(t, "postgres")
	db, d := e.Migrated(t)
	const n, gone = 20_000, 15_000
	table := plans.Fill(t, e, db, d, n)
	table.Exec(`UPDATE {events} SET state = 0`)
	snapshot, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Rollback()
	var seen int
	if err := snapshot.QueryRowContext(t.Context(), table.SQL.SQL(`SELECT COUNT(*) FROM {events}`)).Scan(&seen); err != nil || seen != n {
		t.Fatal(seen, err)
	}
	table.Exec(`DELETE FROM {events} WHERE seq <= ?`, int64(gone))
	table.Exec(`VACUUM {events}`) // to no avail
	pages := func(text string, args ...any) (sum int) {
		t.Helper()
		var lines []string
		err := asked(t.Context(), table, false, func(q rows.Queryer) (err error) {
			lines, err = rows.Column[string](t.Context(), q, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) "+text, args...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines { // the first is that of the whole
			if found := regexp.MustCompile(`Buffers: shared (?:hit=(\d+))?(?: ?read=(\d+))?`).FindStringSubmatch(line); found != nil {
				for _, text := range found[1:] {
					k, _ := strconv.Atoi(text)
					sum += k
				}
				return sum
			}
		}
		t.Fatal("the plan does not say what was read", lines)
		return 0
	}
	r := &Relay{sql: table.SQL, filtersRows: true}
	for _, known := range []tail{
		{first: 1, last: gone},
		{first: 1, last: gone, gaps: []int64{10, 1000, gone - 1}},
		{first: 1, last: gone, gaps: []int64{10, 1000, gone - 1}, partitions: []any{int64(-1), mountain}},
	} {
		text, args := known.look(r, byRow, 100)
		if k := pages(text, args...); k > 200 {
			t.Errorf("%d pages were read for 100 events behind %v", k, known)
		}
		text, args = known.lookBelow(r)
		if k := pages(text, args...); k > 40 {
			t.Errorf("%d pages were read to find nothing beside %v", k, known)
		}
	}
	if k := pages(table.SQL.SQL(claimable), int64(0), int64(100)); k < 400 {
		t.Errorf("only %d pages were read from the beginning: what is deleted is gone, and this test shows nothing", k)
	}
}
