"""Talk to `assize endpoint` with the packages that OpenAI and Anthropic publish.

Run by the integration tests where the packages are present:
    python official_clients.py http://127.0.0.1:PORT
The script served is that of tests/it/endpoint.rs.
"""

import json
import sys

import anthropic
import openai

BASE = sys.argv[1]
NAMES = ["get_order", "get_customer"]
SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
RESULTS = {"get_order": '{"id": "O-1842"}', "get_customer": '"Ada"'}
QUESTION = "refund order 1842"


def final(task, trial):
    return f"Order O-1842 of Ada in {task}, trial {trial}: refunded in full."


def check(actual, expected):
    assert actual == expected, f"{actual!r} is not {expected!r}"


def with_openai():
    client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="none", max_retries=0)
    assert "agent" in [m.id for m in client.models.list()]
    tools = [{"type": "function", "function": {"name": n, "description": n, "parameters": SCHEMA}} for n in NAMES]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    header = {"x-assize-trial": "task-1/4"}

    reply = client.chat.completions.create(model="agent", messages=messages, tools=tools, extra_headers=header)
    message = reply.choices[0].message
    check(reply.choices[0].finish_reason, "tool_calls")
    check([c.function.name for c in message.tool_calls], NAMES)
    check((reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.prompt_tokens_details.cached_tokens), (100, 20, 60))

    # The same turn as a stream, put together by the package itself.
    with client.chat.completions.stream(model="agent", messages=messages, tools=tools, extra_headers=header,
                                        stream_options={"include_usage": True}) as stream:
        kinds = {event.type for event in stream}
        streamed = stream.get_final_completion()
    assert "tool_calls.function.arguments.delta" in kinds, kinds
    check([(c.id, c.function.name, c.function.arguments) for c in streamed.choices[0].message.tool_calls],
          [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls])
    check((streamed.id, streamed.usage.total_tokens), (reply.id, reply.usage.total_tokens))

    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls:
        check(json.loads(call.function.arguments), {"order_id": "1842"})
        messages.append({"role": "tool", "tool_call_id": call.id, "content": RESULTS[call.function.name]})
    reply = client.chat.completions.create(model="agent", messages=messages, tools=tools, extra_headers=header)
    check((reply.choices[0].message.content, reply.choices[0].finish_reason), (final("task-1", 4), "stop"))
    chunks = list(client.chat.completions.create(model="agent", messages=messages, tools=tools, extra_headers=header,
                                                 stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    check(text, final("task-1", 4))
    assert chunks[-1].usage.total_tokens > 0 and not chunks[-1].choices

    refusal = client.chat.completions.create(model="refusing", messages=messages[:2])
    assert refusal.choices[0].message.refusal and refusal.choices[0].message.content is None
    for model, kind in [("limited", openai.RateLimitError), ("nobody", openai.NotFoundError),
                        ("dated", openai.InternalServerError), ("reset", openai.APIConnectionError)]:
        try:
            client.chat.completions.create(model=model, messages=[{"role": "user", "content": "openai"}])
            raise AssertionError(f"{model} should fail")
        except kind:
            pass
    # The package's own retries get through.
    patient = client.with_options(max_retries=3)
    headers = {"x-assize-trial": "retried/0"}
    check(patient.chat.completions.create(model="brief", messages=messages[:2], extra_headers=headers).choices[0].message.content, "hi")
    print("openai: ok", openai.__version__)


def with_anthropic():
    client = anthropic.Anthropic(base_url=BASE, api_key="none", max_retries=0)
    assert "agent" in [m.id for m in client.models.list()]
    tools = [{"name": n, "description": n, "input_schema": SCHEMA} for n in NAMES]
    messages = [{"role": "user", "content": QUESTION}]
    common = {"model": "agent", "max_tokens": 500, "system": "Be brief.", "tools": tools,
              "extra_headers": {"x-assize-trial": "task-2/5"}}

    reply = client.messages.create(messages=messages, **common)
    check(reply.stop_reason, "tool_use")
    uses = [b for b in reply.content if b.type == "tool_use"]
    check([(u.name, u.input) for u in uses], [(n, {"order_id": "1842"}) for n in NAMES])
    check((reply.usage.input_tokens, reply.usage.cache_read_input_tokens, reply.usage.output_tokens), (40, 60, 20))

    with client.messages.stream(messages=messages, **common) as stream:
        kinds = {event.type for event in stream}
        streamed = stream.get_final_message()
    assert "input_json" in kinds, kinds
    check([(b.type, b.id, b.name, b.input) for b in streamed.content], [(b.type, b.id, b.name, b.input) for b in reply.content])
    check((streamed.id, streamed.stop_reason, streamed.usage.output_tokens), (reply.id, "tool_use", 20))

    messages.append({"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in reply.content]})
    results = [{"type": "tool_result", "tool_use_id": u.id, "content": RESULTS[u.name]} for u in uses]
    messages.append({"role": "user", "content": results})
    reply = client.messages.create(messages=messages, **common)
    check((reply.content[0].text, reply.stop_reason), (final("task-2", 5), "end_turn"))
    with client.messages.stream(messages=messages, **common) as stream:
        check("".join(stream.text_stream), final("task-2", 5))

    ask = {"max_tokens": 9, "messages": [{"role": "user", "content": "anthropic"}]}
    thought = client.messages.create(model="thinking", **ask)
    check([b.type for b in thought.content], ["thinking", "text"])
    with client.messages.stream(model="thinking", **ask) as stream:
        streamed = stream.get_final_message()
    check([b.model_dump() for b in streamed.content], [b.model_dump() for b in thought.content])
    check(client.messages.create(model="refusing", **ask).stop_reason, "refusal")
    for model, kind in [("limited", anthropic.RateLimitError), ("nobody", anthropic.NotFoundError),
                        ("dated", anthropic.InternalServerError), ("reset", anthropic.APIConnectionError)]:
        try:
            client.messages.create(model=model, **ask)
            raise AssertionError(f"{model} should fail")
        except kind:
            pass
    patient = client.with_options(max_retries=3)
    check(patient.messages.create(model="brief", extra_headers={"x-assize-trial": "retried/1"}, **ask).content[0].text, "hi")
    print("anthropic: ok", anthropic.__version__)


with_openai()
with_anthropic()
