package antiphon

// Whether a call is made again, and when. Knows nothing of what is called.

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	pb "antiphon/gen/antiphonv1"
)

const (
	maxTries   = 4
	firstPause = 200 * time.Millisecond
)

// repeatable is the part of a call that names a run: whether to try again under its id.
type repeatable interface {
	GetRunId() string
}

// tries counts how often one call was made.
type tries struct {
	run   repeatable
	asked bool
	count int
	broke bool
	// begun: more was handed on than can be taken back, so a run that ended is not tried again.
	begun bool
}

func newTries(run repeatable) *tries {
	return &tries{run: run, asked: run != nil && retryOf(run)}
}

// pause waits before the next try, or gives the error back when there is none.
func (t *tries) pause(ctx context.Context, failed *Error) error {
	t.count++
	state := strings.ToUpper(failed.Metadata["run_state"])
	ours := t.broke && failed.Reason == "RUN_CANCELLED"
	t.broke = t.broke || (failed.Code == codes.Unavailable && failed.Reason == "")
	ended := state == "FAILED" || state == "CANCELLED" || ours
	wait := firstPause << (t.count - 1)
	if failed.RetryAfter != nil {
		wait = *failed.RetryAfter
	}
	until, limited := ctx.Deadline()
	late := limited && !time.Now().Add(wait).Before(until)
	if !(failed.CanRetry() || ours) || late || t.count >= maxTries || (ended && (t.run == nil || t.begun)) {
		return failed
	}
	if t.run != nil {
		setRetry(t.run, ended || t.asked)
	}
	return sleep(ctx, wait)
}

// sleep waits, unless the caller has gone.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return gone(ctx)
	}
}

// gone is the error of a caller that no longer waits.
func gone(ctx context.Context) *Error {
	made := &Error{Code: codes.Canceled, Message: "the caller cancelled it", cause: context.Cause(ctx)}
	if ctx.Err() == context.DeadlineExceeded {
		made.Code, made.Message = codes.DeadlineExceeded, "the caller's deadline has passed"
	}
	return made
}

func retryOf(run repeatable) bool {
	switch run := run.(type) {
	case *pb.ExecutionRequest:
		return run.GetRetry()
	case *pb.ToolResults:
		return run.GetRetry()
	}
	return false
}

func setRetry(run repeatable, retry bool) {
	switch run := run.(type) {
	case *pb.ExecutionRequest:
		run.Retry = retry
	case *pb.ToolResults:
		run.Retry = retry
	}
}

// fresh is a name for what is made once, kept over every try of it: a random UUID.
func fresh() string {
	var b [16]byte
	// It never fails: the platform stops the program where it has no randomness.
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
