package relay

import (
	"context"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// What claimed_by of a pending event says:
//
//	ID/n     claimed in OrderNone by the session ID, together with others
//	ID/n!    claimed alone
//	ID/n!!C  claimed alone, as a suspect of the crash C
//	!        it was alone when its process ended; all of its crashes are counted
//	!!C      a suspect of the crash C
//
// A crash is named after the session that ended, behind "none/" where that was in OrderNone, whose crashes have no row
// before one of them is explained. With several events in hand it makes suspects of them: each is handed
// over again alone, and not charged. A crash with one alone is that event's doing: it is charged for it, and for the crash
// that made it a suspect, if nothing else has explained that one yet.
const (
	markAlone   = "!"
	markSuspect = "!!"
)

// suspect: it goes alone.
func (e *event) suspect() bool { return strings.HasPrefix(e.by, markAlone) }

// claimant is the session that claimed the event in OrderNone, or empty.
func (e *event) claimant() string {
	if e.suspect() {
		return ""
	}
	id, _, _ := strings.Cut(e.by, "/")
	return id
}

// lapse is what a mark means once whoever left it is gone.
type lapse struct {
	correct int    // of the attempts that are counted
	crashed bool   // the event itself ended its process
	crash   string // of which it was a suspect, and which may be its doing too
	mark    string // from now on
}

// lapseOf judges the mark of an event in nobody's hands. own: it was this very process that held it, and it is alive.
func lapseOf(e *event, own bool) lapse {
	if e.suspect() { // of an order that counts attempts when they have ended
		return lapse{mark: e.by}
	}
	claim, crash, suspected := strings.Cut(e.by, markSuspect)
	switch {
	case suspected && own:
		return lapse{correct: -1, mark: markSuspect + crash}
	case suspected:
		return lapse{crashed: true, crash: crash, mark: markAlone} // counted once at its claim
	case strings.HasSuffix(claim, markAlone) && own:
		return lapse{correct: -1, mark: markAlone}
	case strings.HasSuffix(claim, markAlone):
		return lapse{crashed: true, mark: markAlone}
	case own:
		return lapse{correct: -1}
	}
	return lapse{correct: -1, mark: markSuspect + "none/" + e.claimant()}
}

// lapsed is lapseOf, with the crash before explained if the event did it again.
func (r *Relay) lapsed(ctx context.Context, tx dialect.Tx, e *event) (lapse, error) {
	l := lapseOf(e, r.sessions.has(e.claimant()))
	if l.crashed && l.crash != "" {
		first, err := r.explain(ctx, tx, l.crash)
		if err != nil {
			return lapse{}, err
		}
		if first {
			l.correct++
			if err := r.chargeWatched(ctx, tx, e.msg.Seq); err != nil {
				return lapse{}, err
			}
		}
	}
	e.msg.Attempt += l.correct
	return l, nil
}
