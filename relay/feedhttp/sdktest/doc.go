// Package sdktest has CloudEvents' own Go SDK read what package feedhttp sends. It is a module of its own, so that the SDK
// is not a dependency of the library.
package sdktest
