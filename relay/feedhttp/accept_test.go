package feedhttp

import "testing"

func TestTheFormatIsTheOneThatIsAccepted(t *testing.T) {
	for _, c := range []struct {
		accept []string
		want   format // none: not acceptable
	}{
		{nil, formatBatch},
		{[]string{""}, formatBatch},
		{[]string{" "}, formatBatch},
		{[]string{"*/*"}, formatBatch},
		{[]string{"application/*"}, formatBatch},
		{[]string{"text/*"}, formatStream},
		{[]string{"application/json"}, formatEnvelope},
		{[]string{"Application/JSON; charset=utf-8"}, formatEnvelope},
		{[]string{"application/cloudevents-batch+json, application/json"}, formatBatch},
		{[]string{"application/cloudevents-batch+json;q=0.5, application/json"}, formatEnvelope},
		{[]string{"application/json", "text/event-stream;q=0.9"}, formatEnvelope},
		{[]string{"text/event-stream"}, formatStream},
		{[]string{"text/event-stream, */*"}, formatStream},
		{[]string{"text/event-stream;q=0.1, */*"}, formatBatch},
		{[]string{"*/*;q=0.1, application/json;q=.2"}, formatEnvelope},
		{[]string{"application/cloudevents-batch+json;q=0, */*"}, formatEnvelope},
		{[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}, formatBatch},
		{[]string{"text/html, image/gif, *; q=.2, */*; q=.2"}, formatBatch},
		{[]string{`a/b;x="application/json,*/*"`}, ""},
		{[]string{`a/b;x="\",*/*,", application/json`}, formatEnvelope},
		{[]string{"application/cloudevents+json"}, ""},
		{[]string{"text/html"}, ""},
		{[]string{"application/json;q=0"}, ""},
		{[]string{"*/*;q=0"}, ""},
		{[]string{"*/*;q=2"}, ""},
		{[]string{"*/*;q=NaN"}, ""},
		{[]string{"*/*;q=1e0"}, ""},
		{[]string{"json"}, ""},
		{[]string{","}, ""},
	} {
		got, ok := negotiate(c.accept)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.accept, got, ok, c.want)
		}
	}
}
