"""The part of `scripts/quickstart` that comes after the build: starts model and server, walks the main job, waits."""

import argparse
import atexit
import ctypes
import errno
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".antiphon"
BINARY = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "antiphon"
DEFAULT_LISTEN = "127.0.0.1:7373"
ANY_PORT = "127.0.0.1:0"
SCRIPTED = ROOT / "examples" / "scripted.toml"
WITH_MODEL = ROOT / "examples" / "local-model.toml"
# The address in that file, which is replaced by the one where the model is found.
MODEL_ADDRESS = "http://127.0.0.1:8080/v1"

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# A command that takes longer has hung; the model needs a few seconds for an answer on a busy machine.
COMMAND_SECONDS = 180
STOP_SECONDS = 20
# What decides in the coordination, and the client that it uses.
CALLBACK = ROOT / "examples" / "callback.sh"
PACKING = ROOT / "clients" / "python" / "examples" / "packing.py"
CLIENT = ROOT / "clients" / "python" / "src"


class Failed(Exception):
    """Something that the person at the terminal must know; the text says what to do."""


# --- words on the terminal -------------------------------------------------------------------------------------------


def styled(code, text):
    return f"\x1b[{code}m{text}\x1b[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def say(text=""):
    print(text, flush=True)


def heading(text):
    say("\n" + styled("1", text))


def held(text):
    say(styled("32", f"  ok: {text}"))


# --- processes that are ours -----------------------------------------------------------------------------------------


