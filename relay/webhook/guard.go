package webhook

import (
	"fmt"
	"net/netip"
	"syscall"
)

// never are addresses that nothing may be sent to, whatever is allowed: a machine's own network and its metadata services.
var never = prefixes(
	"0.0.0.0/8",          // this host; the kernel takes it for loopback
	"169.254.0.0/16",     // link-local: metadata of most clouds
	"168.63.129.16/32",   // Azure's host
	"192.0.0.0/24",       // protocol assignments: Oracle's metadata
	"100.100.100.200/32", // Alibaba's metadata
	"224.0.0.0/4",        // multicast
	"240.0.0.0/4",        // reserved, and broadcast
	"::/128",             // unspecified
	"fe80::/10",          // link-local
	"fec0::/10",          // site-local, of old
	"ff00::/8",           // multicast
	"fd00:ec2::/32",      // AWS's metadata
	"fd20:ce::254/128",   // Google's metadata
)

// private are addresses of inner networks, for AllowPrivate, and others that are nobody's in the public network.
var private = prefixes(
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
	"100.64.0.0/10",                                     // carrier-grade NAT
	"127.0.0.0/8",                                       // loopback
	"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation
	"192.88.99.0/24", // 6to4 relays, of old
	"198.18.0.0/15",  // benchmarks
	"2001::/23",      // protocol assignments: Teredo, ORCHID, benchmarks
	"2001:db8::/32",  // documentation
	"2002::/16",      // 6to4: it holds an IPv4 address
	"3fff::/20",      // documentation
)

var (
	global = netip.MustParsePrefix("2000::/3")     // all that is public in IPv6
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // a gateway sends it to the IPv4 address in its end
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// checkAddress refuses what is no public address, or, with allowPrivate, what is never one to send to.
func checkAddress(a netip.Addr, allowPrivate bool) error {
	if a.Zone() != "" {
		return fmt.Errorf("%w: %v", ErrAddress, a)
	}
	plain := embedded(a)
	within := func(list []netip.Prefix) bool {
		for _, p := range list {
			if p.Contains(plain) {
				return true
			}
		}
		return false
	}
	public := !within(private) && (plain.Is4() || global.Contains(plain))
	if !plain.IsValid() || within(never) || !public && !allowPrivate {
		return fmt.Errorf("%w: %v", ErrAddress, a)
	}
	return nil
}

// embedded is the IPv4 address that an IPv6 one stands for, or the address itself.
func embedded(a netip.Addr) netip.Addr {
	a = a.Unmap()
	b := a.As16()
	if a.Is6() && (nat64.Contains(a) || [12]byte(b[:12]) == [12]byte{} && b != [16]byte{15: 1} && b != [16]byte{}) { // or IPv4-compatible, of old
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// control is a net.Dialer's: it sees the address that is about to be dialled, after the name was resolved, so that no name
// can lead elsewhere than where it was when it was looked at.
func control(allowPrivate bool) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %q", ErrAddress, address)
		}
		return checkAddress(a.Addr(), allowPrivate)
	}
}
