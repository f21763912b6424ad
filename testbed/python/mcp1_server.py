"""A server on the official Python SDK, first generation (`mcp` 1.x), as most servers in the wild are.

Usage: mcp1_server.py [stdio|streamable-http|sse] [PORT] [json] [stateless]
(`json`: plain JSON answers over HTTP; `stateless`: no session id.)
"""

import asyncio
import sys

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel

server = FastMCP(
    "mcp1-fixture",
    host="127.0.0.1",
    port=int(sys.argv[2]) if len(sys.argv) > 2 else 8000,
    json_response="json" in sys.argv,
    stateless_http="stateless" in sys.argv,
    log_level="ERROR",
)


class Person(BaseModel):
    name: str


@server.tool()
def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@server.tool()
def fail() -> str:
    """Raise an error, always."""
    raise ValueError("boom")


@server.tool()
async def slow(ctx: Context, steps: int = 3) -> str:
    """Report progress step by step, then finish."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps)
        await asyncio.sleep(0.05)
    return "done"


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the user by a request to the client."""
    answer = await ctx.elicit("who?", Person)
    return answer.action


@server.tool()
async def sample(ctx: Context) -> str:
    """Ask the client's model."""
    prompt = SamplingMessage(role="user", content=TextContent(type="text", text="hi"))
    reply = await ctx.session.create_message(messages=[prompt], max_tokens=5)
    return str(reply.content)


@server.resource("fix://text")
def text_resource() -> str:
    return "text resource"


@server.prompt()
def hello(name: str = "world") -> str:
    return f"Say hello to {name}"


if __name__ == "__main__":
    server.run(transport=sys.argv[1] if len(sys.argv) > 1 else "stdio")
