//go:build tools

// Package tools names what is built here, for go.mod.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
