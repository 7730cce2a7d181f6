package contest

import (
	"context"
	"time"
)

// settlePatience is how long what is delivered may take to be settled.
const settlePatience = 5 * time.Second

// Settled waits until nothing is left, while the system runs. What is left after a while is for the caller to judge.
func Settled(ctx context.Context, s System) error {
	for end := time.Now().Add(settlePatience); ; time.Sleep(10 * time.Millisecond) {
		left, err := s.Left(ctx)
		if err != nil || left == 0 || time.Now().After(end) {
			return err
		}
	}
}
