import type { JsonObject } from '@millrace/core';
import type {
  Client,
  ReadResourceResult,
  Tool as RemoteTool,
  RequestOptions,
} from '@modelcontextprotocol/client';
import { clip } from '../transport/error-text.ts';
import { type CallResult, callResult } from './tool-output.ts';

/** A tool of this client that lists the resources of a server. */
const listTool: RemoteTool = {
  name: 'list_resources',
  description:
    'Lists the resources of this server: documents, files and other data, each with its URI. Templates are URIs with variables.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: true },
};

/** A tool of this client that reads a resource of a server. */
const readTool: RemoteTool = {
  name: 'read_resource',
  description: 'Reads a resource of this server.',
  inputSchema: {
    type: 'object',
    properties: { uri: { type: 'string', description: 'The URI, from list_resources' } },
    required: ['uri'],
  },
  annotations: { readOnlyHint: true },
};

/** Returns true for a tool of this client, which the server does not have. */
export function isOwnTool(tool: RemoteTool): boolean {
  return tool === listTool || tool === readTool;
}

const maxListed = 500;
const maxLineLength = 500;

/** Adds the tools for resources, unless the server has tools with these names. */
export function withResourceTools(
  client: Client,
  tools: readonly RemoteTool[],
): readonly RemoteTool[] {
  if (client.getServerCapabilities()?.resources === undefined) return tools;
  const names = new Set(tools.map(({ name }) => name));
  return [...tools, ...[listTool, readTool].filter(({ name }) => !names.has(name))];
}

/** Runs a tool for resources. Returns undefined for a tool of the server. */
export function callResourceTool(
  client: Client,
  tool: RemoteTool,
  input: JsonObject,
  options: RequestOptions,
): Promise<CallResult> | undefined {
  if (tool === listTool) return listResources(client, options);
  return tool === readTool ? readResource(client, input, options) : undefined;
}

async function listResources(client: Client, options: RequestOptions): Promise<CallResult> {
  const fresh = { ...options, cacheMode: 'refresh' } as const;
  const { resources } = await client.listResources(undefined, fresh);
  // Many servers have no templates, and some do not know the request.
  const { resourceTemplates } = await client
    .listResourceTemplates(undefined, fresh)
    .catch(() => ({ resourceTemplates: [] }));
  const lines = [
    ...resources.map((one) => lineOf(one.uri, one)),
    ...resourceTemplates.map((one) => lineOf(`template ${one.uriTemplate}`, one)),
  ];
  // The connection reads only a part of a very long list, so the number of further resources is unknown.
  const more = lines.length > maxListed ? ['… and more'] : [];
  const text = [...lines.slice(0, maxListed), ...more].join('\n') || 'There are no resources.';
  return { content: [{ type: 'text', text }] };
}

interface Described {
  readonly name?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
}

function lineOf(uri: string, { title, name, description, mimeType }: Described): string {
  const about = [title ?? name, mimeType, description].filter((text) => text !== undefined);
  return clip([uri, ...about].join(' · ').replaceAll(/\s+/g, ' '), maxLineLength);
}

/**
 * Reads a resource. `client.readResource` keeps up to 512 results of any size for as long as the server wants, and this
 * client never uses a kept result.
 */
export function requestResource(
  client: Client,
  uri: string,
  options: RequestOptions,
): Promise<ReadResourceResult> {
  return client.request({ method: 'resources/read', params: { uri } }, options);
}

async function readResource(
  client: Client,
  { uri }: JsonObject,
  options: RequestOptions,
): Promise<CallResult> {
  if (typeof uri !== 'string' || uri === '')
    return { content: [{ type: 'text', text: 'The argument uri is missing' }], isError: true };
  const { contents } = await requestResource(client, uri, options);
  return callResult.parse({
    content: contents.map((resource) => ({ type: 'resource', resource })),
  });
}
