package engines

import "syscall"

// product is what one server product needs to be brought up; postgres.go, mysql.go and mariadb.go fill it in.
type product struct {
	name     string         // as in ENGINES, and the scheme of its URLs
	address  string         // URL of the superuser, with %d for the port
	variable string         // names a server that is already there
	users    []string       // system users to run it as when we are root, best first
	settings []string       // options of the server, the same in every way of starting it
	stop     syscall.Signal // asks for a quick and clean end
	advice   string         // what to install

	find    func() (programs, bool)                          // programs on this machine
	create  func(p programs, data string) []string           // command line that makes an empty data directory
	serve   func(p programs, data string, port int) []string // command line of the server, without settings
	install func(s *steps) error                             // Debian's packages; find succeeds afterwards
	image   image                                            // Docker
}

// programs are the command lines, as far as the program's own options, of a product that is on this machine.
type programs struct {
	server []string
	create []string
	found  string // for people
}

// image is a product's official Docker image.
type image struct {
	name string
	port int
	env  []string
}
