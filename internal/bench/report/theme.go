package report

// theme is what a plot's colours are on a page.
type theme struct {
	name                             string
	page, text, faint, grid, whisker string
	kinds                            map[string]string // of bars, by kind of contestant
	lines                            []string          // of curves
}

var themes = []theme{{
	name: "light", page: "#ffffff", text: "#1f2328", faint: "#59636e", grid: "#d8dee4", whisker: "#1f2328",
	kinds: map[string]string{"ours": "#0969da", "limit": "#8c959f", "peer": "#bc8f5f"},
	lines: []string{"#0969da", "#1a7f37", "#bf3989", "#8c959f"},
}, {
	name: "dark", page: "#0d1117", text: "#e6edf3", faint: "#9198a1", grid: "#30363d", whisker: "#e6edf3",
	kinds: map[string]string{"ours": "#4493f8", "limit": "#6e7681", "peer": "#a9793f"},
	lines: []string{"#4493f8", "#3fb950", "#db61a2", "#8b949e"},
}}
