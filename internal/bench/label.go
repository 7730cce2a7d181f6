package bench

import (
	"fmt"
	"strings"
)

// join makes a label such as "sqloutbox total, 1,000,000 kept".
func join(name string, n int, what string) string {
	return fmt.Sprintf("%s, %s %s", name, Thousands(float64(n)), what)
}

// Thousands is a whole number with commas.
func Thousands(x float64) string {
	digits := fmt.Sprintf("%.0f", x)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
