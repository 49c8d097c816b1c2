# An agent of Agentex's Python SDK in its own process: agentex-agent.py sync|async. It reads the address of
# the server and its own port from the environment, as all agents of the SDK do.
import os
import sys
import typing

import typing_extensions

# The SDK supports Python 3.11 but imports `override`, which exists since 3.12.
if not hasattr(typing, "override"):
    typing.override = typing_extensions.override

import uvicorn
from agentex import AsyncAgentex
from agentex.lib.sdk.fastacp.fastacp import FastACP
from agentex.lib.types.fastacp import AsyncACPConfig
from agentex.types.task_message_delta import TextDelta
from agentex.types.task_message_update import StreamTaskMessageDelta

kind = sys.argv[1]

if kind == "sync":
    acp = FastACP.create(acp_type="sync")

    @acp.on_message_send
    async def on_message(params):
        for piece in ["Rem", "ote: ", params.content.content]:
            delta = TextDelta(type="text", text_delta=piece)
            yield StreamTaskMessageDelta(type="delta", index=0, delta=delta)

else:
    acp = FastACP.create(acp_type="async", config=AsyncACPConfig(type="base"))

    def client():
        key = os.environ["AGENT_API_KEY"]
        headers = {"x-agent-api-key": key}
        return AsyncAgentex(base_url=os.environ["AGENTEX_BASE_URL"], default_headers=headers)

    @acp.on_task_create
    async def on_create(params):
        pass

    @acp.on_task_event_send
    async def on_event(params):
        text = params.event.content.content
        for author, content_text in [("user", text), ("agent", f"Remote: {text}")]:
            content = {"type": "text", "author": author, "content": content_text}
            await client().messages.create(task_id=params.task.id, content=content)

    @acp.on_task_cancel
    async def on_cancel(params):
        pass


uvicorn.run(acp, host="127.0.0.1", port=int(os.environ["ACP_PORT"]), log_level="info")
