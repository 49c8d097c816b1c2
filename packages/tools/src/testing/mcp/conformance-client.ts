// The client that the official conformance suite of MCP tests. The suite starts this program with the URL of a
// server. The program connects as any library user does, and calls each tool of the server.
import type { JsonObject, JsonValue } from '@millrace/core';
import { connectMcp, type McpOAuth, memoryMcpLogins } from '../../mcp/index.ts';
import { runTool } from '../tool-context.ts';

const url = process.argv.at(-1) ?? '';
const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } =
  process.env;
const {
  client_id: clientId,
  client_secret: clientSecret,
  private_key_pem: privateKey,
  toolCalls = [],
} = JSON.parse(context) as {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  /** The calls that a scenario asks for. Default: one call of each tool. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
};

const oauth: McpOAuth = {
  logins: memoryMcpLogins(),
  ...{ clientId, clientSecret, privateKey },
  as: scenario.startsWith('auth/client-credentials-') ? 'program' : 'user',
  clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
  // The login page of the suite needs no person. It redirects to the client at once.
  openPage: async (page) => {
    await (await fetch(page.url)).text();
  },
};

// One server asks only through the stream of GET. It drops a question if the stream is not open yet.
const { promise: isListening, resolve: onListening } = Promise.withResolvers<void>();
const watchedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (init?.method === 'GET' && String(input) === url) onListening();
  return response;
};

const server = await connectMcp(
  { name: 'suite', http: { url, oauth, fetch: watchedFetch } },
  // The suite starts all scenarios at the same time, so a client can be slow. The limits protect only against hangs.
  {
    onProblem: (problem) => console.error(problem),
    ...{ connectTimeoutMs: 300_000, timeoutMs: 300_000 },
  },
);
const calls =
  toolCalls.length > 0
    ? toolCalls
    : server.tools.map(({ name, inputSchema }) => ({
        name: name.replace(/^suite_/, ''),
        arguments: exampleOf(inputSchema),
      }));
if (scenario.startsWith('elicitation-')) await isListening;
// In some scenarios of logins, the server changes after the first call.
const rounds = scenario.startsWith('auth/') ? 2 : 1;
for (const call of Array.from({ length: rounds }, () => calls).flat()) {
  const tool = server.tools.find(({ name }) => name === `suite_${call.name}`);
  if (tool === undefined) continue;
  const { text } = await runTool(tool, call.arguments, {
    ask: async ({ schema }) => ({ action: 'accept', content: exampleOf(schema) }),
  });
  console.log(`${call.name}: ${text}`);
}
await server.close();

function schemaOf(tool: string): JsonObject {
  return server.tools.find(({ name }) => name === `suite_${tool}`)?.inputSchema ?? {};
}

/** Returns a value for each property of a schema. */
function exampleOf(schema: JsonObject): JsonObject {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>;
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, exampleValue(name, property)]),
  );
}

function exampleValue(name: string, property: JsonObject): JsonValue {
  const { default: usual, enum: choices, type } = property;
  // One scenario checks that the client keeps the schema of a tool.
  if (name === 'schema') return schemaOf('json_schema_2020_12_tool');
  if (usual !== undefined) return usual;
  if (Array.isArray(choices)) return choices[0] as JsonValue;
  switch (type) {
    case 'number':
    case 'integer':
      return 5;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return exampleOf(property);
    default:
      return 'text';
  }
}
