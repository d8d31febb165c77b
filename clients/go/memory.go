package antiphon

// What this process remembers of having answered. Knows nothing of what was asked.

import (
	"sync"

	pb "antiphon/gen/antiphonv1"
)

// memory is what this process has answered, so that no callback is made twice for one id. Forgotten when the coordination ends.
type memory struct {
	lock    sync.Mutex
	answers map[string]*pb.CoordinateRequest
	results map[string]*pb.ToolResult
}

func newMemory() *memory {
	return &memory{answers: map[string]*pb.CoordinateRequest{}, results: map[string]*pb.ToolResult{}}
}

func (m *memory) answer(id string) *pb.CoordinateRequest {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.answers[id]
}

func (m *memory) keep(id string, answer *pb.CoordinateRequest) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.answers[id] = answer
}

func (m *memory) drop(id string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.answers, id)
}

func (m *memory) result(callID string) *pb.ToolResult {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.results[callID]
}

func (m *memory) keepResult(result *pb.ToolResult) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.results[result.GetCallId()] = result
}

func (m *memory) clear() {
	m.lock.Lock()
	defer m.lock.Unlock()
	clear(m.answers)
	clear(m.results)
}

func (m *memory) empty() bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	return len(m.answers) == 0 && len(m.results) == 0
}
