import { createHash } from 'node:crypto';
import type { Tool, ValidationResult } from '@millrace/agent';
import { checkJson, isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { getDisplayName, type Tool as RemoteTool } from '@modelcontextprotocol/client';
import { markAsRemote, reservedToolNames } from '../permissions/tool-kinds.ts';
import { callTool, type RemoteServer } from './server/call-tool.ts';
import { appUri, canCall } from './server/mcp-apps.ts';
import { isOwnTool } from './server/resource-tools.ts';
import { clip } from './transport/error-text.ts';
import { maxListed } from './transport/message-gate.ts';

const maxSchemaLength = 100_000;
const schemaLimits = { maxDepth: 64, maxTextLength: Number.MAX_SAFE_INTEGER };

/** The tools of a server, from the last read of its tool list. */
export class RemoteTools {
  readonly #remote: RemoteServer;
  #tools: readonly Tool[] = [];
  #appTools: readonly Tool[] = [];
  #listed: string | undefined;
  // The problems that were already reported. The tool list is read many times, but each problem is reported
  // only once.
  readonly #reported = new Set<string>();

  constructor(remote: RemoteServer) {
    this.#remote = remote;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  /** The tools that apps of the server can call. */
  get appTools(): readonly Tool[] {
    return this.#appTools;
  }

  get isLoaded(): boolean {
    return this.#listed !== undefined;
  }

  reportOnce(problem: string): void {
    if (this.#reported.has(problem) || this.#reported.size >= maxListed) return;
    this.#reported.add(problem);
    this.#remote.report(problem);
  }

  /** Replaces the tools. Returns true if the new tools differ from the previous tools. */
  replace(given: readonly RemoteTool[]): boolean {
    const first = new Map(given.toReversed().map((tool) => [tool.name, tool]));
    const offered = [...first.values()]
      .reverse()
      .filter((tool) => this.#isCallable(tool) && this.#hasBoundedSchema(tool));
    const listed = JSON.stringify(offered);
    if (listed === this.#listed) return false;
    this.#listed = listed;
    if (offered.length > maxListed)
      this.reportOnce(`it has more than ${maxListed} tools; only the first ${maxListed} are used`);
    const names = toolNames(
      this.#remote.server,
      offered.map(({ name }) => name),
    );
    const used = offered.slice(0, maxListed);
    const nameOf = ({ name }: RemoteTool) => names.get(name) ?? name;
    const forApps = hasApps(used)
      ? used.filter((tool) => canCall('app', tool) && !isOwnTool(tool))
      : [];
    const appTools = new Map(forApps.map((tool) => [tool.name, nameOf(tool)]));
    const all = used.map((of) => ({
      of,
      tool: remoteTool(this.#remote, nameOf(of), of, appTools),
    }));
    this.#tools = all.filter(({ of }) => canCall('model', of)).map(({ tool }) => tool);
    this.#appTools = all.filter(({ of }) => appTools.has(of.name)).map(({ tool }) => tool);
    return true;
  }

  /**
   * Returns false for a tool that the server runs only as a background task, because normal calls would fail.
   */
  #isCallable({ name, execution }: RemoteTool & ToolExecution): boolean {
    const isCallable = execution?.taskSupport !== 'required';
    if (!isCallable)
      this.reportOnce(`its tool ${clip(name, 100)} is left out: it runs only as a task`);
    return isCallable;
  }

  #hasBoundedSchema({ name, inputSchema }: RemoteTool): boolean {
    // The depth is checked first, because `JSON.stringify` fails for deeply nested values.
    const isDeep = checkJson(inputSchema, schemaLimits) !== undefined;
    const isBounded = !isDeep && JSON.stringify(inputSchema).length <= maxSchemaLength;
    const why = isDeep ? 'nested too deeply' : 'too long';
    if (!isBounded)
      this.reportOnce(`its tool ${clip(name, 100)} is left out: its schema is ${why}`);
    return isBounded;
  }
}

/** Returns whether a tool of the server has an app. Without an app, nothing is kept for apps. */
function hasApps(tools: readonly RemoteTool[]): boolean {
  return tools.some((tool) => appUri(tool) !== undefined);
}

/** A field of a tool in the protocol revision of November 2025. */
interface ToolExecution {
  readonly execution?: { readonly taskSupport?: string | undefined } | undefined;
}

const maxSummaryLength = 200;
// The call stops this many milliseconds before the agent's own timeout. The client then has time to inform
// the server.
const marginMs = 5_000;

/** Converts a tool of the server to a tool of an agent. */
function remoteTool(
  remote: RemoteServer,
  name: string,
  tool: RemoteTool,
  appTools: ReadonlyMap<string, string>,
): Tool {
  const { settings, server } = remote;
  const { readOnlyHint = false, idempotentHint = false } =
    (settings.trustAnnotations ? tool.annotations : undefined) ?? {};
  const about = tool.description ?? tool.title ?? `Tool ${tool.name} of MCP server ${server}`;
  return markAsRemote({
    name,
    description: clip(about, settings.maxDescriptionLength),
    inputSchema: tool.inputSchema as JsonObject,
    effects: readOnlyHint ? 'none' : 'external',
    afterCrash: readOnlyHint || idempotentHint ? 'repeat' : 'fail',
    timeoutMs: Math.min(settings.totalTimeoutMs + marginMs, 2 ** 31 - 1),
    maxOutputLength: settings.maxOutputLength,
    retries: 0,
    startsSession: false,
    summarize: (input) =>
      clip(`${server}: ${getDisplayName(tool)} ${JSON.stringify(input)}`, maxSummaryLength),
    validate: async (input) => validate(input),
    execute: (input, context) => callTool(remote, tool, input as JsonObject, context, appTools),
  });
}

/**
 * Checks only that the input is an object. The server checks the rest, because servers use different schema
 * dialects.
 */
function validate(input: JsonValue): ValidationResult {
  if (isJsonObject(input)) return { ok: true, value: input };
  return { ok: false, problem: 'The arguments must be a JSON object' };
}

const maxLength = 64;
const maxServerLength = 32;
const hashLength = 8;

/**
 * Returns the name of each tool for the model, usually `<server>_<tool>`. If that name is invalid or
 * reserved, a hash of the original name is appended. A tool therefore keeps its name when other tools are
 * added or removed. A call in an old transcript never refers to a different tool.
 */
export function toolNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const prefix = slug(server).slice(0, maxServerLength);
  const plain = new Set(tools.map((tool) => `${prefix}_${tool}`).filter(isUsableName));
  const names = new Map<string, string>();
  const taken = new Set(plain);
  for (const tool of tools) {
    if (names.has(tool)) continue;
    const wanted = `${prefix}_${tool}`;
    const name = plain.has(wanted) ? wanted : hashedName(wanted, tool, taken);
    taken.add(name);
    names.set(tool, name);
  }
  return names;
}

function isUsableName(name: string): boolean {
  return name.length <= maxLength && name === slug(name) && !reservedToolNames.has(name);
}

function slug(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/gu, '_');
}

/**
 * Returns a name with a hash. It needs a second attempt only if the server has a name that contains the hash
 * of a different name.
 */
function hashedName(wanted: string, tool: string, taken: ReadonlySet<string>): string {
  for (let round = 0; ; round++) {
    const hash = createHash('sha256').update(`${round}:${tool}`).digest('hex').slice(0, hashLength);
    const name = `${slug(wanted).slice(0, maxLength - hashLength - 1)}_${hash}`;
    if (!taken.has(name)) return name;
  }
}
