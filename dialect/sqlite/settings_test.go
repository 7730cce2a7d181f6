package sqlite

import "testing"

func TestSettingsAreAddedUnlessTheDSNHasThem(t *testing.T) {
	const (
		busy = "_pragma=busy_timeout(60000)"
		wal  = "_pragma=journal_mode(WAL)"
		full = "_pragma=synchronous(FULL)"
		lock = "_txlock=immediate"
	)
	tests := []struct{ dsn, want string }{
		{"app.db", "app.db?" + busy + "&" + wal + "&" + full + "&" + lock},
		{"/var/lib/app 100%.db", "/var/lib/app 100%.db?" + busy + "&" + wal + "&" + full + "&" + lock},
		{"file:app.db?cache=private", "file:app.db?cache=private&" + busy + "&" + wal + "&" + full + "&" + lock},
		{"app.db?_pragma=foreign_keys(1)", "app.db?_pragma=foreign_keys(1)&" + busy + "&" + wal + "&" + full + "&" + lock},
		{"app.db?_busy_timeout=5", "app.db?_busy_timeout=5&" + wal + "&" + full + "&" + lock},
		{"app.db?_timeout=5", "app.db?_timeout=5&" + wal + "&" + full + "&" + lock},
		{"app.db?_pragma=busy_timeout=5", "app.db?_pragma=busy_timeout=5&" + wal + "&" + full + "&" + lock},
		{"app.db?_pragma=%20Busy_Timeout%20(5)", "app.db?_pragma=%20Busy_Timeout%20(5)&" + wal + "&" + full + "&" + lock},
		{"app.db?_pragma=main.journal_mode(delete)", "app.db?_pragma=main.journal_mode(delete)&" + busy + "&" + full + "&" + lock},
		{"app.db?_journal=DELETE&_sync=1", "app.db?_journal=DELETE&_sync=1&" + busy + "&" + lock},
		{"app.db?_journal_mode=DELETE&_synchronous=1", "app.db?_journal_mode=DELETE&_synchronous=1&" + busy + "&" + lock},
		{"app.db?_txlock=deferred", "app.db?_txlock=deferred&" + busy + "&" + wal + "&" + full},
		{"file:app.db?mode=ro", "file:app.db?mode=ro&" + busy + "&" + full + "&" + lock},
		{"file:app.db?immutable=1", "file:app.db?immutable=1&" + busy + "&" + full + "&" + lock},
		{"app.db?", "app.db?&" + busy + "&" + wal + "&" + full + "&" + lock},
	}
	for _, test := range tests {
		got, err := withSettings(test.dsn)
		if err != nil {
			t.Errorf("%s: %v", test.dsn, err)
		} else if got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.dsn, got, test.want)
		}
	}
	if got, err := withSettings("app.db?a=%zz"); err == nil {
		t.Errorf("a broken DSN became %s", got)
	}
}
