import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '@millrace/agent';
import { isMillraceError, MillraceError } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { ServedAgent } from '@millrace/server';
import { placeOfError } from './error-place.ts';

/**
 * Loads the agents that a module exports. The module can be a .ts file, because Node strips the
 * types.
 */
export async function loadAgents(path: string, log: Log): Promise<readonly ServedAgent[]> {
  const fileName = basename(path);
  if (!existsSync(path)) {
    const message = `Cannot load agents from ${path}: the file does not exist. Choose another with --agents <file>`;
    throw new MillraceError('no_agents', message, { path });
  }
  return withModule(path, (exports) => agentsFromExports(exports, { log, fileName }));
}

/** Imports a module of the user and uses its exports. All errors of the module name the file. */
export async function withModule<T>(
  path: string,
  use: (exports: Readonly<Record<string, unknown>>) => Promise<T>,
): Promise<T> {
  try {
    return await use((await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>);
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw loadError(path, error);
  }
}

/**
 * Creates the error for a module that cannot be loaded. It contains the message of the cause,
 * because the user wrote the module.
 */
function loadError(path: string, cause: unknown): MillraceError {
  const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const place = placeOfError(cause, path);
  const at = place === undefined ? '' : `, at ${place}`;
  return new MillraceError('bad_agents', `Cannot load ${path}: ${why}${at}`, { path }, { cause });
}

interface ExportOptions {
  readonly log: Log;
  /** The name of the file. The default export gets this name. */
  readonly fileName: string;
}

/**
 * Converts the exports of a module to agents. Throws if an export is not an agent, or if there are
 * no exports.
 */
export async function agentsFromExports(
  exports: Readonly<Record<string, unknown>>,
  options: ExportOptions,
): Promise<readonly ServedAgent[]> {
  const agents: ServedAgent[] = [];
  for (const [key, value] of Object.entries(exports)) {
    const made = typeof value === 'function' ? await value({ log: options.log }) : value;
    const isMade = made !== value;
    const all: readonly unknown[] = Array.isArray(made) ? made : [made];
    for (const one of all)
      agents.push(toServedAgent(one, { key, isFromFunction: isMade, ...options }));
  }
  if (agents.length > 0) return agents;
  throw new MillraceError(
    'no_agents',
    `Cannot load agents from ${options.fileName}: it exports nothing`,
  );
}

interface ExportContext extends ExportOptions {
  readonly key: string;
  /**
   * True if the export is a function that returned the agent. The function is called with the log.
   */
  readonly isFromFunction: boolean;
}

function toServedAgent(value: unknown, place: ExportContext): ServedAgent {
  if (isAgent(value)) {
    if (place.isFromFunction) return { type: 'loop', name: agentName(place), agent: value };
    throw badExport(place, 'has its own log. Export ({ log }) => createAgent({ log, … })');
  }
  if (!isObject(value)) throw badExport(place, `is ${typeText(value)}. ${agentForms}`);
  const { type, name, onMessage, onEvent, agent } = value;
  const isWhole =
    (type === 'sync' && typeof onMessage === 'function') ||
    (type === 'async' && typeof onEvent === 'function') ||
    (type === 'loop' && isAgent(agent));
  if (!isWhole) throw badExport(place, `is not an agent. ${agentForms}`);
  if (typeof name !== 'string' || !/^[a-z0-9-]+$/.test(name))
    throw badExport(place, 'needs a `name` of lower case letters, digits and hyphens');
  if (type === 'loop' && !place.isFromFunction)
    throw badExport(place, "has its own log. Export ({ log }) => ({ type: 'loop', … })");
  return value as unknown as ServedAgent;
}

const agentForms =
  "An agent is { type: 'sync', name, onMessage }, { type: 'async', name, onEvent }, or a function ({ log }) => createAgent({ log, … })";

function badExport({ key, fileName }: ExportContext, what: string): MillraceError {
  const message = `Cannot load agents from ${fileName}: its export ${JSON.stringify(key)} ${what}`;
  return new MillraceError('bad_agent', message, { export: key });
}

/**
 * Returns the name of an exported agent: `reviewBot` becomes `review-bot`. The default export gets
 * the file's name.
 */
function agentName({ key, fileName }: ExportContext): string {
  const words = key === 'default' ? fileName.replace(/\.\w+$/, '') : key;
  const name = words.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
  return name.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'agent';
}

function isAgent(value: unknown): value is Agent {
  return (
    isObject(value) && typeof value['run'] === 'function' && typeof value['resume'] === 'function'
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function typeText(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
