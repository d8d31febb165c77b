// Package antiphontest starts a real server for tests and tells its address. It knows nothing of the client.
package antiphontest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Echo is a configuration with which whatever is said is echoed.
const Echo = `
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[backends.script]
kind = "scripted"
`

// Config says what kind of server to start.
type Config struct {
	// Binary is the server's; else what ANTIPHON_BINARY names, else antiphon on the PATH.
	Binary string
	// Config is the text of a configuration; [Echo] when absent.
	Config string
	// Files are written beside it, by their paths.
	Files map[string]string
	// Data keeps the store in that folder, so that another server can go on with it; else it is gone with the server.
	Data string
	// Listen is the address to listen on; a free port when absent.
	Listen string
}

// Server is a server of its own.
type Server struct {
	// Address is host and port.
	Address string

	folder  string
	process *exec.Cmd
}

// Start starts a server and waits until it listens. It is stopped at the end of the test; close clients before, since an open connection
// holds up its end.
func Start(t testing.TB, config Config) *Server {
	t.Helper()
	server, err := Run(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// Run starts a server outside of a test. Stop it.
func Run(config Config) (*Server, error) {
	binary, err := find(config.Binary)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "antiphon-")
	if err != nil {
		return nil, err
	}
	server := &Server{folder: folder}
	if err := server.start(binary, config); err != nil {
		log := server.Log()
		_ = server.Kill()
		return nil, fmt.Errorf("the server did not start: %w\n%s", err, log)
	}
	return server, nil
}

func find(binary string) (string, error) {
	if binary == "" {
		binary = os.Getenv("ANTIPHON_BINARY")
	}
	if binary == "" {
		binary = "antiphon"
	}
	found, err := exec.LookPath(binary)
	if err != nil {
		return "", fmt.Errorf("no antiphon binary: name it, set ANTIPHON_BINARY, or put it on the PATH: %w", err)
	}
	return found, nil
}

func (s *Server) start(binary string, config Config) error {
	text := config.Config
	if text == "" {
		text = Echo
	}
	files := map[string]string{"antiphon.toml": text}
	for name, text := range config.Files {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(s.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	listen := config.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	arguments := []string{"serve", "--config", filepath.Join(s.folder, "antiphon.toml"), "--listen", listen}
	if config.Data == "" {
		arguments = append(arguments, "--ephemeral")
	} else {
		arguments = append(arguments, "--data", config.Data)
	}
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(binary, arguments...)
	process.Stderr = log
	said, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	s.process = process
	line, err := bufio.NewReader(said).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		return fmt.Errorf("it said %q: %w", line, err)
	}
	s.Address = address
	return nil
}

// Log is what it said on standard error.
func (s *Server) Log() string {
	text, err := os.ReadFile(filepath.Join(s.folder, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Stop stops it in good order.
func (s *Server) Stop() error { return s.end(syscall.SIGTERM) }

// Kill stops it as a crash would.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

func (s *Server) end(how os.Signal) error {
	if s.process != nil {
		if err := s.process.Process.Signal(how); err != nil {
			return fmt.Errorf("the server is gone: %w", err)
		}
		// How it ended is of no interest to who asked for it.
		_ = s.process.Wait()
		s.process = nil
	}
	return os.RemoveAll(s.folder)
}