def die_with_parent():
    """In the child, on Linux: ends it when this program is killed without a chance to clean up."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # 1 is PR_SET_PDEATHSIG


class Service:
    """A program in the background that says `listening on ADDRESS` when it is ready."""

    def __init__(self, name, command, log, environment=None):
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        # A session of its own: Ctrl-C reaches this program only, which then ends its children in order.
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log.open("w"),
            env={**os.environ, **(environment or {})},
            start_new_session=True,
            preexec_fn=die_with_parent,
            text=True,
        )
        atexit.register(self.stop)

    def address(self):
        """Waits until it listens and returns where."""
        for line in self.process.stdout:
            if match := re.match(r"listening on (\S+)", line):
                # Whatever else it prints is read, so that it never blocks on a full pipe.
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return match[1]
        self.process.wait()
        raise Failed(f"the {self.name} did not start:\n{self.last_words()}")

    def last_words(self):
        lines = self.log.read_text(errors="replace").splitlines()[-8:]
        return "\n".join(f"  {line}" for line in lines) + f"\n(all of it: {self.log})"

    def stop(self):
        if self.process.poll() is not None:
            return
        # A second Ctrl-C would leave behind what this ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            say(f"the {self.name} does not end by itself; killing it")
            self.signal(signal.SIGKILL)
            self.process.wait()

    def signal(self, number):
        # The whole group: what it started goes with it.
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


def start_model():
    say("starting the local model")
    log = STATE / "quickstart" / "model.log"
    model = Service("local model", [ROOT / "scripts" / "local-model", "run"], log)
    address = model.address()
    say(f"  it answers at {address}")
    return address


def start_server(options, folder):
    if options.no_model:
        config = SCRIPTED
    else:
        address = start_model()
        config = folder / "antiphon.toml"
        text = WITH_MODEL.read_text()
        if MODEL_ADDRESS not in text:
            raise Failed(f"{WITH_MODEL} does not have the address {MODEL_ADDRESS}, which is to be replaced")
        config.write_text(text.replace(MODEL_ADDRESS, address))
    command = [options.binary, "serve", "--config", config, "--listen", options.listen, "--data", folder / "data"]
    say("starting the server")
    say("  $ " + " ".join(shown(str(word)) for word in command))
    server = Service("server", command, folder / "server.log")
    return server, server.address()


# --- the walk --------------------------------------------------------------------------------------------------------


class Tour:
    """Runs the command line as a person would, shows what it prints, and checks what came of it."""

    def __init__(self, binary, python, server):
        self.binary = binary
        self.python = python
        self.environment = {**os.environ, "ANTIPHON_SERVER": f"http://{server}", "PYTHONPATH": str(CLIENT)}
        if not sys.stdout.isatty():
            self.environment["NO_COLOR"] = "1"

    def run(self, *arguments):
        """Runs a verb of the command line, see `command`."""
        return self.command("antiphon", self.binary, *arguments)

    def program(self, path, *arguments):
        """Runs a program in Python that uses the client, see `command`."""
        return self.command("python", self.python, str(path), *arguments)

    def command(self, name, binary, *arguments):
        """Runs a command on a terminal of its own, copies its output to ours, and returns it without colours."""
        say("\n" + styled("36", f"$ {name} " + " ".join(map(shown, arguments))))
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, shutil.get_terminal_size().columns, 0, 0))
        process = subprocess.Popen(
            [binary, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=self.environment,
            preexec_fn=die_with_parent,
        )
        os.close(theirs)
        watchdog = threading.Timer(COMMAND_SECONDS, process.kill)
        watchdog.start()
        output = b""
        try:
            while piece := read(ours):
                output += piece
                sys.stdout.buffer.write(piece.replace(b"\r\n", b"\n"))
                sys.stdout.buffer.flush()
            code = process.wait()
        finally:
            watchdog.cancel()
            process.kill()
            os.close(ours)
        if code == -signal.SIGKILL:
            raise Failed(f"the command did not end within {COMMAND_SECONDS} s")
        if code != 0:
            raise Failed(f"the command ended with exit code {code}")
        return COLOURS.sub("", output.decode(errors="replace")).replace("\r\n", "\n")

    def ask(self, *arguments):
        """Asks for JSON, unseen: this is how the walk checks itself."""
        command = [self.binary, *arguments, "--json"]
        answer = subprocess.run(
            command, capture_output=True, text=True, env=self.environment, timeout=COMMAND_SECONDS, check=False
        )
        if answer.returncode != 0:
            raise Failed(f"antiphon {' '.join(command[1:])} failed: {answer.stderr.strip() or answer.stdout.strip()}")
        try:
            return json.loads(answer.stdout)
        except ValueError as error:
            raise Failed(f"antiphon {' '.join(command[1:])} printed no JSON: {error}") from error

    def exchange(self, output, last=False):
        """Everything about the first exchange that some output names, or the last."""
        ids = re.findall(rf"\bexchange\b\W*({UUID})", output)
        if not ids:
            raise Failed("the output names no exchange")
        exchange_id = ids[-1 if last else 0]
        exchange = self.ask("inspect", exchange_id)["exchange"]
        check(exchange["exchangeId"] == exchange_id, "Inspect gave another exchange than the one asked for")
        check(exchange.get("text", "").strip(), "the answer is empty")
        return exchange

    def walk(self):
        heading("1. Capture: one call, kept as an exchange with everything that was sent and said.")
        first = self.exchange(self.run("capture", "--system", "Answer in one short sentence.", "Name a city by the sea."))
        start = first["exchangeId"]
        check(not first.get("parentExchangeId"), "a first exchange has no parent")
        held(f"exchange {start} is stored")

        heading("2. Continue: a new exchange after it. The first one does not change.")
        before = self.ask("inspect", start)
        second = self.exchange(self.run("continue", start, "What is it known for?"))
        self.check_child(second, first, "What is it known for?")

        heading("3. Fork, twice, from the same exchange: two threads with a shared past and futures of their own.")
        sea = self.exchange(self.run("fork", start, "--name", "by ship", "How do I get there by ship?"))
        self.check_child(sea, first, "How do I get there by ship?")
        rail = self.exchange(self.run("fork", start, "--name", "by train", "How do I get there by train?"))
        self.check_child(rail, first, "How do I get there by train?")
        threads = {sea.get("threadId"), rail.get("threadId")}
        check(len(threads - {None, ""}) == 2, "the forks are on two threads")
        check(self.ask("inspect", start) == before, "the first exchange has changed")
        held("two threads, and the exchange they start from is exactly as it was")

        heading("4. Probe: asks something on the side and leaves nothing behind.")
        ends = [exchange["exchangeId"] for exchange in (second, sea, rail)]
        before = self.everything(ends)
        probed = self.run("probe", sea["exchangeId"], "Which city are we talking about?")
        check(probed.strip(), "the probe answered nothing")
        check(self.everything(ends) == before, "the probe has left something behind")
        held("graph, threads and runs are the same as before")

        heading("5. Coordinate: the server runs the turns, and a function of yours says after each what comes next.")
        output = self.program(PACKING, second["exchangeId"])
        self.check_coordination(output, second)
        held("one turn of two was used, and then the function had what it wanted")
        say("\nThe same from a shell, where a command decides:")
        output = self.run("coordinate", "--from", second["exchangeId"], "--turns", "2", "--callback", shlex.quote(str(CALLBACK)))
        self.check_coordination(output, second)
        held("the same, on a branch of its own")

        heading("6. Inspect: what was sent, by which settings, with which tools, and what it cost.")
        output = self.run("inspect", sea["exchangeId"])
        check(start in output or first["text"].strip()[:20] in output, "Inspect does not show where the exchange comes from")

        heading("7. The lineage, as text.")
        output = self.run("log", "--graph", *ends)
        for exchange in (first, second, sea, rail):
            check(names(output, exchange["exchangeId"]), f"the graph lacks exchange {exchange['exchangeId']}")
        held("one root and its three branches")
        return second, sea

    def everything(self, ends):
        """All that a call could change here: the graph with these ends, the threads, and the runs."""
        return self.ask("log", "--graph", *ends), self.ask("threads"), self.ask("runs")

    def check_coordination(self, output, start):
        """One turn of two, on the exchange that it started from, and then a stop."""
        packed = self.exchange(output, last=True)
        self.check_child(packed, start, "What would you pack?")
        check(output.split()[-1] == "stopped", "whoever decided was not told that it stopped")
        there = self.ask("coordinations")["coordinations"]
        coordination = next((found for found in there if found.get("exchangeId") == packed["exchangeId"]), None)
        check(coordination is not None, "no coordination ended with that exchange")
        check(coordination["state"] == "COORDINATION_STATE_STOPPED", f"the coordination is {coordination['state']}")
        check(coordination["turnsStarted"] == 1, "a turn was started that nobody asked for")

    def check_child(self, child, parent, text):
        """The right parent, and a history that begins with the parent's, message for message."""
        check(child.get("parentExchangeId") == parent["exchangeId"], f"its parent is {child.get('parentExchangeId')}")
        history = self.ask("inspect", child["exchangeId"])["messages"]
        past = self.ask("inspect", parent["exchangeId"])["messages"]
        check(history[: len(past)] == past, "its history does not begin with its parent's")
        check(text in json.dumps(history[len(past) :], ensure_ascii=False), "its own message is missing")
        held(f"its parent is {parent['exchangeId']}, and its history begins with its parent's")


