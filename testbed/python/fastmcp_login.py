"""A server on FastMCP 4 that wants a login, with FastMCP's own authorization server in memory beside it.

Clients register themselves, and nobody is asked. Usage: fastmcp_login.py PORT (HTTP, at /mcp)
"""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from fastmcp.server.dependencies import get_access_token

port = int(sys.argv[1])
scopes = ["notes:read"]
auth = InMemoryOAuthProvider(
    base_url=f"http://127.0.0.1:{port}",
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=scopes),
    required_scopes=scopes,
)
server = FastMCP("fastmcp-login", version="1.0.0", auth=auth)


@server.tool
def scope() -> str:
    """Say what the caller's token is good for."""
    return " ".join(get_access_token().scopes)


if __name__ == "__main__":
    server.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
