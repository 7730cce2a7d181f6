package report

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// canvas is an SVG image that is being drawn.
type canvas struct {
	theme
	w, h float64
	b    strings.Builder
}

func newCanvas(t theme, w, h float64, title string) *canvas {
	c := &canvas{theme: t, w: w, h: h}
	fmt.Fprintf(&c.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" `+
		`font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="12">`+"\n", w, h, w, h)
	fmt.Fprintf(&c.b, "<title>%s</title>\n", escape(title))
	c.rect(0, 0, w, h, t.page)
	c.label(16, 26, title, t.text, "start", `font-size="15" font-weight="600"`)
	return c
}

func (c *canvas) rect(x, y, w, h float64, fill string) {
	fmt.Fprintf(&c.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, w, h, fill)
}

func (c *canvas) line(x1, y1, x2, y2, width float64, stroke string) {
	fmt.Fprintf(&c.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%g"/>`+"\n", x1, y1, x2, y2, stroke, width)
}

func (c *canvas) dot(x, y float64, fill string) {
	fmt.Fprintf(&c.b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x, y, fill)
}

// label is text; anchor is start, middle or end.
func (c *canvas) label(x, y float64, text, fill, anchor string, more ...string) {
	fmt.Fprintf(&c.b, `<text x="%.1f" y="%.1f" fill="%s" text-anchor="%s" %s>%s</text>`+"\n",
		x, y, fill, anchor, strings.Join(more, " "), escape(text))
}

func (c *canvas) String() string { return c.b.String() + "</svg>\n" }

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
