import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import type { ClientAbility } from '../../../contract/served-agent.ts';
import { field, invalidParams, McpError, type McpMessage, mcpCodes } from './rpc-message.ts';

/** The version without connections: each request contains the version and the abilities of the client. */
const modernVersion = '2026-07-28';
/** The versions that start with `initialize`, newest first. */
const olderVersions = ['2025-11-25', '2025-06-18'];
/** All versions that the server speaks, newest first. */
export const supportedVersions: readonly string[] = [modernVersion, ...olderVersions];

const metaKey = 'io.modelcontextprotocol/';
export const tasksExtension = `${metaKey}tasks`;

/** What the server knows about the client of a request. */
export interface McpCaller {
  readonly version: string;
  /** True if the client speaks version 2026-07-28. Such clients send no `initialize`. */
  readonly isModern: boolean;
  /** The abilities that the client offers to the server. */
  readonly abilities: ReadonlySet<ClientAbility>;
  /** True if the client accepts tasks instead of results. */
  readonly hasTasks: boolean;
  /** The id that `initialize` returned. Undefined for modern clients. */
  readonly connection: string | undefined;
  /** The client wants messages of this level and above. Undefined if the request does not ask for messages. */
  readonly logLevel: LogLevel | undefined;
}

/** The levels of messages about a run, from the least to the most important. */
export const logLevels = [
  ...(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const),
];

export type LogLevel = (typeof logLevels)[number];

/** Reads a level. Returns undefined if there is none. Throws `McpError` if the level is unknown. */
export function parseLevel(given: JsonValue | undefined): LogLevel | undefined {
  if (given === undefined) return undefined;
  const level = logLevels.find((one) => one === given);
  if (level !== undefined) return level;
  throw invalidParams(`Cannot use this level of messages. The levels are ${logLevels.join(', ')}`);
}

/** Reads the version and the abilities of the client. Throws `McpError` if the request contradicts itself. */
export function readCaller(message: McpMessage, headers: IncomingHttpHeaders): McpCaller {
  const params = message.kind === 'response' ? {} : message.params;
  const meta = field(params, '_meta');
  const version = field(meta, `${metaKey}protocolVersion`);
  const header = textOf(headers['mcp-protocol-version']);
  const isInitialize = message.kind === 'request' && message.method === 'initialize';
  if (version === undefined && header !== modernVersion) {
    if (header === undefined || isInitialize || olderVersions.includes(header))
      return olderCaller(header, headers);
    throw unsupportedVersion(header);
  }
  if (message.kind !== 'request') return { ...noAbilities, version: modernVersion };
  if (typeof version !== 'string')
    throw invalidParams(`Cannot accept the request: _meta has no ${metaKey}protocolVersion`, 400);
  assertHeaders(message, version, headers);
  if (version !== modernVersion) throw unsupportedVersion(version);
  const abilities = field(meta, `${metaKey}clientCapabilities`);
  if (!isJsonObject(abilities))
    throw invalidParams(
      `Cannot accept the request: _meta has no ${metaKey}clientCapabilities`,
      400,
    );
  const logLevel = parseLevel(field(meta, `${metaKey}logLevel`));
  return { ...noAbilities, version, logLevel, ...readAbilities(abilities) };
}

const noAbilities = {
  ...{ isModern: true, hasTasks: false, connection: undefined, logLevel: undefined },
  abilities: new Set<ClientAbility>(),
};

/** The letters of abilities in the id of a connection. The letter `n` means none. */
const letters: readonly (readonly [letter: string, ability: ClientAbility])[] = [
  ['e', 'elicitation'],
  ['s', 'sampling'],
  ['r', 'roots'],
];

function abilitiesOf(given: JsonObject): ReadonlySet<ClientAbility> {
  const declared = letters.map(([, ability]) => ability).filter((one) => isJsonObject(given[one]));
  return new Set(declared.filter((one) => one !== 'elicitation' || canShowForms(given)));
}

function readAbilities(abilities: JsonObject): Pick<McpCaller, 'abilities' | 'hasTasks'> {
  return {
    abilities: abilitiesOf(abilities),
    hasTasks: isJsonObject(field(field(abilities, 'extensions'), tasksExtension)),
  };
}

/** Returns whether the client can show forms. An empty object means forms, as in the first versions. */
function canShowForms(abilities: JsonObject): boolean {
  const elicitation = field(abilities, 'elicitation');
  if (!isJsonObject(elicitation)) return false;
  return field(elicitation, 'form') !== undefined || field(elicitation, 'url') === undefined;
}

function unsupportedVersion(requested: string): McpError {
  const message = `Cannot speak version ${requested.slice(0, 64)} of MCP. This server speaks ${supportedVersions.join(', ')}`;
  const data = { supported: [...supportedVersions], requested: requested.slice(0, 64) };
  return new McpError(mcpCodes.unsupportedVersion, message, { data, status: 400 });
}

