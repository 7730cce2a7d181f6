package relay

import (
	"context"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/registry"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// A name that a handler is given later: who has records under its first name has them under all.
const insertName = `INSERT INTO {handlers} (name, former_name, topics, from_seq, since_ms) VALUES (?, ?, ?, 0, {clock}){ignore_name}`

// firstName finds under which name the database knows a handler, and makes known what is new.
func (h *Handlers) firstName(ctx context.Context, tx dialect.Tx, one *handler) (first string, err error) {
	names, err := registry.Read(ctx, tx, h.sql)
	if err != nil {
		return "", err
	}
	first, known := names.First(one.Name)
	if one.FormerName == "" {
		if known {
			return first, nil
		}
		return one.Name, h.insert(ctx, tx, one, one.Name)
	}
	former, formerKnown := names.First(one.FormerName)
	switch {
	case known:
		if formerKnown && former != first {
			h.relay.log.Warn("a handler's FormerName has no effect: the database knows both names as those of two handlers",
				"handler", one.Name, "former", one.FormerName)
		}
		return first, nil
	case !formerKnown: // new; a release that calls it by its former name may come later
		former = one.FormerName
		if err := h.insert(ctx, tx, one, former); err != nil {
			return "", err
		}
	default:
		switch row, err := h.find(ctx, tx, former); {
		case err != nil:
			return "", err
		case row.retired != 0: // that one is gone: it is new
			return one.Name, h.insert(ctx, tx, one, one.Name)
		}
	}
	_, err = rows.Exec(ctx, tx, h.sql.SQL(insertName), one.Name, one.FormerName, []byte("[]"))
	return former, err
}

// byFirstName are this process's handlers. Two that are one to the database are an error.
func (h *Handlers) byFirstName() (map[string]*handler, error) {
	all := make(map[string]*handler)
	for _, one := range h.all {
		if other := all[one.first]; other != nil {
			return nil, fmt.Errorf("announce handler %q: %w: it is handler %q", one.Name, ErrHandlerRenamed, other.Name)
		}
		all[one.first] = one
	}
	return all, nil
}

// called is this process's handler that the database knows by its first name; nil if it has none, or none yet.
func (h *Handlers) called(first string) *handler {
	if all := h.known.Load(); all != nil {
		return (*all)[first]
	}
	return nil
}
