# An agent of Agentex's own kit, in a process of its own: agentex-agent.py sync|async. Where the server
# is, and where the agent is to listen, it has from the environment, as Agentex's agents do.
import os
import sys
import typing

import typing_extensions

# The kit takes `override` from where Python has it since 3.12, and says that it runs on 3.11.
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
        for piece in ["From ", "afar: ", params.content.content]:
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
        said = params.event.content.content
        for author, text in [("user", said), ("agent", f"From afar: {said}")]:
            content = {"type": "text", "author": author, "content": text}
            await client().messages.create(task_id=params.task.id, content=content)

    @acp.on_task_cancel
    async def on_cancel(params):
        pass


uvicorn.run(acp, host="127.0.0.1", port=int(os.environ["ACP_PORT"]), log_level="info")
