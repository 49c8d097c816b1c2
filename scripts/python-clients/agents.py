"""Agents of Pydantic AI and LangGraph that speak AG-UI, for the tests of remote agents.

The model of both is the OpenAI-compatible server in OPENAI_BASE_URL. The server prints its port.
"""

import asyncio
import os
import socket

import uvicorn
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from fastapi.requests import Request
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.ui.ag_ui import AGUIAdapter

app = FastAPI()

pydantic = Agent(OpenAIChatModel("helper"), output_type=[str, DeferredToolRequests])


@pydantic.tool_plain
def weather(town: str) -> str:
    """Returns the weather."""
    return f"sun in {town}"


@pydantic.tool_plain(requires_approval=True)
def refund(order: int) -> str:
    """Refunds an order."""
    return f"refunded {order}"


@app.post("/pydantic")
async def run_pydantic(request: Request):
    return await AGUIAdapter.dispatch_request(request, agent=pydantic)


@tool("weather")
def weather_tool(town: str) -> str:
    """Returns the weather."""
    return f"sun in {town}"


@tool("refund")
def refund_tool(order: int) -> str:
    """Refunds an order."""
    answer = interrupt(f"Refund order {order}?")
    return f"refunded {order}" if answer == "yes" else "not refunded"


graph = create_agent(
    ChatOpenAI(model="helper"),
    tools=[weather_tool, refund_tool],
    checkpointer=InMemorySaver(),
)
langgraph = LangGraphAgent(name="langgraph", graph=graph, emit_interrupt_outcome=True)
add_langgraph_fastapi_endpoint(app, langgraph, "/langgraph")


async def main() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    print(f"port {listener.getsockname()[1]}", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level=os.environ.get("LOG", "warning")))
    await server.serve(sockets=[listener])


asyncio.run(main())
