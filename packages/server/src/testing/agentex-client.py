# Uses Agentex's Python client as applications do, and prints the results as one JSON object: agentex-client.py <url>.
import asyncio
import json
import sys

from agentex import Agentex, AsyncAgentex
from agentex.types.text_content_param import TextContentParam

url, key = sys.argv[1:3]
client = Agentex(base_url=url, api_key=key, max_retries=0)
hello = TextContentParam(type="text", author="user", content="hello")
results = {}


def plain(content):
    return json.loads(content.model_dump_json())


results["agents"] = sorted(agent.name for agent in client.agents.list())
task = client.agents.create_task(agent_name="sync-agent", params={"name": "py", "params": {"n": 1}}).result
results["task"] = {"name": task.name, "status": task.status, "params": task.params}
results["again"] = client.tasks.retrieve_by_name(task_name="py").id == task.id

sent = client.agents.send_message(
    agent_name="sync-agent", params={"task_id": task.id, "content": hello, "stream": False}
)
results["sent"] = [plain(message.content) for message in sent.result]

types = []
for chunk in client.agents.send_message_stream(
    agent_name="sync-agent", params={"task_id": task.id, "content": hello, "stream": True}
):
    types.append(chunk.result.type)
results["types"] = sorted(set(types))
results["messages"] = len(client.messages.list(task_id=task.id))

other = client.agents.create_task(agent_name="async-agent", params={}).result
event = client.agents.send_event(
    agent_name="async-agent", params={"task_id": other.id, "content": hello}
).result
results["event"] = [event.task_id == other.id, event.sequence_id > 0]
results["events"] = [e.id == event.id for e in client.events.list(task_id=other.id, agent_id=event.agent_id)]


async def follow():
    """Subscribes, sends an event, and reads until the answer is done."""
    agentex = AsyncAgentex(base_url=url, api_key=key, max_retries=0)
    created = await agentex.agents.create_task(agent_name="async-agent", params={})
    frames = []
    async with agentex.tasks.with_streaming_response.stream_events(task_id=created.result.id) as stream:
        async for line in stream.iter_lines():
            if not line.startswith("data: "):
                continue
            frame = json.loads(line[len("data: ") :])
            frames.append(frame["type"])
            if frame["type"] == "connected":
                await agentex.agents.send_event(
                    agent_name="async-agent", params={"task_id": created.result.id, "content": hello}
                )
            message = frame.get("parent_task_message") or {"content": {}}
            if frame["type"] == "done" and message["content"].get("author") == "agent":
                return frames, message["content"]["content"]


def stream_events():
    """Reads the parsed events of a task, until the answer to its event is done."""
    created = client.agents.create_task(agent_name="async-agent", params={}).result
    types = []
    for update in client.tasks.stream_events(task_id=created.id):
        types.append(update["type"])
        if update["type"] == "connected":
            client.agents.send_event(
                agent_name="async-agent", params={"task_id": created.id, "content": hello}
            )
        message = update.get("parent_task_message") or {"content": {}}
        if update["type"] == "done" and message["content"].get("author") == "agent":
            return [types[0], message["content"]["content"]]


results["stream_events"] = stream_events()
frames, last = asyncio.run(follow())
results["followed"] = [frames[0], sorted(set(frames)), last]

canceled = client.agents.cancel_task(agent_name="async-agent", params={"task_id": other.id}).result
results["canceled"] = canceled.status

agent = client.agents.retrieve_by_name("async-agent")
state = client.states.create(task_id=other.id, agent_id=agent.id, state={"n": 1})
client.states.update(state.id, task_id=other.id, agent_id=agent.id, state={"n": 2})
results["state"] = client.states.retrieve(state.id).state
span = client.spans.create(trace_id="t", name="work", start_time="2026-01-01T00:00:00Z")
results["span"] = client.spans.retrieve(span.id).name
print(json.dumps(results))
