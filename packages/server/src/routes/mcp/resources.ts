import { type FoldState, type JsonObject, type Part, transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import { referencedBlob } from '../task-log.ts';
import { withQuestions } from './app-questions.ts';
import type { McpOptions, McpReader, McpResource } from './mcp-options.ts';
import type { McpCaller } from './protocol/caller.ts';
import { field, invalidParams, McpError, mcpCodes } from './protocol/rpc-message.ts';
import { parseUri, sessionUri, uriTemplates } from './protocol/uris.ts';
import { fileResource } from './tool-result.ts';

const pageSize = 100;

/** Returns what a caller gets. A token for one agent or one task gives access to nothing else. */
export function optionsFor({ mcp = {}, grant: { scope } }: RouteContext): McpOptions {
  return scope.kind === 'all' || scope.kind === 'user' ? mcp : { instructions: mcp.instructions };
}

/** Returns one page of the resources: those of the application, and then the sessions, newest first. */
export async function listResources(
  cursor: unknown,
  { resources = [] }: McpOptions,
  { service }: RouteContext,
): Promise<JsonObject> {
  if (cursor !== undefined && typeof cursor !== 'string')
    throw invalidParams('Cannot list resources: cursor is not a text');
  const page = {
    limit: pageSize,
    pageNumber: 1,
    orderBy: 'created_at',
    direction: 'desc',
  } as const;
  const { data, next } = await service.tasks
    .list({ ...page, ...(cursor !== undefined && { cursor }) })
    .catch((error: unknown) => {
      if (error instanceof ServerError && error.code === 'invalid')
        throw invalidParams('Cannot list resources: the cursor is unknown');
      throw error;
    });
  const own = cursor === undefined ? resources.filter(({ uri }) => !isTemplate(uri)) : [];
  const sessions = data.map(({ id, name, task_metadata, created_at }) => ({
    uri: sessionUri(id),
    name: name ?? id,
    ...(typeof task_metadata?.['title'] === 'string' && { title: task_metadata['title'] }),
    description: `A session${created_at === null ? '' : ` of ${created_at.slice(0, 10)}`}`,
    mimeType: 'text/markdown',
  }));
  return {
    resources: [...own.map(({ uri, ...about }) => ({ uri, ...shown(about) })), ...sessions],
    ...(next !== null && { nextCursor: next }),
  };
}

/** Returns the templates of resources. */
export function listTemplates({ resources = [] }: McpOptions): JsonObject {
  const own = resources.filter(({ uri }) => isTemplate(uri));
  return {
    resourceTemplates: [
      ...own.map(({ uri, ...about }) => ({ uriTemplate: uri, ...shown(about) })),
      {
        uriTemplate: uriTemplates.session,
        name: 'session',
        description: 'The transcript of a session',
        mimeType: 'text/markdown',
      },
      {
        uriTemplate: uriTemplates.blob,
        name: 'blob',
        description: 'A file or a long output of a session',
      },
    ],
  };
}

function shown({
  name,
  description,
  mimeType,
}: Pick<McpResource, 'name' | 'description' | 'mimeType'>): JsonObject {
  return { name, ...(description && { description }), ...(mimeType && { mimeType }) };
}

function isTemplate(uri: string): boolean {
  return uri.includes('{');
}

/** Maximum length of an address. */
export const maxUriLength = 4096;

/** Reads a resource. Resources of the application can ask the user first. */
export async function readResource(
  params: JsonObject,
  { resources = [] }: McpOptions,
  caller: McpCaller,
  context: RouteContext,
): Promise<JsonObject> {
  const uri = field(params, 'uri');
  if (typeof uri !== 'string' || uri.length > maxUriLength)
    throw invalidParams('Cannot read a resource: uri is not a text, or it is too long');
  const own = findOwn(uri, resources);
  if (own !== undefined)
    return withQuestions(params, caller, context, async (reader) => ({
      contents: [await readOwn(uri, own, reader)],
    }));
  const contents = await context.inTurn(() => readSession(uri, context), 'refuse');
  if (contents !== undefined) return { contents: [contents] };
  const code = caller.isModern ? mcpCodes.invalidParams : mcpCodes.noResource;
  throw new McpError(code, 'Cannot find this resource', { data: { uri } });
}

/** A resource of the application, with the parts of the address that its template names. */
interface OwnResource {
  readonly resource: McpResource;
  readonly values: Readonly<Record<string, string>>;
}

/** Finds a resource of the application by its address. */
export function findOwn(uri: string, resources: readonly McpResource[]): OwnResource | undefined {
  for (const resource of resources) {
    const values = matchUri(resource.uri, uri);
    if (values !== undefined) return { resource, values };
  }
  return undefined;
}

async function readOwn(
  uri: string,
  { resource, values }: OwnResource,
  reader: McpReader,
): Promise<JsonObject> {
  const content = await resource.read(values, reader);
  const { mimeType = typeof content === 'string' ? 'text/plain' : 'application/octet-stream' } =
    resource;
  if (typeof content === 'string') return { uri, mimeType, text: content };
  return fileResource(uri, mimeType, content);
}

/**
 * Returns the parts of an address to which a template gives names. Returns undefined if the address does not
 * match the template. Each part ends at the first occurrence of the text that follows the part in the
 * template. The function therefore reads each character of the address only once.
 */
function matchUri(template: string, uri: string): Record<string, string> | undefined {
  if (!isTemplate(template)) return template === uri ? {} : undefined;
  const [start = '', ...rest] = template.split(/\{(\w+)\}/);
  if (!uri.startsWith(start)) return undefined;
  const values: Record<string, string> = {};
  let at = start.length;
  while (rest.length > 0) {
    const [name = '', after = ''] = rest.splice(0, 2);
    const isLast = rest.length === 0;
    // A part has at least one character. The last part ends at the text that follows it in the template, or
    // at the end of the address.
    const end = isLast ? uri.length - after.length : uri.indexOf(after, at + 1);
    const value = uri.slice(at, Math.max(end, at));
    if (value === '' || value.includes('/') || !uri.startsWith(after, end)) return undefined;
    values[name] = value;
    at = end + after.length;
  }
  return values;
}

async function readSession(
  uri: string,
  { service, log }: RouteContext,
): Promise<JsonObject | undefined> {
  const place = parseUri(uri);
  if (place === undefined) return undefined;
  const { taskId, hash } = place;
  const task = await service.tasks.get({ id: taskId }).catch((error: unknown) => {
    if (error instanceof ServerError && error.code === 'not_found') return undefined;
    throw error;
  });
  if (task === undefined) return undefined;
  if (hash === undefined) {
    const hasLog = (await log.info(taskId)) !== undefined;
    const text = hasLog ? transcriptText(await snapshot(log, taskId)) : '';
    return { uri, mimeType: 'text/markdown', text };
  }
  const found = await referencedBlob(log, taskId, hash);
  const bytes = found && (await readBlob(found.length, hash, log));
  return bytes && fileResource(uri, found.mimeType, bytes);
}

/** Maximum size of a blob that one message contains. */
const maxBlobBytes = 16 * 2 ** 20;

async function readBlob(length: number, hash: string, { blobs }: RouteContext['log']) {
  if (length <= maxBlobBytes) return blobs.get(hash);
  const message = `Cannot send this blob: it has ${length} bytes, and a message can have ${maxBlobBytes}. Get it at /tasks/{task_id}/blobs/${hash}`;
  throw invalidParams(message);
}

/** Maximum length of a transcript, in characters. The oldest items are left out. */
const maxTranscript = 500_000;

/** Returns the transcript of a session as text. */
function transcriptText(state: FoldState): string {
  const blocks: string[] = [];
  let length = 0;
  for (const { kind, parts } of transcript(state).toReversed()) {
    const text = parts.flatMap(partText).join('\n\n');
    if (text === '') continue;
    const block = `## ${kind}\n\n${text}\n`;
    length += block.length;
    if (length > maxTranscript) {
      blocks.push('(Older items are left out.)\n');
      break;
    }
    blocks.push(block);
  }
  return blocks.toReversed().join('\n');
}

function partText(part: Part): readonly string[] {
  switch (part.kind) {
    case 'text':
      return [part.text];
    case 'tool_call':
      return [`Call of ${part.name}: ${part.arguments}`];
    case 'tool_result':
      return [`Result of ${part.name}${part.isError ? ' (error)' : ''}:\n\n${part.text}`];
    case 'structured':
      return [JSON.stringify(part.value)];
    case 'file':
      return [`File: ${part.name} (${part.mimeType})`];
    case 'media':
      return [`Media: ${part.mimeType}`];
    default:
      return [];
  }
}
