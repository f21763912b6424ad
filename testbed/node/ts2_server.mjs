// A server on the official TypeScript SDK, second generation: one definition for both the handshake and 2026-07-28.
// `reject` refuses every initialize, which makes it the one server here that speaks 2026-07-28 only.
// Usage: node ts2_server.mjs [stdio|http] [serve|reject] [PORT]   (HTTP answers at /mcp)
import http from 'node:http';
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as z from 'zod/v4';

const [mode = 'stdio', legacy = 'serve', port = '3300'] = process.argv.slice(2);

const text = (text) => ({ content: [{ type: 'text', text }] });

const WHO_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string', default: 'Bob' } },
  required: ['name'],
};

function addTools(server) {
  server.registerTool(
    'echo',
    { description: 'Return the text unchanged.', inputSchema: z.object({ text: z.string() }) },
    async (args) => text(args.text),
  );
  server.registerTool(
    'add',
    {
      description: 'Add two numbers; the sum comes as structured content too.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool(
    'fail',
    { description: 'Raise an error, always.', inputSchema: z.object({}) },
    async () => {
      throw new Error('boom');
    },
  );
  server.registerTool(
    'ask',
    { description: 'Ask the user; works in both eras.', inputSchema: z.object({}) },
    async (_args, ctx) => {
      const answer = acceptedContent(ctx.mcpReq.inputResponses, 'who');
      if (answer) return text(`hi ${answer.name}`);
      const who = inputRequired.elicit({ message: 'who?', requestedSchema: WHO_SCHEMA });
      return inputRequired({ inputRequests: { who } });
    },
  );
}

function makeServer() {
  const server = new McpServer(
    { name: 'ts2-fixture', version: '1.0.0' },
    { capabilities: { tools: {}, logging: {}, resources: { subscribe: true } } },
  );
  addTools(server);
  server.registerTool(
    'touch',
    { description: 'Announce that the text resource changed.', inputSchema: z.object({}) },
    async () => {
      await server.server.sendResourceUpdated({ uri: 'fix://text' });
      return text('touched');
    },
  );
  server.registerResource('text', 'fix://text', { mimeType: 'text/plain' }, async (uri) => ({
    contents: [{ uri: uri.href, text: 'text resource' }],
  }));
  server.registerPrompt('hello', { argsSchema: z.object({ name: z.string().optional() }) }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name ?? 'world'}` } }],
  }));
  return server;
}

if (mode === 'stdio') {
  serveStdio(makeServer, { legacy });
} else {
  const handler = createMcpHandler(makeServer, { legacy: legacy === 'serve' ? 'stateless' : 'reject' });
  const handle = toNodeHandler(handler);
  http
    .createServer((req, res) => (req.url.startsWith('/mcp') ? handle(req, res) : res.writeHead(404).end()))
    .listen(Number(port), '127.0.0.1');
}
