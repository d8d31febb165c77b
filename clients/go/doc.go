// Package antiphon is the client of Antiphon: conversations with language models as a durable, branching graph, driven by
// plain functions.
//
// [Dial] makes a [Client]. What it reads and returns are values of this package; each has its message as Raw, and the
// generated code is in antiphon/gen/antiphonv1, for calls that have no method here, over [Client.Raw].
//
// A Client may be used from several goroutines at once. See the README beside this package.
package antiphon
