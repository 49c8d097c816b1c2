"""Runs llama.cpp's own HTTP server from the wheel xllamacpp: llama-server.py <model> [name=value …].

Each name is a field of xllamacpp's CommonParams, such as port, n_ctx, n_parallel or api_keys. The
process prints its address when it listens, and ends with its standard input.
"""
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.use_jinja = True
params.endpoint_slots = True
for setting in sys.argv[2:]:
    name, text = setting.split("=", 1)
    default = getattr(params, name)
    if isinstance(default, bool):
        value = text == "true"
    elif isinstance(default, int):
        value = int(text)
    elif isinstance(default, (list, set)):
        value = type(default)(text.split(","))
    else:
        value = text
    setattr(params, name, value)
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
