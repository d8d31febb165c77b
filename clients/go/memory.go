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

// memories are those of a client, by coordination.
type memories struct {
	lock sync.Mutex
	each map[string]*memory
}

func newMemories() *memories { return &memories{each: map[string]*memory{}} }

// of is the memory of a coordination. One without an id is nobody else's.
func (m *memories) of(id string) *memory {
	if id == "" {
		return newMemory()
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.each[id] == nil {
		m.each[id] = newMemory()
	}
	return m.each[id]
}

// forget lets go of a memory in which there is nothing.
func (m *memories) forget(id string, known *memory) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.each[id] == known && known.empty() {
		delete(m.each, id)
	}
}
