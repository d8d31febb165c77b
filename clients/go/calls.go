package antiphon

// Calls that are repeated where that is safe and helps, and lists that are read page by page. Knows nothing of what is asked.

import (
	"context"
	"iter"

	"google.golang.org/grpc"
)

type unary[Asked, Answer any] func(context.Context, Asked, ...grpc.CallOption) (Answer, error)

// call makes a call that is safe to repeat, since it changes nothing or what it does has a name, and repeats it where that helps.
//
// run is the part of the request that names a run; nil without one. A run that failed, or that the server cancelled because the
// connection broke, is on record under its id and would give the same error again, so it is tried again under that id.
func call[Asked, Answer any](ctx context.Context, method unary[Asked, Answer], asked Asked, run repeatable) (Answer, error) {
	count := newTries(run)
	for {
		answer, err := method(ctx, asked)
		if err == nil {
			return answer, nil
		}
		if err := count.pause(ctx, fromRPC(ctx, err)); err != nil {
			return answer, err
		}
	}
}

// pages is every item of a list, page after page; more names the next page in the request.
func pages[Asked any, Answer interface{ GetNextPageToken() string }, Item any](
	ctx context.Context, method unary[Asked, Answer], asked Asked, more func(string), items func(Answer) []Item,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for {
			page, err := call(ctx, method, asked, nil)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range items(page) {
				if !yield(item, nil) {
					return
				}
			}
			if page.GetNextPageToken() == "" {
				return
			}
			more(page.GetNextPageToken())
		}
	}
}