def read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError as error:
        # How Linux says that the last program on the terminal has ended.
        if error.errno == errno.EIO:
            return b""
        raise


def check(holds, otherwise):
    if not holds:
        raise Failed(otherwise)


def names(output, exchange_id):
    """Whether some output has an id, in full or shortened at either end to eight characters or more."""
    return any(part in output for part in (exchange_id, exchange_id[:13], exchange_id[-12:], exchange_id[-8:]))


def shown(word):
    """A word as one types it in a shell."""
    if word.startswith(str(ROOT) + "/"):
        word = word[len(str(ROOT)) + 1 :]
    plain = re.fullmatch(r"[\w@%+=:,./-]+", word)
    return word if plain else '"' + re.sub(r'(["$`\\])', r"\\\1", word) + '"'


def farewell(options, server, second, fork, data):
    grpcurl = "grpcurl" if shutil.which("grpcurl") else ".tools/bin/grpcurl"
    heading(f"The server is up at {server} until you press Ctrl-C. Go on in another terminal:")
    say()
    say(f"  cd {ROOT}")
    say(f'  export PATH="{options.binary.parent}:$PATH"' + ("" if server == DEFAULT_LISTEN else f" ANTIPHON_SERVER=http://{server}"))
    say(f'  antiphon continue {second["exchangeId"]} "Tell me more."')
    say(f'  antiphon continue --thread {fork["threadId"]} "And how long does it take?"')
    say("  antiphon threads")
    say("  antiphon --help")
    say()
    say("or, from anything that speaks gRPC, for instance grpcurl"
        + ("" if grpcurl == "grpcurl" else " (scripts/tools/install grpcurl builds it)") + ":")
    say()
    say(f"  {grpcurl} -plaintext {server} list")
    say(f"  {grpcurl} -plaintext {server} describe antiphon.v1.ExchangeService.Continue")
    inspect = json.dumps({"exchange_id": fork["exchangeId"]})
    say(f"  {grpcurl} -plaintext -d '{inspect}' {server} antiphon.v1.ExchangeService/Inspect")
    follow = json.dumps({"exchange": {"exchange_id": second["exchangeId"]}, "request": {"text": "Tell me more."}})
    say(f"  {grpcurl} -plaintext -d '{follow}' {server} antiphon.v1.ExchangeService/Continue")
    say()
    say(f"What was said stays in {shown(str(data))}; the next quickstart goes on with it.")