/** Returns the error for a request that needs an ability of the client. */
export function missingCapability(requiredCapabilities: JsonObject, why: string): McpError {
  const data = { requiredCapabilities };
  return new McpError(mcpCodes.missingCapability, why, { data, status: 400 });
}

/** Refuses a call if the client cannot do what the tool needs. */
export function assertAbilities(
  { abilities, hasTasks }: McpCaller,
  { needs, needsTask }: { readonly needs: readonly ClientAbility[]; readonly needsTask: boolean },
): void {
  const missing = needs.filter((one) => !abilities.has(one));
  const extension = needsTask && !hasTasks ? { extensions: { [tasksExtension]: {} } } : {};
  const required = { ...Object.fromEntries(missing.map((one) => [one, {}])), ...extension };
  const names = [...missing, ...(needsTask && !hasTasks ? [tasksExtension] : [])];
  if (names.length === 0) return;
  throw missingCapability(required, `This tool needs the client capability ${names.join(', ')}`);
}

function textOf(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header);
}

/** The parameter that the header `Mcp-Name` repeats. */
const namedParams: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Refuses a request whose headers differ from its body. Proxies decide by the headers. */
function assertHeaders(
  { method, params }: Extract<McpMessage, { readonly kind: 'request' }>,
  version: string,
  headers: IncomingHttpHeaders,
): void {
  const { [method]: param } = namedParams;
  assertHeader('MCP-Protocol-Version', headers['mcp-protocol-version'], version);
  assertHeader('Mcp-Method', headers['mcp-method'], method);
  if (param !== undefined) assertHeader('Mcp-Name', headers['mcp-name'], params[param], true);
}

/** Refuses a header that is missing or differs from a value of the body. */
export function assertHeader(
  name: string,
  header: string | string[] | undefined,
  expected: JsonValue | undefined,
  canBeEncoded = false,
): void {
  const given = textOf(header);
  const value = given !== undefined && canBeEncoded ? decoded(given, name) : given;
  if (value !== undefined && isSame(value, expected)) return;
  const why = given === undefined ? 'is missing' : 'differs from the body';
  throw headerMismatch(`The header ${name} ${why}`);
}

function isSame(header: string, expected: JsonValue | undefined): boolean {
  if (typeof expected === 'number') return header.trim() !== '' && Number(header) === expected;
  return header === String(expected);
}

function headerMismatch(message: string): McpError {
  return new McpError(mcpCodes.headerMismatch, message, { status: 400 });
}

/** Returns the text of a header. Texts that a header cannot contain are sent as `=?base64?…?=`. */
function decoded(given: string, name: string): string {
  const [, encoded] = /^=\?base64\?(.*)\?=$/s.exec(given) ?? [];
  if (encoded === undefined) {
    if (/^[\x20-\x7e\t]*$/.test(given)) return given;
    throw headerMismatch(`The header ${name} has characters that are not ASCII`);
  }
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded)
    throw headerMismatch(`The header ${name} is not valid Base64`);
  return bytes.toString('utf8');
}

/**
 * The id of a connection contains the version and the abilities of the client. The server therefore stores
 * nothing, and every server of a cluster can answer. The random part keeps the ids of requests of different
 * clients apart.
 */
export function newConnection(version: string, abilities: JsonObject): string {
  const own = abilitiesOf(abilities);
  const flags = letters.flatMap(([letter, ability]) => (own.has(ability) ? letter : [])).join('');
  return `${version}.${flags || 'n'}.${randomBytes(18).toString('base64url')}`;
}

function olderCaller(header: string | undefined, headers: IncomingHttpHeaders): McpCaller {
  const connection = textOf(headers['mcp-session-id']);
  const known = { ...noAbilities, isModern: false, connection };
  if (connection === undefined) return { ...known, version: header ?? olderVersions[0] ?? '' };
  const [, version = '', flags = ''] =
    /^([\d-]{10})\.(n|(?!\.)e?s?r?)\.[\w-]{24}$/.exec(connection) ?? [];
  if (!olderVersions.includes(version)) {
    const message = 'Cannot find this session of MCP. Send initialize again';
    throw new McpError(mcpCodes.failed, message, { status: 404 });
  }
  const own = letters.flatMap(([letter, ability]) => (flags.includes(letter) ? ability : []));
  return { ...known, abilities: new Set(own), version: header ?? version };
}

/** Returns the version for a client that sends `initialize`: its own, or the newest with `initialize`. */
export function negotiatedVersion(requested: JsonValue | undefined): string {
  const own = olderVersions.find((version) => version === requested);
  return own ?? olderVersions[0] ?? '';
}
