"""A front for the local model that gives tool calls.

The model is too small to call tools by itself: llama.cpp ignores them with its template. Where a request demands a call
(`tool_choice` is "required", "any" or names a tool), the front asks the model for a JSON object held to the tools'
schemas, and answers with a tool call made from it, in the dialect of the request (OpenAI Chat Completions or Anthropic
Messages), streamed or not. Every other request is passed through untouched.
"""

import json
import threading
import urllib.error
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Characters of arguments in one streamed piece: small, so that clients have something to join.
PIECE = 8
NOT_RELAYED = ("host", "content-length", "connection", "accept-encoding")


def start(model, port):
    """Serves the front on 127.0.0.1:`port` (0: a free one) before the server at `model`; returns its address."""

    class BoundFront(Front):
        upstream = model

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", port), BoundFront)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = ""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.relay(None)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        dialect = demanded(self.path, body)
        if dialect is None:
            return self.relay(body)
        try:
            call = self.ask(dialect)
        except urllib.error.HTTPError as error:
            return self.send_json(json.load(error), error.code)
        except json.JSONDecodeError:
            message = "the tool call was cut off: raise max_tokens"
            return self.send_json({"error": {"message": message, "type": "server_error"}}, 500)
        if dialect.request.get("stream"):
            self.send_events(dialect.events(call))
        else:
            self.send_json(dialect.answer(call))

    def ask(self, dialect):
        """One generation held to the schemas of the tools that may be called."""
        tools = [t for t in dialect.tools() if dialect.wanted in (None, t["name"])] or dialect.tools()
        alternatives = [
            {
                "type": "object",
                "properties": {"name": {"const": tool["name"]}, "arguments": tool["schema"]},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for tool in tools
        ]
        schema = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
        lines = [f"{t['name']}: {t['description']} {json.dumps(t['schema'])}" for t in tools]
        messages = as_text(dialect.request["messages"])
        system = dialect.system() + "Reply with one JSON function call. Functions:\n" + "\n".join(lines)
        asked = {
            "messages": [{"role": "system", "content": system}]
            + [m for m in messages if m["role"] not in ("system", "developer")],
            "response_format": {"type": "json_schema", "json_schema": {"name": "call", "schema": schema}},
            "max_tokens": dialect.max_tokens(),
            **{k: dialect.request[k] for k in ("temperature", "seed", "top_p") if k in dialect.request},
        }
        response = json.load(self.open("/v1/chat/completions", json.dumps(asked).encode()))
        made = json.loads(response["choices"][0]["message"]["content"])
        return Call(made["name"], made["arguments"], response)

    def open(self, path, body, headers=None):
        headers = {"content-type": "application/json", **(headers or {})}
        return urllib.request.urlopen(urllib.request.Request(self.upstream + path, body, headers), timeout=600)

    def relay(self, body):
        headers = {k: v for k, v in self.headers.items() if k.lower() not in NOT_RELAYED}
        try:
            response = self.open(self.path, body, headers)
        except urllib.error.HTTPError as error:
            response = error
        self.send_response(response.status)
        self.send_header("content-type", response.headers.get("content-type", "application/json"))
        self.send_header("connection", "close")
        self.end_headers()
        while piece := response.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True

    def send_json(self, value, code=200):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_events(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in events:
            head = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{head}data: {text}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True


class Call:
    """A tool call that the model made."""

    def __init__(self, name, arguments, response):
        self.name = name
        self.arguments = arguments
        self.text = json.dumps(arguments)
        self.response = response
        self.usage = response["usage"]

    def pieces(self):
        return (self.text[at : at + PIECE] for at in range(0, len(self.text), PIECE))


def demanded(path, body):
    """The request in its dialect if it demands a tool call, None if it is to be passed through."""
    try:
        request = json.loads(body)
    except ValueError:
        return None
    if not isinstance(request, dict) or not request.get("tools"):
        return None
    choice = request.get("tool_choice")
    if path.startswith("/v1/chat/completions") and (choice == "required" or isinstance(choice, dict)):
        return OpenAi(request)
    if path == "/v1/messages" and isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        return Anthropic(request)
    return None


class OpenAi:
    def __init__(self, request):
        self.request = request
        choice = request["tool_choice"]
        self.wanted = choice["function"]["name"] if isinstance(choice, dict) else None

    def tools(self):
        return [tool_of(t["function"], "parameters") for t in self.request["tools"]]

    def system(self):
        said = [m["content"] for m in as_text(self.request["messages"]) if m["role"] in ("system", "developer")]
        return "".join(text + "\n" for text in said)

    def max_tokens(self):
        return self.request.get("max_tokens") or self.request.get("max_completion_tokens") or 256

    def answer(self, call):
        function = {"name": call.name, "arguments": call.text}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": new_id("call_"), "type": "function", "function": function}],
        }
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        return {**self.head(call, "chat.completion"), "choices": [choice], "usage": call.usage}

    def events(self, call):
        def chunk(delta, finish=None):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return None, {**self.head(call, "chat.completion.chunk"), "choices": [choice]}

        def of_call(fields):
            return chunk({"tool_calls": [{"index": 0, **fields}]})

        yield chunk({"role": "assistant", "content": None})
        yield of_call({"id": new_id("call_"), "type": "function", "function": {"name": call.name, "arguments": ""}})
        for piece in call.pieces():
            yield of_call({"function": {"arguments": piece}})
        yield chunk({}, "tool_calls")
        if (self.request.get("stream_options") or {}).get("include_usage"):
            yield None, {**self.head(call, "chat.completion.chunk"), "choices": [], "usage": call.usage}
        yield None, "[DONE]"

    @staticmethod
    def head(call, kind):
        return {"object": kind, **{k: call.response[k] for k in ("id", "created", "model")}}


class Anthropic:
    def __init__(self, request):
        self.request = request
        self.wanted = request["tool_choice"].get("name")

    def tools(self):
        return [tool_of(t, "input_schema") for t in self.request["tools"]]

    def system(self):
        system = self.request.get("system") or ""
        if not isinstance(system, str):
            system = "\n".join(block["text"] for block in system)
        return system + "\n" if system else ""

    def max_tokens(self):
        return self.request["max_tokens"]

    def answer(self, call):
        block = {"type": "tool_use", "id": new_id("toolu_"), "name": call.name, "input": call.arguments}
        message = self.head(call)
        message["usage"]["output_tokens"] = call.usage["completion_tokens"]
        return {**message, "content": [block], "stop_reason": "tool_use"}

    def events(self, call):
        def event(kind, **fields):
            return kind, {"type": kind, **fields}

        block = {"type": "tool_use", "id": new_id("toolu_"), "name": call.name, "input": {}}
        yield event("message_start", message=self.head(call))
        yield event("content_block_start", index=0, content_block=block)
        for piece in call.pieces():
            yield event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": piece})
        yield event("content_block_stop", index=0)
        usage = {"output_tokens": call.usage["completion_tokens"]}
        yield event("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage=usage)
        yield event("message_stop")

    @staticmethod
    def head(call):
        return {
            "id": new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": call.response["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": call.usage["prompt_tokens"], "output_tokens": 0},
        }


def tool_of(declared, schema_key):
    return {
        "name": declared["name"],
        "description": declared.get("description", ""),
        "schema": declared.get(schema_key) or {"type": "object"},
    }


def new_id(prefix):
    return prefix + uuid.uuid4().hex[:24]


def as_text(messages):
    """The messages of either dialect as plain text ones: earlier calls and results are written out as JSON."""
    plain = []
    for message in messages:
        content = message.get("content") or ""
        lines = [content] if isinstance(content, str) else [block_text(block) for block in content]
        for call in message.get("tool_calls") or []:
            function = call["function"]
            arguments = json.loads(function["arguments"] or "{}")
            lines.append(json.dumps({"name": function["name"], "arguments": arguments}))
        text = "\n".join(line for line in lines if line)
        if message["role"] == "tool":
            plain.append({"role": "user", "content": "Tool result: " + text})
        else:
            plain.append({"role": message["role"], "content": text})
    return plain


def block_text(block):
    kind = block.get("type")
    if kind in ("text", "input_text", "output_text"):
        return block["text"]
    if kind == "tool_use":
        return json.dumps({"name": block["name"], "arguments": block["input"]})
    if kind == "tool_result":
        content = block["content"]
        return "Tool result: " + (content if isinstance(content, str) else json.dumps(content))
    return ""