# --- from start to end -----------------------------------------------------------------------------------------------


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/quickstart", description="Starts Antiphon and walks its main job.")
    parser.add_argument("--no-model", action="store_true", help="canned answers in place of a model")
    parser.add_argument("--tour-only", action="store_true", help="end after the walk, with 0 if every step held")
    parser.add_argument("--listen", metavar="ADDR", help=f"default {DEFAULT_LISTEN}, or a free port where that is in use and with --tour-only")
    parser.add_argument("--binary", metavar="PATH", type=Path, default=BINARY, help="run this instead of building one")
    parser.add_argument("--client-python", metavar="PATH", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.binary != BINARY and not os.access(options.binary, os.X_OK):
        parser.error(f"--binary {options.binary}: is no program")
    options.binary = options.binary.resolve()
    return parser, options


def choose_address(parser, options):
    """Where the server listens; an address that will not do is refused now, before a long build."""
    if options.listen is not None:
        try:
            try_address(parser, options.listen)
        except Failed as failure:
            raise Failed(f"{failure}; --listen {ANY_PORT} takes a free port") from failure
    elif options.tour_only:
        options.listen = ANY_PORT
    else:
        options.listen = DEFAULT_LISTEN
        try:
            try_address(parser, DEFAULT_LISTEN)
        except Failed as failure:
            say(f"{failure}; taking a free port")
            options.listen = ANY_PORT


def try_address(parser, listen):
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        parser.error(f"--listen {listen}: must be an address and a port, such as {DEFAULT_LISTEN}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # As the server does, so that a port that was just left is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), int(port)))
            probe.listen()
        except OSError as error:
            busy = error.errno == errno.EADDRINUSE
            raise Failed(f"{listen} " + ("is in use" if busy else f"will not do: {error}")) from error


def interrupted(number, _frame):
    sys.exit(128 + number)


def main():
    parser, options = arguments()
    if options.check:
        # Before the build only what was asked for is tried; what is taken instead is said once, after it.
        if options.listen is not None:
            choose_address(parser, options)
        return 0
    choose_address(parser, options)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    # Set, as a shell that starts this in the background leaves it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The walk that only checks starts from nothing and keeps out of the way of a quickstart that is up.
    folder = STATE / ("tour" if options.tour_only else "quickstart")
    if options.tour_only:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    server, address = start_server(options, folder)
    second, fork = Tour(options.binary, options.client_python, address).walk()
    if options.tour_only:
        say("\nevery step held")
        return 0
    farewell(options, address, second, fork, folder / "data")
    server.process.wait()
    raise Failed(f"the server ended by itself:\n{server.last_words()}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        say(styled("31", f"\nFAILED: {failure}"))
        sys.exit(1)
    except KeyboardInterrupt:
        say("\nstopping")
        sys.exit(0)
    except BrokenPipeError:
        # Whoever read this has gone, `head` for instance; what is left to say goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
