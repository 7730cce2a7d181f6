package outbox_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func TestRelaysAreThoseThatLive(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.db.SetMaxOpenConns(1)
		b.live("b", "per_key", `{"batch":"1-100,105"}`, -10*time.Second)
		b.live("c", "none", "", 0)
		b.live("a", "total", `{"alone":7}`, 0)
		b.live("strange", "total", `[]`, 0)
		b.live("killed", "per_key", `{"batch":"1-3"}`, -time.Minute)
		b.live("of a clock set back", "per_key", "", time.Hour)
		b.live("crashed", "crash", `{"suspects":"1-3"}`, 0)
		b.exec(`INSERT INTO {leases} (name, owner) VALUES ('key/63', 'b'), ('key/00', 'b'), ('key/07', 'b'), ('key/08', 'killed'), ('key/09', ''), ('total', 'a')`)
		for ms, id := range map[int64]string{1000: "b", 2000: "a", 3000: "c", 4000: "strange"} {
			b.exec(`UPDATE {relays} SET since_ms = ? WHERE id = ?`, ms, id)
		}
		got, err := b.Relays(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range got {
			seen := time.Duration(0)
			if r.ID == "b" {
				seen = 10 * time.Second
			}
			if !about(r.Seen, seen) || !about(30*time.Second-r.ExpiresIn, seen) {
				t.Errorf("%s: seen %v ago, expires in %v", r.ID, r.Seen, r.ExpiresIn)
			}
			got[i].Seen, got[i].ExpiresIn = 0, 0
		}
		want := []outbox.RelayInfo{
			{ID: "b", Host: "host", Process: 42, Order: "per_key", Since: time.UnixMilli(1000), Partitions: []int{0, 7, 63}, InHand: 101},
			{ID: "a", Host: "host", Process: 42, Order: "total", Since: time.UnixMilli(2000), InHand: 1},
			{ID: "c", Host: "host", Process: 42, Order: "none", Since: time.UnixMilli(3000)},
			{ID: "strange", Host: "host", Process: 42, Order: "total", Since: time.UnixMilli(4000), InHand: -1},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}
