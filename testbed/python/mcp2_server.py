"""A server on the official Python SDK, second generation (`mcp` 2.x): both the handshake and 2026-07-28.

Usage: mcp2_server.py [stdio|streamable-http|sse] [PORT]
"""

import asyncio
import sys

import mcp.types as types
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer(name="mcp2-fixture", version="1.0.0", instructions="A server for tests, built on mcp 2.")

WHO_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Person(BaseModel):
    name: str
    age: int = 30


@server.tool()
def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@server.tool()
def add(a: int, b: int) -> int:
    """Add two integers; the sum comes as structured content too."""
    return a + b


@server.tool()
def fail() -> str:
    """Raise an error, always."""
    raise ValueError("boom")


@server.tool()
async def slow(ctx: Context, steps: int = 3, delay: float = 0.05) -> str:
    """Report progress step by step, then finish."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        await asyncio.sleep(delay)
    return "done"


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the user by a request to the client; revisions with the handshake only."""
    answer = await ctx.elicit("who?", Person)
    return f"{answer.action}:{getattr(answer, 'data', None)}"


@server.tool()
async def ask_mrtr(ctx: Context) -> str | types.InputRequiredResult:
    """Ask the user by an input-required result; revision 2026-07-28 only."""
    if not ctx.input_responses:
        params = types.ElicitRequestFormParams(message="who?", requested_schema=WHO_SCHEMA)
        return types.InputRequiredResult(
            input_requests={"who": types.ElicitRequest(params=params)},
            request_state="round-1",
        )
    answer = ctx.input_responses["who"].model_dump(exclude_none=True)
    return f"state={ctx.request_state} answer={answer}"


@server.tool()
async def sample(ctx: Context) -> str:
    """Ask the client's model; revisions with the handshake only."""
    prompt = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))
    reply = await ctx.session.create_message(messages=[prompt], max_tokens=10)
    return str(reply.content)


@server.resource("fix://text")
def text_resource() -> str:
    return "text resource"


@server.resource("fix://item/{id}")
def item_resource(id: str) -> str:
    return f"item {id}"


@server.prompt()
def hello(name: str = "world") -> str:
    return f"Say hello to {name}"


if __name__ == "__main__":
    transport = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if transport == "stdio":
        server.run()
    else:
        server.run(transport=transport, host="127.0.0.1", port=int(sys.argv[2]))
