import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@millrace/core';
import type { Row, Rows } from '../../../contract/rows.ts';
import { ServerError } from '../../../contract/server-error.ts';
import type { AgentNetwork } from '../../../network/agent-network.ts';
import type { PushCaller, PushConfig, TaskPlace } from '../contract.ts';
import { invalidParams, taskNotFound } from '../protocol/a2a-error.ts';
import { textField } from '../protocol/messages.ts';

/** Maximum number of configurations of one task. */
const maxPerTask = 10;
const table = 'webhooks';

/** Stores push configurations in rows, so that every server of a cluster has them after a restart. */
export class PushConfigs {
  readonly #rows: Rows;
  readonly #network: AgentNetwork;

  constructor(rows: Rows, network: AgentNetwork) {
    this.#rows = rows;
    this.#network = network;
  }

  /** Stores a configuration. A configuration with the same id is replaced. `sent` is the current status. */
  async create(
    place: TaskPlace,
    params: JsonObject,
    { caller, expiresAt }: PushCaller,
    sent: string,
  ): Promise<PushConfig> {
    const { authentication } = params;
    const auth = typeof authentication === 'object' ? (authentication as JsonObject) : {};
    const config = {
      ...{ id: textField(params, 'id') ?? randomUUID(), place, sent, sending: sent, version: 0 },
      ...{ caller, expiresAt },
      url: this.#checkedUrl(textField(params, 'url')),
      token: headerText(params, 'token'),
      scheme: headerText(auth, 'scheme'),
      credentials: headerText(auth, 'credentials'),
    };
    const known = await this.list(place);
    if (known.length >= maxPerTask && !known.some(({ id }) => id === config.id))
      throw invalidParams(`Cannot add more than ${maxPerTask} configurations to a task`);
    return fromRow(await this.#rows.put(table, toRow(config)));
  }

  /** Throws if the server must not connect to the host of a URL. Each connection is checked again. */
  #checkedUrl(text: string | undefined): string {
    const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
    const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
    if (url === undefined || !isHttp || url.username !== '' || url.password !== '')
      throw invalidParams('Cannot use url: it is not an http or https URL without a user');
    try {
      this.#network.assertHost(url);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      throw invalidParams(error.message.replace('Cannot call the agent', 'Cannot use url'));
    }
    return url.href;
  }

  async get(place: TaskPlace, id: string | undefined): Promise<PushConfig> {
    const config = await this.find(place, id);
    if (config === undefined) throw taskNotFound();
    return config;
  }

  /** Returns the configuration that `create` would replace and `delete` would remove. */
  async find(place: TaskPlace, id: string | undefined): Promise<PushConfig | undefined> {
    const row = id === undefined ? undefined : await this.#rows.get(table, rowId(place, id));
    return row && fromRow(row);
  }

  async list({ taskId }: TaskPlace): Promise<readonly PushConfig[]> {
    const rows = await this.#rows.list(table, { where: { run_id: taskId }, limit: 2 * maxPerTask });
    return rows.map(fromRow);
  }

  async delete(place: TaskPlace, id: string | undefined): Promise<void> {
    if (id !== undefined) await this.#rows.delete(table, rowId(place, id));
  }

  /** Returns configurations whose tasks may still change, for example after a restart. */
  async open(limit: number): Promise<readonly PushConfig[]> {
    return (await this.#rows.list(table, { limit })).map(fromRow);
  }

  /**
   * Changes the stored status of a configuration. Returns undefined if another server has changed it, or if it
   * was deleted.
   */
  async mark(
    { version, ...config }: PushConfig,
    status: Partial<Pick<PushConfig, 'sent' | 'sending'>>,
  ): Promise<PushConfig | undefined> {
    const row = toRow({ ...config, ...status });
    try {
      return fromRow(await this.#rows.put(table, row, { ifVersion: version }));
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'conflict') return undefined;
      throw error;
    }
  }
}

/** Reads a text for a header. */
function headerText(params: JsonObject, name: string): string | undefined {
  const text = textField(params, name);
  if (text === undefined || /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)) return text;
  throw invalidParams(`Cannot use ${name}: a header cannot contain it`);
}

function rowId({ taskId }: TaskPlace, id: string): string {
  return `${taskId}/${id}`.slice(0, 1024);
}

function toRow(config: Omit<PushConfig, 'version'>): Pick<Row, 'id' | 'keys' | 'data'> {
  const { id, place, url, token, scheme, credentials, sent, sending, caller, expiresAt } = config;
  return {
    id: rowId(place, id),
    keys: { run_id: place.taskId, task_id: place.sessionId },
    data: {
      ...{ id, url, sent, sending, caller, place: { ...place } },
      ...(expiresAt !== undefined && { expiresAt }),
      ...(token !== undefined && { token }),
      ...(scheme !== undefined && { scheme }),
      ...(credentials !== undefined && { credentials }),
    },
  };
}

function fromRow({ data, version }: Row): PushConfig {
  const { id, url, token, scheme, credentials, sent, sending, place, caller, expiresAt } = data;
  const optional = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    ...{ id: String(id), url: String(url), sent: String(sent), sending: String(sending), version },
    ...{ token: optional(token), scheme: optional(scheme), credentials: optional(credentials) },
    place: place as unknown as TaskPlace,
    caller: String(caller),
    expiresAt: typeof expiresAt === 'number' ? expiresAt : undefined,
  };
}

/** Returns a configuration for clients. It contains neither the token nor the credentials. */
export function pushConfigJson({ id, place, url, scheme }: PushConfig): JsonObject {
  return {
    ...{ id, taskId: place.taskId, url },
    ...(scheme !== undefined && { authentication: { scheme } }),
  };
}
