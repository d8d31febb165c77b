package antiphon

// The one error of this package, and how it is read from what gRPC says. Knows nothing of what was called.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "antiphon/gen/antiphonv1"
)

// Error says that a call was refused or failed, or that a coordination ended failed or cancelled. Find it with [errors.As].
type Error struct {
	Code codes.Code
	// Message is for people; it says what to do next.
	Message string
	// Reason is a stable word such as HEAD_MOVED, from the list in error.proto, or the caller's own; empty when the transport
	// failed.
	Reason string
	// Metadata has the facts that a program needs, by the names that error.proto gives for the reason.
	Metadata map[string]string
	// RetryAfter is how long to wait before the next try; nil where the server does not say that waiting helps.
	RetryAfter *time.Duration
	// RequestID is what the server's log has, too.
	RequestID string
	// Undelivered is a completed result that was on record and never presented when a coordination ended; nil without one.
	Undelivered *Exchange

	cause error
}

// Error has the code by the name that gRPC gives it, the reason and the message.
func (e *Error) Error() string {
	name := code.Code(e.Code).String()
	if e.Reason != "" {
		name += " " + e.Reason
	}
	return fmt.Sprintf("antiphon: %s: %s", name, e.Message)
}

// Unwrap gives what is behind it where that is of this process: the context's own error, or what a callback returned.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus lets gRPC's own functions read it.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// CanRetry tells whether the same call may be made again without asking. RUN_INTERRUPTED never is, since the model may have
// been called.
func (e *Error) CanRetry() bool {
	if e.Reason == "RUN_INTERRUPTED" {
		return false
	}
	waitingHelps := e.RetryAfter != nil && (e.Code == codes.ResourceExhausted || e.Code == codes.Aborted)
	return e.Code == codes.Unavailable || waitingHelps
}

// ReasonOf is the reason of an [Error], wherever it is in a chain of errors; empty where there is none.
func ReasonOf(err error) string {
	var found *Error
	if errors.As(err, &found) {
		return found.Reason
	}
	return ""
}

// invalid is the error of a caller that asked for what cannot be, before anything was sent.
func invalid(format string, arguments ...any) *Error {
	return &Error{Code: codes.InvalidArgument, Message: fmt.Sprintf(format, arguments...)}
}

// fromRPC reads what a call failed with.
func fromRPC(ctx context.Context, failed error) *Error {
	var known *Error
	if errors.As(failed, &known) {
		return known
	}
	said := status.Convert(failed)
	made := &Error{Code: said.Code(), Message: said.Message()}
	for _, detail := range said.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			made.Reason, made.Metadata = detail.GetReason(), detail.GetMetadata()
		case *errdetails.RetryInfo:
			after := detail.GetRetryDelay().AsDuration()
			made.RetryAfter = &after
		case *errdetails.RequestInfo:
			made.RequestID = detail.GetRequestId()
		}
	}
	_, limited := ctx.Deadline()
	switch {
	case ctx.Err() != nil && (made.Code == codes.Canceled || made.Code == codes.DeadlineExceeded):
		made.cause = context.Cause(ctx)
	case limited && made.Code == codes.DeadlineExceeded:
		// The server, which knows the deadline, was a little faster.
		made.cause = context.DeadlineExceeded
	}
	return made
}

// fromStatus reads an error that is part of an answer.
func fromStatus(raw *pb.ErrorStatus) *Error {
	made := codes.Unknown
	if raw.GetCode() > 0 && raw.GetCode() <= int32(codes.Unauthenticated) {
		made = codes.Code(raw.GetCode())
	}
	return &Error{Code: made, Message: raw.GetMessage(), Reason: raw.GetReason(), Metadata: maps.Clone(raw.GetMetadata())}
}
