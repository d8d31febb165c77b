package antiphon

// The calls of tools within a coordination. Knows nothing of decisions.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	pb "antiphon/gen/antiphonv1"
)

func (o *coordinator) runTools(ctx context.Context, needed *pb.ToolsNeeded) {
	if o.batch.GetBatchId() != needed.GetBatchId() {
		o.remember(needed.GetExchange())
	}
	o.batch = needed
	if o.failed() == nil {
		var all sync.WaitGroup
		for _, call := range needed.GetCalls() {
			all.Go(func() {
				if result := o.resultOf(ctx, call); result != nil && ctx.Err() == nil {
					// At once, so that a slow sibling puts no finished call at risk.
					o.wire.send(resultsFrame(needed, result))
				}
			})
		}
		all.Wait()
	}
	if ctx.Err() != nil {
		return
	}
	if o.failed() != nil {
		o.wire.send(cancelFrame(hookFailed))
	} else if len(o.paused) > 0 {
		o.wire.send(suspendFrame())
	}
}

// resultOf is what came of a call, now or before; nil where the answer comes later or a hook failed.
func (o *coordinator) resultOf(ctx context.Context, needed *pb.NeededToolCall) *pb.ToolResult {
	call := toolCallOf(needed.GetCall())
	if known := o.memory.result(call.CallID); known != nil {
		return known
	}
	if o.isPaused(call.CallID) {
		return nil
	}
	result := ToolResult{CallID: call.CallID}
	text, err := o.invoke(ctx, needed, call)
	var pause *Pause
	switch {
	case errors.As(err, &pause):
		o.lock.Lock()
		o.paused[call.CallID] = true
		o.lock.Unlock()
		return nil
	case err != nil && ctx.Err() != nil:
		// The caller has gone: what the tool says of that is no result.
		return nil
	case err != nil:
		// What a failed call says is for the model, which may do better; its siblings keep their results.
		result.Text, result.IsError = err.Error(), true
	default:
		result.Text = text
	}
	if o.afterCall != nil {
		if err := o.afterCall(ctx, call, result); err != nil {
			o.fail(err)
			return nil
		}
	}
	raw := result.toRaw()
	o.memory.keepResult(raw)
	return raw
}

func (o *coordinator) isPaused(callID string) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.paused[callID]
}

func (o *coordinator) invoke(ctx context.Context, needed *pb.NeededToolCall, call ToolCall) (string, error) {
	tool := o.functions[call.Name]
	if needed.GetTool() == nil || tool == nil || tool.Function == nil {
		return "", fmt.Errorf("there is no tool %q", call.Name)
	}
	if o.beforeCall != nil {
		if err := o.beforeCall(ctx, call); err != nil {
			return "", err
		}
	}
	return tool.Function(ctx, json.RawMessage(call.Arguments))
}

// pauseOf is what a tool asked for, with what is left to be answered.
func (o *coordinator) pauseOf(frame *pb.CoordinationDetached) *Pause {
	made := &Pause{CoordinationID: frame.GetCoordinationId()}
	for _, needed := range o.batch.GetCalls() {
		if slices.Contains(frame.GetPendingCallIds(), needed.GetCall().GetCallId()) {
			made.Calls = append(made.Calls, toolCallOf(needed.GetCall()))
		}
	}
	return made
}

// resultsFrame is every result of a batch that is known.
func (o *coordinator) resultsFrame(batch *pb.ToolsNeeded) *pb.CoordinateRequest {
	var results []*pb.ToolResult
	for _, call := range batch.GetCalls() {
		if result := o.memory.result(call.GetCall().GetCallId()); result != nil {
			results = append(results, result)
		}
	}
	return resultsFrame(batch, results...)
}

func resultsFrame(batch *pb.ToolsNeeded, results ...*pb.ToolResult) *pb.CoordinateRequest {
	said := &pb.BatchResults{BatchId: batch.GetBatchId(), RunId: batch.GetRunId(), Results: results}
	return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_ToolResults{ToolResults: said}}
}
