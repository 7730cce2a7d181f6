package webhook

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestTheGuardLetsPublicAddressesThroughAndNoOther(t *testing.T) {
	for _, c := range []struct {
		addresses       string
		public, private bool // let through; let through with AllowPrivate
	}{
		{"1.1.1.1 8.8.8.8 93.184.216.34 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.0 223.255.255.255 169.253.1.1 192.0.1.1", true, true},
		{"2606:4700::1111 2001:4860:4860::8888 2a00::1 2001:200::1 64:ff9b::8.8.8.8 ::ffff:8.8.8.8", true, true},
		{"127.0.0.1 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.255", false, true},
		{"192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 198.19.255.255 192.88.99.1", false, true},
		{"::1 fc00::1 fd12:3456::1 2001:db8::1 2002:7f00:1:: 2001::1 3fff::1 1000::1 4000::1 64:ff9b:1::1 100::1 5f00::1", false, true},
		{"::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:192.168.1.1 64:ff9b::10.0.0.1 64:ff9b::7f00:1 ::10.0.0.1", false, true},
		{"0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0 169.254.169.254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe ::169.254.169.254", false, false},
		{"168.63.129.16 100.100.100.200 192.0.0.192 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255", false, false},
		{"fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1 fd00:ec2::254 fd20:ce::254 2606:4700::1111%eth0 ::ffff:255.255.255.255", false, false},
	} {
		for _, text := range strings.Fields(c.addresses) {
			a := netip.MustParseAddr(text)
			for allow, want := range map[bool]bool{false: c.public, true: c.private} {
				if err := checkAddress(a, allow); (err == nil) != want || err != nil && !errors.Is(err, ErrAddress) {
					t.Errorf("%s, AllowPrivate %v: %v", text, allow, err)
				}
			}
		}
	}
	if checkAddress(netip.Addr{}, true) == nil {
		t.Error("no address is let through")
	}
}

func FuzzGuard(f *testing.F) {
	for _, a := range []string{"127.0.0.1:80", "[::1]:80", "[::ffff:10.0.0.1]:80", "169.254.169.254:80", "[fe80::1%eth0]:80", "x", ""} {
		f.Add(a)
	}
	strict, inner := control(false), control(true)
	f.Fuzz(func(t *testing.T, address string) {
		if strict("tcp", address, nil) != nil {
			return
		}
		a := netip.MustParseAddrPort(address).Addr().Unmap()
		if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.Zone() != "" {
			t.Errorf("%s is let through", address)
		}
		if inner("tcp", address, nil) != nil {
			t.Errorf("%s is let through, but not with AllowPrivate", address)
		}
	})
}

// trapped is a server on every loopback address that there is, which nobody may reach.
func trapped(t *testing.T) (port string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was reached from %s", r.Host, r.RemoteAddr)
	}))
	s.Listener.Close()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

func TestInnerAddressesAreRefusedHoweverTheyAreWritten(t *testing.T) {
	port := trapped(t)
	for _, host := range []string{
		"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "10.0.0.1", "169.254.169.254", "localhost",
		"localhost.", "127.1", "0177.0.0.1", "2130706433", "0x7f000001", "127.0.0.1.", "[fe80::1%25lo]",
	} {
		a := try(t, endpoint{"http://" + host + ":" + port, Options{AllowHTTP: true, Timeout: shortly * 10}})
		var dns *net.DNSError // some resolvers don't take such a text for an address
		if !errors.Is(a.err, ErrAddress) && !errors.As(a.err, &dns) {
			t.Errorf("%s: %v", host, a.err)
		}
	}
	a := try(t, endpoint{"http://localhost:" + port, Options{AllowHTTP: true}})
	if !errors.Is(a.err, ErrAddress) {
		t.Errorf("a name that resolves to loopback: %v", a.err)
	}
}

func TestAProxyInTheEnvironmentIsNotUsed(t *testing.T) {
	port := trapped(t)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+port)
	}
	// net/http reads the environment once a process, and never uses a proxy for loopback: so the transport is asked.
	opts := (&Options{}).withDefaults()
	if newClient(&opts).http.Transport.(*http.Transport).Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
	try(t, endpoint{"http://nowhere.invalid/", Options{AllowHTTP: true}})
	try(t, endpoint{"https://nowhere.invalid/", Options{AllowHTTP: true}})
}

func TestURLsThatAreNoEndpointsAreRefused(t *testing.T) {
	strict, open := (&Options{}).withDefaults(), (&Options{AllowHTTP: true, AllowPrivate: true}).withDefaults()
	for _, c := range []struct {
		url          string
		strict, open bool
	}{
		{"https://example.com/hooks?x=1", true, true},
		{"https://example.com:8443", true, true},
		{"https://[2606:4700::1111]/", true, true},
		{"http://example.com/", false, true},
		{"https://127.0.0.1/", false, true},
		{"https://[::ffff:10.0.0.1]/", false, true},
		{"https://169.254.169.254/latest/meta-data", false, false},
		{"https://[fe80::1%25eth0]/", false, false},
		{"https://user:secret@example.com/", false, false},
		{"https://example.com/#part", false, false},
		{"https:///path", false, false},
		{"https://:443/", false, false},
		{"ftp://example.com", false, false},
		{"file:///etc/passwd", false, false},
		{"example.com", false, false},
		{"", false, false},
		{"https://exa mple.com/", false, false},
		{"https://example.com/" + strings.Repeat("x", MaxURL), false, false},
	} {
		for _, o := range []struct {
			opts Options
			want bool
		}{{strict, c.strict}, {open, c.open}} {
			err := o.opts.checkURL(c.url)
			if (err == nil) != o.want {
				t.Errorf("%.60s, AllowHTTP %v: %v", c.url, o.opts.AllowHTTP, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
		}
	}
}
