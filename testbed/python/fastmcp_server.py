"""A server on FastMCP 4: structured results, wrapped scalars, progress, logging, elicitation, sampling.

Its peculiarities are the point: float progress, a `_meta` on results, coloured log lines on stderr, and an
unknown tool answered as an `isError` result. Usage: fastmcp_server.py [stdio|http|sse] [PORT]
(HTTP answers at /mcp, SSE at /sse).
"""

import asyncio
import sys
from dataclasses import dataclass

import mcp.types as types
from fastmcp import Context, FastMCP

server = FastMCP("fastmcp-fixture", version="1.0.0", instructions="A server for tests, built on FastMCP.")

WHO_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@dataclass
class Person:
    name: str
    age: int = 30


@server.tool
def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@server.tool
def add(a: int, b: int) -> int:
    """Add two integers; the sum comes as structured content too."""
    return a + b


@server.tool
def fail() -> str:
    """Raise an error, always."""
    raise ValueError("boom")


@server.tool
def big(n: int) -> str:
    """Return n letters x."""
    return "x" * n


@server.tool
async def slow(ctx: Context, steps: int = 3, delay: float = 0.05) -> str:
    """Report progress step by step, then finish."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        await asyncio.sleep(delay)
    return "done"


@server.tool
async def log(ctx: Context) -> str:
    """Send one log message to the client."""
    await ctx.info("hello from the fixture")
    return "logged"


@server.tool
async def ask(ctx: Context) -> str:
    """Ask the user by a request to the client; revisions with the handshake only."""
    answer = await ctx.elicit("who?", Person)
    return f"{answer.action}:{getattr(answer, 'data', None)}"


@server.tool
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


@server.tool
async def sample(ctx: Context) -> str:
    """Ask the client's model; revisions with the handshake only."""
    prompt = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))
    reply = await ctx.session.create_message(messages=[prompt], max_tokens=10)
    return str(reply.content)


@server.resource("fix://text")
def text_resource() -> str:
    return "text resource"


@server.resource("fix://blob", mime_type="application/octet-stream")
def blob_resource() -> bytes:
    return bytes(range(16))


@server.resource("fix://item/{id}")
def item_resource(id: str) -> str:
    return f"item {id}"


@server.prompt
def hello(name: str = "world") -> str:
    return f"Say hello to {name}"


@server.prompt
def plain() -> str:
    return "plain prompt"


if __name__ == "__main__":
    transport = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if transport == "stdio":
        server.run(show_banner=False)
    else:
        server.run(transport=transport, host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
