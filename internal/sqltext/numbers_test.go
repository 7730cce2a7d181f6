package sqltext_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/mysql"
	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

const settle = `{delete_events} WHERE seq IN ({list}) AND state = 0`

// A range must hold nothing but what was asked for: a gap may be an event that is not committed yet.
func TestOnlyWhatFollowsWithoutAGapIsARange(t *testing.T) {
	for _, c := range []struct {
		d       dialect.Dialect
		numbers []int64
		want    string
		args    []any
	}{
		{sqlite.New(), []int64{-5e18, 5e18}, "seq IN (?, ?)", []any{int64(-5e18), int64(5e18)}},
		{sqlite.New(), []int64{-1, math.MaxInt64}, "seq IN (?, ?)", []any{int64(-1), int64(math.MaxInt64)}},
		{sqlite.New(), []int64{3, 5, 4}, "seq >= ? AND seq <= ?", []any{int64(3), int64(5)}},
		{sqlite.New(), []int64{3, 4, 4, 5}, "seq >= ? AND seq <= ?", []any{int64(3), int64(5)}},
		{postgres.New(), []int64{3, 4}, "seq >= $1 AND seq <= $2", []any{int64(3), int64(4)}},
		{postgres.New(), []int64{3, 5}, "seq IN ($1, $2)", []any{int64(3), int64(5)}},
		{postgres.New(), []int64{7}, "seq IN ($1)", []any{int64(7)}},
		{mysql.New(), []int64{3, 4}, "seq IN (?, ?)", []any{int64(3), int64(4)}},
		{hidden{sqlite.New()}, []int64{3, 4}, "seq IN (?, ?)", []any{int64(3), int64(4)}},
	} {
		text, args := sqltext.New(c.d, "", "p_").ListOf(settle, c.numbers, nil, nil)
		if !strings.Contains(text, " WHERE "+c.want+" AND state = 0") || !slices.Equal(args, c.args) {
			t.Errorf("%s, %v: %s %v", c.d.Name(), c.numbers, text, args)
		}
	}
}

// hidden is a dialect without what is optional.
type hidden struct{ dialect.Dialect }

func TestWhatIsInHandIsLeftOut(t *testing.T) {
	const look = `SELECT seq FROM {events} WHERE state <= 0{aside} ORDER BY seq`
	scattered := make([]int64, 40)
	for i := range scattered {
		scattered[i] = int64(2 * i)
	}
	r := sqltext.New(sqlite.New(), "", "p_")
	for _, c := range []struct {
		seqs []int64
		want string
		args int
	}{
		{nil, "state <= 0 ORDER", 0},
		{[]int64{1, 2, 3}, "state <= 0 AND NOT (seq >= ? AND seq <= ?) ORDER", 2},
		{[]int64{1, 9, 11}, strings.Repeat(" AND NOT (seq >= ? AND seq <= ?)", 4) + " ORDER", 8},
		{scattered, " AND seq NOT IN (" + strings.Repeat("?, ", 63) + "?) ORDER", 64},
	} {
		text, args := r.Aside(look, 0, c.seqs)
		if !strings.Contains(text, c.want) || len(args) != c.args || strings.Count(text, "?") != c.args {
			t.Errorf("%v: %s %v", c.seqs, text, args)
		}
	}
	for _, seqs := range [][]int64{{5, 6}, scattered} {
		text, args := r.Aside(look+" UNION ALL "+look, 0, seqs)
		if strings.Contains(text, "{") || strings.Count(text, "?") != 2*len(args) {
			t.Errorf("in two places: %s %v", text, args)
		}
	}
	text, args := r.Aside(`SELECT 1 FROM {events} WHERE partition_no IN ({list}){aside}`, 2, []int64{5, 6})
	if !strings.Contains(text, "IN (?, ?) AND NOT (seq >= ? AND seq <= ?)") || !slices.Equal(args, []any{int64(5), int64(6)}) {
		t.Errorf("with a list: %s %v", text, args)
	}
}
