"""Uses the server in OPENAI_BASE_URL with the OpenAI SDK, LiteLLM and LangChain. Prints one line of JSON per check.

The model `helper` says "Hello there.", calls the tool `weather` if the message contains this word, writes JSON if the
message contains `json`, and repeats the output of a tool.
"""

import asyncio
import json
import os
import sys
from typing import Any, Callable

import openai
from openai import OpenAI
from pydantic import BaseModel

base = os.environ["OPENAI_BASE_URL"]
client = OpenAI(max_retries=0)
parameters = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
function = {"name": "weather", "description": "Returns the weather", "parameters": parameters}
response_tool: Any = {"type": "function", **function}
chat_tool: Any = {"type": "function", "function": function}
hello: Any = [{"role": "user", "content": "Hi"}]
sun: Any = [{"role": "user", "content": "weather"}]


class Place(BaseModel):
    town: str


def check(name: str) -> Callable[[Callable[[], Any]], None]:
    def run(work: Callable[[], Any]) -> None:
        try:
            outcome = work()
        except Exception as error:  # The test compares the error.
            outcome = f"{type(error).__name__}: {error}"
        print(json.dumps([name, outcome], default=str), flush=True)

    return run


def create(text: str, **more: Any) -> Any:
    return client.responses.create(model="helper", input=text, **more)


def with_output(call_id: str) -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": "sunny"}


def openai_sdk() -> None:
    @check("openai: models")
    def _():
        return [model.id for model in client.models.list()]

    @check("openai: response")
    def _():
        return create("Hi").output_text

    @check("openai: response as a stream")
    def _():
        with client.responses.stream(model="helper", input="Hi") as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            return [text, stream.get_final_response().output_text]

    @check("openai: parsed response")
    def _():
        return client.responses.parse(model="helper", input="json", text_format=Place).output_parsed.town

    @check("openai: tools with previous_response_id")
    def _():
        asked = create("weather", tools=[response_tool])
        more = {"previous_response_id": asked.id, "tools": [response_tool]}
        return create([with_output(asked.output[0].call_id)], **more).output_text

    @check("openai: tools with the whole history")
    def _():
        asked = create("weather", tools=[response_tool], store=False)
        history = [*sun, *asked.output, with_output(asked.output[0].call_id)]
        return create(history, tools=[response_tool]).output_text

    @check("openai: fork and input items")
    def _():
        first = create("Hi")
        create("More", previous_response_id=first.id)
        fork = create("Other", previous_response_id=first.id)
        items = client.responses.input_items.list(fork.id, order="asc")
        is_new = fork.conversation.id != first.conversation.id
        return [is_new, [item.content[0].text for item in items]]

    @check("openai: delete")
    def _():
        first = create("Hi")
        client.responses.delete(first.id)
        try:
            client.responses.retrieve(first.id)
        except openai.NotFoundError as error:
            return error.type

    @check("openai: background")
    def _():
        started = create("Hi", background=True)
        events = client.responses.retrieve(started.id, stream=True)
        return [event.type for event in events][-1]

    @check("openai: items of a conversation")
    def _():
        items = client.conversations.items.list(create("Hi").conversation.id)
        return [item.role for item in items]

    @check("openai: chat completion")
    def _():
        return client.chat.completions.create(model="helper", messages=hello).choices[0].message.content

    @check("openai: chat completion as a stream")
    def _():
        with client.chat.completions.stream(model="helper", messages=hello) as stream:
            stream.until_done()
            return stream.get_final_completion().choices[0].message.content

    @check("openai: error of a model")
    def _():
        try:
            client.responses.create(model="none", input="Hi")
        except openai.NotFoundError as error:
            return [error.code, error.param, error.type]

    @check("openai: error of a field")
    def _():
        try:
            client.chat.completions.create(model="helper", n=2, messages=hello)
        except openai.BadRequestError as error:
            return [error.code, error.param, error.type]

    @check("openai: new conversation")
    def _():
        try:
            return client.conversations.create().id
        except openai.APIStatusError as error:
            return error.status_code

    @check("openai: count of tokens")
    def _():
        try:
            return client.responses.input_tokens.count(model="helper", input="Hi").input_tokens
        except openai.APIStatusError as error:
            return error.status_code


