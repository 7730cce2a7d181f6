package conformance

import (
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func idRules() []rule {
	return []rule{
		{"ids that differ by case, accent or trailing space are different", idsDiffer},
		{"topics that differ by case, accent or trailing space are different", topicsDiffer},
	}
}

// Collations that merge one of these: the default ones of MySQL and MariaDB (case, accents), all that pad
// (trailing space), NOCASE, those that ignore what is not a letter.
var alike = []string{"cafe", "Cafe", "CAFE", "café", "cafe\u0301", "cafe ", "cafe\t", "cafe\u00a0", "cafe-", "ca fe", "ﬁ", "fi", "ß", "ss"}

func idsDiffer(t *env) {
	var want []string
	for _, id := range alike {
		if _, err := t.tryWrite(t.o, outbox.Event{ID: id, Topic: "t"}); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		want = append(want, id)
	}
	p := &receiver{}
	t.drain(t.relay(p, quick(relay.OrderTotal)))
	equalIDs(t, "handed over", p.ids(), want)
}

func topicsDiffer(t *env) {
	for _, topic := range alike {
		t.bury(outbox.Event{ID: topic, Topic: topic})
	}
	for _, topic := range alike {
		list, err := t.o.DeadLetters(t.ctx(), outbox.DeadLetterQuery{Topic: topic})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].Topic != topic {
			t.Errorf("topic %q finds %d dead letters, want the one", topic, len(list))
		}
		if n, err := t.o.Discard(t.ctx(), topic); n != 1 || err != nil {
			t.Errorf("discard %q: %d, %v", topic, n, err)
		}
	}
}
