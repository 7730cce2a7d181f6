package relay

import (
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/plaintext"
)

// maxErrorText is how much of an error's text is kept, in bytes.
const maxErrorText = 2000

// errorText is the text of err as any engine takes it. It can't fail, even where
// Error panics, so that recording a failure does not depend on the failure's text.
func errorText(err error) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("%T: its Error method panicked", err)
		}
	}()
	return plaintext.Cut(err.Error(), maxErrorText)
}