def lite_llm() -> None:
    # The imports of LiteLLM and LangChain need seconds, so only their own checks import them.
    import litellm

    litellm.suppress_debug_info = True
    options: Any = {"model": "openai/helper", "api_base": base}

    def complete(messages: Any, **more: Any) -> Any:
        return litellm.completion(**options, messages=messages, **more)

    def respond(text: str, **more: Any) -> Any:
        return litellm.responses(**options, input=text, **more)

    @check("litellm: chat completion")
    def _():
        return complete(hello).choices[0].message.content

    @check("litellm: chat completion as a stream")
    def _():
        return litellm.stream_chunk_builder(list(complete(hello, stream=True))).choices[0].message.content

    @check("litellm: tools")
    def _():
        message = complete(sun, tools=[chat_tool]).choices[0].message
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}
        return complete([*sun, message, result], tools=[chat_tool]).choices[0].message.content

    @check("litellm: tools in a stream")
    def _():
        chunks = list(complete(sun, tools=[chat_tool], stream=True))
        call = litellm.stream_chunk_builder(chunks).choices[0].message.tool_calls[0].function
        return [call.name, call.arguments]

    @check("litellm: json_object")
    def _():
        json_object = {"type": "json_object"}
        messages = [{"role": "user", "content": "json"}]
        return complete(messages, response_format=json_object).choices[0].message.content

    @check("litellm: response")
    def _():
        first = respond("Hi")
        return respond("More", previous_response_id=first.id).output[0].content[0].text

    @check("litellm: response as a stream")
    def _():
        return str([event.type for event in respond("Hi", stream=True)][-1].value)

    @check("litellm: get, input items and delete")
    def _():
        first = respond("Hi")
        got = litellm.get_responses(first.id, api_base=base)
        items = litellm.list_input_items(first.id, api_base=base)
        deleted = litellm.delete_responses(first.id, api_base=base)
        return [got.status, len(items["data"]), deleted.deleted]

    @check("litellm: error")
    def _():
        try:
            litellm.completion(model="openai/none", api_base=base, messages=hello)
        except litellm.NotFoundError as error:
            return error.status_code


def lang_chain(name: str, **more: Any) -> None:
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def weather(town: str) -> str:
        """Returns the weather."""
        return "sunny"

    model = ChatOpenAI(model="helper", max_retries=0, **more)
    unknown = ChatOpenAI(model="none", max_retries=0, **more)
    with_tools = model.bind_tools([weather])

    @check(f"{name}: text")
    def _():
        return model.invoke("Hi").text

    @check(f"{name}: stream")
    def _():
        async def read() -> str:
            return "".join([chunk.text async for chunk in model.astream("Hi")])

        return ["".join(chunk.text for chunk in model.stream("Hi")), asyncio.run(read())]

    @check(f"{name}: tools")
    def _():
        asked = with_tools.invoke([HumanMessage("weather")])
        call = asked.tool_calls[0]
        result = ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"])
        return with_tools.invoke([HumanMessage("weather"), asked, result]).text

    @check(f"{name}: tools in a stream")
    def _():
        chunks = list(with_tools.stream("weather"))
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole += chunk
        return [[call["name"], call["args"]] for call in whole.tool_calls]

    @check(f"{name}: structured output")
    def _():
        methods = ["json_schema", "json_mode"]
        return [model.with_structured_output(Place, method=m).invoke("json").town for m in methods]

    @check(f"{name}: error")
    def _():
        try:
            unknown.invoke("Hi")
        except openai.NotFoundError as error:
            return error.code


def lang_chain_apis() -> None:
    lang_chain("langchain chat", use_responses_api=False)
    lang_chain("langchain responses", use_responses_api=True, use_previous_response_id=True)


suites = {"openai": openai_sdk, "litellm": lite_llm, "langchain": lang_chain_apis}
suites[sys.argv[1]]()
