# What people do with Agentex's Python client, told as one JSON object: agentex-client.py <url>.
import asyncio
import json
import sys

from agentex import Agentex, AsyncAgentex
from agentex.types.text_content_param import TextContentParam

url = sys.argv[1]
client = Agentex(base_url=url, api_key="key", max_retries=0)
hello = TextContentParam(type="text", author="user", content="hello")
told = {}


def plain(content):
    return json.loads(content.model_dump_json())


told["agents"] = sorted(agent.name for agent in client.agents.list())
task = client.agents.create_task(agent_name="teller", params={"name": "py", "params": {"n": 1}}).result
told["task"] = {"name": task.name, "status": task.status, "params": task.params}
told["again"] = client.tasks.retrieve_by_name(task_name="py").id == task.id

sent = client.agents.send_message(
    agent_name="teller", params={"task_id": task.id, "content": hello, "stream": False}
)
told["sent"] = [plain(message.content) for message in sent.result]

types = []
for chunk in client.agents.send_message_stream(
    agent_name="teller", params={"task_id": task.id, "content": hello, "stream": True}
):
    types.append(chunk.result.type)
told["types"] = sorted(set(types))
told["messages"] = len(client.messages.list(task_id=task.id))

other = client.agents.create_task(agent_name="listener", params={}).result
event = client.agents.send_event(
    agent_name="listener", params={"task_id": other.id, "content": hello}
).result
told["event"] = [event.task_id == other.id, event.sequence_id > 0]
told["events"] = [e.id == event.id for e in client.events.list(task_id=other.id, agent_id=event.agent_id)]


async def follow():
    """Subscribes first, says something, and reads until the answer is done."""
    agentex = AsyncAgentex(base_url=url, api_key="key", max_retries=0)
    made = await agentex.agents.create_task(agent_name="listener", params={})
    frames = []
    async with agentex.tasks.with_streaming_response.stream_events(task_id=made.result.id) as stream:
        async for line in stream.iter_lines():
            if not line.startswith("data: "):
                continue
            frame = json.loads(line[len("data: ") :])
            frames.append(frame["type"])
            if frame["type"] == "connected":
                await agentex.agents.send_event(
                    agent_name="listener", params={"task_id": made.result.id, "content": hello}
                )
            message = frame.get("parent_task_message") or {"content": {}}
            if frame["type"] == "done" and message["content"].get("author") == "agent":
                return frames, message["content"]["content"]


frames, last = asyncio.run(follow())
told["followed"] = [frames[0], sorted(set(frames)), last]

canceled = client.agents.cancel_task(agent_name="listener", params={"task_id": other.id}).result
told["canceled"] = canceled.status

agent = client.agents.retrieve_by_name("listener")
state = client.states.create(task_id=other.id, agent_id=agent.id, state={"n": 1})
client.states.update(state.id, task_id=other.id, agent_id=agent.id, state={"n": 2})
told["state"] = client.states.retrieve(state.id).state
span = client.spans.create(trace_id="t", name="work", start_time="2026-01-01T00:00:00Z")
told["span"] = client.spans.retrieve(span.id).name
print(json.dumps(told))
