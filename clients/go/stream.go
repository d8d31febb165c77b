package antiphon

// Both directions of a coordination's stream. Knows nothing of what is said on it.

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "antiphon/gen/antiphonv1"
)

// wire is one stream. It outlives the context that it was opened with, so that the end can be told.
type wire struct {
	stream  grpc.BidiStreamingClient[pb.CoordinateRequest, pb.CoordinateResponse]
	release context.CancelFunc
	done    chan struct{}

	sending sync.Mutex

	lock   sync.Mutex
	heard  []*pb.CoordinateResponse
	ended  error
	signal chan struct{}
}

func (c *Client) openWire(ctx context.Context) (*wire, error) {
	own, release := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, release)
	stream, err := c.exchanges.Coordinate(own)
	if !stop() && err == nil {
		err = gone(ctx)
	}
	if err != nil {
		release()
		return nil, err
	}
	made := &wire{stream: stream, release: release, done: make(chan struct{}), signal: make(chan struct{}, 1)}
	// Callbacks may take days, and what the server says meanwhile must not wait for them.
	go made.read()
	return made, nil
}

func (w *wire) read() {
	defer close(w.done)
	for {
		frame, err := w.stream.Recv()
		w.lock.Lock()
		if err != nil {
			w.ended = err
		} else if frame.GetHeartbeat() == nil {
			w.heard = append(w.heard, frame)
		}
		w.lock.Unlock()
		select {
		case w.signal <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// send says something, from whichever goroutine. What a broken stream was told is lost; receiving tells that it broke.
func (w *wire) send(frame *pb.CoordinateRequest) {
	w.sending.Lock()
	defer w.sending.Unlock()
	_ = w.stream.Send(frame)
}

// receive is the next frame, or what the stream ended with, or that the caller has gone.
func (w *wire) receive(ctx context.Context) (*pb.CoordinateResponse, error) {
	for {
		w.lock.Lock()
		if len(w.heard) > 0 {
			frame := w.heard[0]
			w.heard = w.heard[1:]
			w.lock.Unlock()
			return frame, nil
		}
		ended := w.ended
		w.lock.Unlock()
		if errors.Is(ended, io.EOF) {
			return nil, &Error{Code: codes.Unavailable, Message: "the stream closed before its coordination ended"}
		}
		if ended != nil {
			return nil, fromRPC(context.Background(), ended)
		}
		select {
		case <-w.signal:
		case <-ctx.Done():
			return nil, gone(ctx)
		}
	}
}

// drain reads on for so long, and gives how the coordination ended; nil when that was not heard.
func (w *wire) drain(limit time.Duration) *pb.CoordinationEnded {
	ctx, release := context.WithTimeout(context.Background(), limit)
	defer release()
	for {
		frame, err := w.receive(ctx)
		if err != nil {
			return nil
		}
		if ended := frame.GetEnded(); ended != nil {
			return ended
		}
	}
}

// close lets go.
func (w *wire) close() {
	w.release()
	<-w.done
}
